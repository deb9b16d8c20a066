"""Tokens, runtime states, bundles, decisions and the gate in the engine: the auth cases that need no server."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, PermissionDenied, PolicyFailed, PolicyInvalid, StartRefused, Unauthenticated
from omnigraph.policy.actions import Action
from omnigraph.policy.authorize import Refusal, State, authorize, classify
from omnigraph.policy.bundle import Bundle, check_kind, parse_bundle
from omnigraph.policy.engine import PolicyEngine, PolicyRequest
from omnigraph.policy.strict_yaml import YamlRejected, load_yaml
from omnigraph.policy.tokens import FILE, INLINE, SECRET, SINGLE, hash_token, load_tokens, reload_tokens

P1 = """
version: 1
groups: {team: [ada, bob, root], admins: [root]}
protected_branches: [main]
rules:
  - {id: team-read, allow: {actors: {group: team}, actions: [read], branch_scope: any}}
  - {id: admins-export, allow: {actors: {group: admins}, actions: [export], branch_scope: any}}
  - {id: team-write, allow: {actors: {group: team}, actions: [change], branch_scope: unprotected}}
  - {id: admins-merge, allow: {actors: {group: admins}, actions: [branch_delete, branch_merge], target_branch_scope: protected}}
"""
SCHEMA = "node Person { name: String @key  age: I32? }"
WIDER = "node Person { name: String @key  age: I32?  city: String? }"
ADD = "query add($name: String) { insert Person { name: $name } }"


def case(*numbers: int) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(f"auth-{n}", id=f"auth-{n}") for n in numbers])


def bundle(text: str) -> Bundle:
    return parse_bundle(text, "p1")


def engine(text: str = P1, graph: str | None = "kb") -> PolicyEngine:
    return PolicyEngine(bundle(text), graph)


def rule(**allow: Any) -> str:
    """A bundle with one rule for the group g = [a]."""
    document = {
        "version": 1,
        "groups": {"g": ["a"]},
        "rules": [{"id": "r", "allow": {"actors": {"group": "g"}, **allow}}],
    }
    return json.dumps(document)


# --- states --------------------------------------------------------------------------------------


@case(1)
def test_a_server_without_tokens_and_policy_does_not_start(case: str) -> None:
    found = classify(tokens=False, policy=False, unauthenticated=False)
    assert isinstance(found, Refusal)
    assert "--unauthenticated" in found.message


@case(2)
def test_only_the_flag_opens_it(case: str) -> None:
    assert classify(tokens=False, policy=False, unauthenticated=True) is State.OPEN


@case(3)
def test_the_flag_does_not_weaken_a_server_with_tokens(case: str) -> None:
    assert classify(tokens=True, policy=False, unauthenticated=True) is State.DEFAULT_DENY
    assert classify(tokens=True, policy=True, unauthenticated=True) is State.POLICY_ENABLED


@case(4)
@pytest.mark.parametrize("flag", [False, True])
def test_a_policy_without_tokens_would_refuse_everybody(case: str, flag: bool) -> None:
    assert isinstance(classify(tokens=False, policy=True, unauthenticated=flag), Refusal)


# --- tokens --------------------------------------------------------------------------------------


@case(5)
def test_the_single_token_joins_the_table(case: str, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"ada": "x", " bob ": " y "}')
    table = load_tokens({SINGLE: " t ", FILE: str(file)})
    assert table.actors == ("ada", "bob", "default")
    actor = table.verify("t")
    assert actor is not None
    assert (actor.actor_id, actor.tenant_id, actor.scopes, actor.source) == ("default", None, ("full",), "static")
    assert table.verify(" t ") is None
    assert table.verify("y").actor_id == "bob"  # type: ignore[union-attr]
    assert table.source == "env-or-file"


@case(6)
def test_a_file_wins_over_inline_tokens(case: str, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"ada": "x"}')
    assert load_tokens({FILE: f" {file} ", INLINE: '{"bob": "y"}'}).actors == ("ada",)
    assert load_tokens({FILE: "  ", INLINE: '{"bob": "y"}'}).actors == ("bob",)


@case(7)
@pytest.mark.parametrize(
    "text",
    ['{"a":"sec-x","b":"sec-x"}', '{"a":" "}', '{" ":"sec-x"}', "[1]", '["sec-x"]', '{"a":1}', '{"a":{"b":"sec-x"}}',
     '{"a":"sec-x"', '{"a":"sec-1","a":"sec-2"}', '{"omnigraph:recovery":"sec-x"}', '"sec-x"', "null"],
)  # fmt: skip
def test_tokens_that_make_no_sense_are_refused_without_being_told(case: str, text: str) -> None:
    with pytest.raises(StartRefused) as refused:
        load_tokens({INLINE: text})
    assert "sec-" not in str(refused.value)


@case(7)
def test_one_actor_has_one_token(case: str) -> None:
    with pytest.raises(StartRefused, match="default"):
        load_tokens({INLINE: '{"default": "x"}', SINGLE: "y"})


@case(8)
def test_a_cloud_secret_that_cannot_be_asked_for_is_no_reason_to_fall_back(case: str) -> None:
    with pytest.raises(StartRefused, match="no AWS region"):
        load_tokens({SECRET: "arn:x", SINGLE: "t"})


def test_an_actor_has_two_tokens_while_one_replaces_the_other() -> None:
    table = load_tokens({INLINE: '{"ada": [" new ", "old"], "bob": "b"}'})
    assert [table.verify(token).actor_id for token in ("new", "old", "b")] == ["ada", "ada", "bob"]  # type: ignore[union-attr]
    assert table.actors == ("ada", "bob")
    for wrong in ('["sec-1","sec-2","sec-3"]', "[]", '["sec-1","sec-1"]', '["sec-1",2]', '[["sec-1"]]', '["sec-b"]'):
        with pytest.raises(StartRefused) as refused:
            load_tokens({INLINE: f'{{"ada": {wrong}, "bob": "sec-b"}}'})
        assert "sec-" not in str(refused.value)


@case(9)
def test_only_digests_are_kept(case: str) -> None:
    assert hash_token("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    table = load_tokens({SINGLE: "abc"})
    assert "abc" not in repr(table)
    assert table.entries[0][0] == hashlib.sha256(b"abc").digest()


def test_a_token_of_half_characters_is_unknown_and_no_failure() -> None:
    assert load_tokens({SINGLE: "abc"}).verify("\udc80abc") is None


def test_a_table_can_be_read_again(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"ada": "x"}')
    environ = {FILE: str(file)}
    before = load_tokens(environ)
    assert reload_tokens(environ, before) is None
    file.write_text('{"ada": "y", "bob": "z"}')
    after = reload_tokens(environ, before)
    assert after is not None
    assert after.verify("x") is None
    assert after.actors == ("ada", "bob")
    for broken in ("{", "{}"):
        file.write_text(broken)
        with pytest.raises(StartRefused):
            reload_tokens(environ, after)


# --- authorize -----------------------------------------------------------------------------------


@case(12, 14)
def test_without_a_bundle_an_actor_can_only_read(case: str) -> None:
    def ask(state: State, actor: str | None, action: Action) -> tuple[bool, str]:
        decision = authorize(state, actor, None, PolicyRequest(action))
        return decision.allowed, decision.message

    assert ask(State.DEFAULT_DENY, "a", Action.READ)[0]
    allowed, message = ask(State.DEFAULT_DENY, "a", Action.CHANGE)
    assert not allowed
    assert "default-deny" in message
    assert ask(State.OPEN, None, Action.CHANGE)[0]
    for state in State:
        assert not ask(state, None, Action.GRAPH_LIST)[0]


def test_a_policy_decides_about_somebody_only() -> None:
    with pytest.raises(Unauthenticated):
        authorize(State.POLICY_ENABLED, None, engine(), PolicyRequest(Action.READ, "main"))


def test_every_decision_is_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "omnigraph.audit"):
        authorize(State.POLICY_ENABLED, "bob", engine(), PolicyRequest(Action.CHANGE, "feature"))
    (record,) = caplog.records
    assert record.message == "policy decision"
    fields = ("actor_id", "action", "branch", "target_branch", "allowed", "matched_rule_id")
    assert [getattr(record, name) for name in fields] == ["bob", "change", "feature", "", True, "team-write"]


# --- decisions -----------------------------------------------------------------------------------


def decide(actor: str, action: Action, branch: str | None = None, target: str | None = None) -> bool:
    return engine().decide(actor, PolicyRequest(action, branch, target)).allowed


@case(16, 17, 18, 19, 20)
def test_p1_decides_as_written(case: str) -> None:
    assert decide("bob", Action.READ, "main")
    assert not decide("bob", Action.EXPORT, "main")
    assert decide("root", Action.EXPORT, "main")
    assert not decide("bob", Action.CHANGE, "main")
    assert decide("bob", Action.CHANGE, "feature")
    assert not decide("bob", Action.BRANCH_MERGE, "feature", "main")
    assert decide("root", Action.BRANCH_MERGE, "feature", "main")
    assert not decide("root", Action.BRANCH_MERGE, "feature", "dev")
    denied = engine().decide("bob", PolicyRequest(Action.BRANCH_DELETE, target="feature"))
    assert "branch_delete" in denied.message
    assert "targeting branch 'feature'" in denied.message


@case(22)
def test_a_scoped_rule_never_matches_a_request_without_a_branch(case: str) -> None:
    found = engine(rule(actions=["read"], branch_scope="protected"))
    assert not found.decide("a", PolicyRequest(Action.READ)).allowed
    assert engine(rule(actions=["read"], branch_scope="any")).decide("a", PolicyRequest(Action.READ)).allowed
    assert engine(rule(actions=["read"])).decide("a", PolicyRequest(Action.READ)).allowed


@case(25)
@pytest.mark.parametrize("name", ["main", " main ", "main\t"])
def test_spaces_around_a_name_do_not_unprotect_it(case: str, name: str) -> None:
    text = P1.replace("[main]", '[" main "]')
    assert not engine(text).decide("bob", PolicyRequest(Action.CHANGE, name)).allowed


@case(31)
def test_an_actor_of_no_group_is_told_so(case: str) -> None:
    decision = engine().decide("zed", PolicyRequest(Action.READ, "main"))
    assert not decision.allowed
    assert decision.message == "policy denied action 'read' for unknown actor 'zed'"


@case(33)
@pytest.mark.parametrize(
    ("text", "names"),
    [
        (P1.replace("team-write", "team-read"), "team-read"),
        (P1.replace("{group: admins}", "{group: nobody}"), "nobody"),
        (rule(actions=["branch_merge"], branch_scope="any"), "branch_merge"),
        (rule(actions=["invoke_query"], branch_scope="any"), "invoke_query"),
        (rule(actions=["graph_list"], target_branch_scope="any"), "graph_list"),
        (rule(actions=["graph_list", "read"]), "mixes"),
        (rule(actions=["read", "read"]), "twice"),
        (rule(actions=[]), "no action"),
        (rule(actions=["read"], branch_scope="any", target_branch_scope="any"), "both"),
        (rule(actions=["fly"]), "fly"),
        (rule(actions=["read"], branch_scope=None), "branch_scope"),
        (rule(actions=["read"], branch_scope="prod"), "prod"),
        ('{"version": 1, "groups": {"g": []}}', "no actors"),
        ('{"version": 1, "groups": {" ": ["a"]}}', "blank name"),
        ('{"version": 1, "groups": {"g": [" "]}}', "blank actor"),
        ('{"version": 1, "groups": {"g": [1]}}', "expected text"),
        ('{"version": 1, "protected_branches": [" "]}', "blank branch"),
        ('{"version": 2}', "must be 1"),
        ('{"version": "1"}', "whole number"),
        ('{"groups": {}}', "version"),
        ("version: 1\ngroups: {g: [a], g: [b]}", "duplicate key 'g'"),
        ("", "mapping"),
    ],
)
def test_a_bundle_that_cannot_be_meant_is_refused(case: str, text: str, names: str) -> None:
    with pytest.raises(PolicyInvalid, match=names):
        bundle(text)


@case(34)
def test_a_misspelt_key_is_named(case: str) -> None:
    with pytest.raises(PolicyInvalid, match="branch_scpoe"):
        bundle(rule(actions=["read"], branch_scpoe="protected"))
    with pytest.raises(PolicyInvalid, match="remove it: the binding decides"):
        bundle("version: 1\nkind: server\n")


@case(35)
def test_a_bundle_fits_what_it_is_bound_to(case: str) -> None:
    with pytest.raises(PolicyInvalid, match=r"'graph_list' is a server-scoped action"):
        check_kind(bundle(rule(actions=["graph_list"])), "graph")
    with pytest.raises(PolicyInvalid, match=r"'read' is a per-graph action"):
        engine(rule(actions=["read"]), None)
    assert engine(rule(actions=["graph_list"]), None).decide("a", PolicyRequest(Action.GRAPH_LIST)).allowed
    for kind in ("graph", None):
        assert not engine("version: 1", kind).decide("a", PolicyRequest(Action.READ)).allowed


@case(36)
def test_no_is_an_actor(case: str) -> None:
    found = bundle("version: 1\ngroups: {g: [no, yes, on, 2024-01-01, 'true', 0x]}\n")
    assert found.groups["g"] == ("no", "yes", "on", "2024-01-01", "true", "0x")


ODD = ['quo"te', "new\nline", "emoji 🦊", "back\\slash", 'Omni::Group::"x"', "tab\t", "\u0000nul", "ünïcode"]


@case(37)
@pytest.mark.parametrize("name", ODD)
def test_any_name_matches_itself_and_nothing_else(case: str, name: str) -> None:
    document = {
        "version": 1,
        "groups": {name: [name, "plain"]},
        "rules": [{"id": name, "allow": {"actors": {"group": name}, "actions": ["read"]}}],
    }
    found = engine(json.dumps(document), name)
    decision = found.decide(name, PolicyRequest(Action.READ, name))
    assert decision.allowed
    assert decision.matched_rule_id == name
    assert not found.decide(name + " ", PolicyRequest(Action.READ, name)).allowed


@case(48)
def test_the_smallest_matching_rule_is_reported(case: str) -> None:
    rules = [{"id": name, "allow": {"actors": {"group": "g"}, "actions": ["read"]}} for name in ("zebra", "ant", "bee")]
    text = json.dumps({"version": 1, "groups": {"g": ["a"]}, "rules": rules})
    assert engine(text).decide("a", PolicyRequest(Action.READ)).matched_rule_id == "ant"


def test_a_policy_that_cannot_be_evaluated_is_neither_yes_nor_no(monkeypatch: pytest.MonkeyPatch) -> None:
    import cedarpy

    class Broken:
        class diagnostics:
            errors = ("boom",)
            reasons = ()

        decision = cedarpy.Decision.Deny
        allowed = False

    found = engine()
    monkeypatch.setattr(cedarpy, "is_authorized", lambda *_: Broken)
    with pytest.raises(PolicyFailed, match="policy: boom"):
        found.decide("bob", PolicyRequest(Action.READ, "main"))


def test_decisions_are_remembered_by_class_of_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    import cedarpy

    calls: list[object] = []
    asked = cedarpy.is_authorized
    monkeypatch.setattr(cedarpy, "is_authorized", lambda *args: calls.append(args) or asked(*args))
    found = engine()
    messages = {found.decide("bob", PolicyRequest(Action.CHANGE, f"b{n}")).message for n in range(50)}
    messages |= {found.decide("bob", PolicyRequest(Action.CHANGE, "main")).message for _ in range(50)}
    assert len(calls) == 2
    assert len(messages) == 2


# --- the engine ----------------------------------------------------------------------------------

# Who may do what: `doer` everything (undoing a commit needs `read` as well, decision 0043), `reader` nothing that writes.
FULL = """
version: 1
groups: {doers: [doer], readers: [reader]}
rules:
  - {id: all, allow: {actors: {group: doers}, actions: [read, change, schema_apply, branch_create, branch_delete, branch_merge, admin]}}
  - {id: read, allow: {actors: {group: readers}, actions: [read]}}
"""


def _transaction(graph: og.Graph) -> None:
    with graph.transaction() as work:
        work.mutate(ADD, params={"name": "t"})
        work.load([{"type": "Person", "data": {"name": "t2"}}])


WRITERS: dict[str, Any] = {
    "mutate": lambda g: g.mutate(ADD, params={"name": "x"}),
    "load": lambda g: g.load([{"type": "Person", "data": {"name": "y"}}]),
    "load_fork": lambda g: g.load([{"type": "Person", "data": {"name": "z"}}], branch="forked", from_="main"),
    "transaction": _transaction,
    "branch_create": lambda g: g.branches.create("one"),
    "branch_create_from": lambda g: g.branches.create("two", from_="one"),
    "branch_merge": lambda g: g.branches.merge("one", "main"),
    "branch_delete": lambda g: g.branches.delete("two"),
    "revert": lambda g: g.commits.revert(g.commits.list()[0]),
    "tag": lambda g: g.tags.create("v1"),
    "tag_delete": lambda g: g.tags.delete("v1"),
    "ensure_indices": lambda g: g.ensure_indices(),
    "optimize": lambda g: g.optimize(),
    "repair": lambda g: g.repair(confirm=True),
    "cleanup": lambda g: g.cleanup(keep=100, confirm=True),
    "merge_delete": lambda g: g.branches.merge("one", "main", delete=True),
    "fork_delete": lambda g: g.branches.delete("forked"),
    "schema_apply": lambda g: g.schema.apply(WIDER),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gated") / "g.omni"
    og.init(path, SCHEMA).close()
    return path


@case(38)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_guarded_graph_wants_to_know_who_writes(case: str, writer: str, place: Path) -> None:
    with og.open(place, policy=engine(FULL)) as graph, pytest.raises(PermissionDenied, match="no actor"):
        WRITERS[writer](graph)


@case(39)
def test_every_writer_asks_the_policy_first(case: str, place: Path) -> None:
    guard = engine(FULL)
    with og.open(place, actor="reader", policy=guard) as denied, og.open(place, actor="doer", policy=guard) as allowed:
        for name, write in WRITERS.items():
            before = denied.commits.head(), denied.branches.list(), denied.tags.list()
            with pytest.raises(PermissionDenied, match="policy denied action"):
                write(denied)
            assert (denied.commits.head(), denied.branches.list(), denied.tags.list()) == before, name
            write(allowed)
        assert allowed.branches.list() == ["main"]
        assert denied.query("query n() { match { $p: Person } return { count($p) as n } }").rows()


def test_the_values_of_an_algorithm_are_written_only_by_those_who_may(tmp_path: Path) -> None:
    linked = "node Person { name: String @key  rank: F64? }\nedge Knows: Person -> Person"
    with og.init(tmp_path / "g.omni", linked) as graph:
        graph.mutate('query q() { insert Person { name: "a" } insert Knows { from: "a", to: "a" } }')
        guarded = graph.with_policy(engine(FULL))
        before = graph.commits.head()
        with pytest.raises(PermissionDenied, match="policy denied action 'change'"):
            guarded.with_actor("reader").analytics.pagerank("Knows", write_to="Person.rank")
        assert graph.commits.head() == before
        done = guarded.with_actor("doer").analytics.pagerank("Knows", write_to="Person.rank")
        assert done.commit is not None
        assert done.commit.actor_id == "doer"


def test_a_handle_for_another_policy_or_actor_is_closed_with_the_graph(tmp_path: Path) -> None:
    with og.init(tmp_path / "g.omni", SCHEMA, actor="ada") as graph:
        others = [graph.with_actor("bob"), graph.with_policy(engine(FULL)), graph.with_visibility(None)]
        assert [(other.actor, other.policy is None) for other in others] == [
            ("bob", True),
            ("ada", False),
            ("ada", True),
        ]
    for other in others:
        with pytest.raises(BadRequest, match="closed"):
            other.view()


def test_input_is_not_read_for_a_denied_write(place: Path) -> None:
    def records() -> Any:
        raise AssertionError("the input was read")
        yield

    with og.open(place, actor="reader", policy=engine(FULL)) as graph, pytest.raises(PermissionDenied):
        graph.load(records())


def test_a_transaction_is_judged_as_a_change_of_its_branch(tmp_path: Path) -> None:
    protected_only = FULL.replace(
        "actions: [read, change, schema_apply", "branch_scope: protected, actions: [read, change"
    ).replace(", branch_create, branch_delete, branch_merge, admin]", "]")
    text = protected_only.replace("rules:", "protected_branches: [main]\nrules:")
    og.init(tmp_path / "g.omni", SCHEMA).close()
    with og.open(tmp_path / "g.omni", actor="doer", policy=engine(text)) as graph:
        _transaction(graph)
        assert graph.get("Person", "t") is not None
        with pytest.raises(PermissionDenied, match="branch_create"):
            graph.branches.create("one")


def test_merging_does_not_include_the_right_to_delete(tmp_path: Path) -> None:
    og.init(tmp_path / "g.omni", SCHEMA).branches.create("feature")
    text = FULL.replace("branch_delete, ", "")
    with og.open(tmp_path / "g.omni", actor="doer", policy=engine(text)) as graph:
        graph.load([{"type": "Person", "data": {"name": "x"}}], branch="feature")
        result = graph.branches.merge("feature", "main", delete=True)
        assert result.branch_deleted is False
        assert "branch_delete" in str(result.branch_delete_error)
        assert "feature" in graph.branches.list()


def test_a_policy_that_fails_refuses_the_write(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = engine(FULL)

    def broken(*_: object) -> None:
        raise PolicyFailed("boom")

    monkeypatch.setattr(guard, "decide", broken)
    with og.open(place, actor="doer", policy=guard) as graph, pytest.raises(PermissionDenied, match="boom"):
        graph.mutate(ADD, params={"name": "x"})


# --- yaml ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", {"a": "no"}),
        ("a: 0777", {"a": 777}),
        ("a: 0o17", {"a": 15}),
        ("a: 1:30", {"a": "1:30"}),
        ("a: ~\nb:\nc: 'null'", {"a": None, "b": None, "c": "null"}),
        ("a: [1.5, -2, .inf, 1e3, +1]", {"a": [1.5, -2, float("inf"), 1000.0, 1]}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("'<<': 1", {"<<": 1}),
        ("", None),
    ],
)
def test_scalars_are_those_of_the_core_schema(text: str, value: object) -> None:
    assert load_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a: {b: 1, b: 2}", "a.b"),
        ("a:\n- b: 1\n  b: 2", "a[].b"),
        ("1: x", ""),
        ("[a]: x", ""),
        ("a: !!python/object:os.system x", "a"),
        ("a: &x [*x]", "a[]"),
        ("--- 1\n--- 2", ""),
        ('a: "\\ud83e"', "a"),
        ("[" * 600, ""),
        ("a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(8)), None),
    ],
)  # fmt: skip
def test_what_could_be_read_two_ways_is_refused(text: str, path: str | None) -> None:
    with pytest.raises(YamlRejected) as rejected:
        load_yaml(text)
    assert path is None or rejected.value.path == path
