"""Rules that show some types and mask some properties: what a reader cannot see cannot be found out either."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.errors import NotFound, PermissionDenied, PolicyFailed, PolicyInvalid
from omnigraph.policy.actions import Action
from omnigraph.policy.bundle import parse_bundle
from omnigraph.policy.engine import PolicyEngine, PolicyRequest

SCHEMA = """
interface Named { name: String }
interface Sensitive { code: String }
node Person implements Named {
  name: String @key
  email: String? @index
  salary: I32? @index
  bio: String? @index
  portrait: Vector(3) @embed(bio) @index
  photo: Blob?
}
node Secret implements Sensitive { code: String @key  about: String? @index }
edge Knows: Person -> Person { since: I32? }
edge Holds: Person -> Secret
"""
RECORDS = [
    {"type": "Person", "data": {"name": "Ada", "email": "ada@example.org", "salary": 10, "bio": "likes foxes",
                                "portrait": [1.0, 0.0, 0.0], "photo": "base64:SGVsbG8="}},
    {"type": "Person", "data": {"name": "Bob", "email": "bob@example.org", "salary": 20, "bio": "likes bears",
                                "portrait": [0.0, 1.0, 0.0]}},
    {"type": "Secret", "data": {"code": "zebra", "about": "foxes"}},
    {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"since": 1999}},
    {"edge": "Holds", "from": "Ada", "to": "zebra"},
]  # fmt: skip
POLICY = """
version: 1
groups: {analysts: [ana], staff: [sam], both: [bea], all: [root]}
rules:
  - id: some-types
    allow: {actors: {group: analysts}, actions: [read, export], types: [Person, Knows, Holds],
            mask: {Person: [email, salary, bio, photo], Knows: [since]}}
  - {id: masked, allow: {actors: {group: staff}, actions: [read], mask: {Person: [salary]}}}
  - {id: bea-people, allow: {actors: {group: both}, actions: [read], types: [Person], mask: {Person: [email, salary]}}}
  - {id: bea-more, allow: {actors: {group: both}, actions: [read], types: [Person, Secret], mask: {Person: [salary, bio]}}}
  - {id: everything, allow: {actors: {group: all}, actions: [read, export, change]}}
  - {id: changes, allow: {actors: {group: analysts}, actions: [change]}}
"""


def engine(text: str = POLICY) -> PolicyEngine:
    return PolicyEngine(parse_bundle(text, "rules"), "g")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    with og.init(tmp_path_factory.mktemp("rules") / "g.omni", SCHEMA) as graph:
        graph.load(RECORDS)
        graph.optimize()
        yield graph


def seen_by(graph: og.Graph, actor: str, action: Action = Action.READ) -> og.Graph:
    """The graph as a server hands it to this actor."""
    visibility = engine().visibility(actor, PolicyRequest(action, "main"))
    return graph.with_visibility(visibility).with_actor(actor)


@pytest.fixture
def ana(whole: og.Graph) -> og.Graph:
    # Everything is asked for in full first: no cache that it fills may show through.
    for query in (
        "query a() { match { $p: Person } return { $p.email, $p.salary, $p.bio } }",
        'query b() { match { $p: Person  search($p.bio, "foxes") } return { $p.name } }',
        "query c() { match { $p: Person  $p knows $q } return { $q.email } }",
        "query d() { match { $p: Person  $p holds $s } return { $s.code } }",
    ):
        assert whole.query(query).rows()
    return seen_by(whole, "ana")


def rows(graph: og.Graph, body: str, **params: Any) -> list[dict[str, Any]]:
    return list(graph.query(f"query q() {{ {body} }}", params=params).rows())


def test_a_masked_property_is_null_wherever_it_is_read(ana: og.Graph) -> None:
    found = rows(ana, "match { $p: Person } return { $p.name, $p.email, $p.salary, $p.bio } order { $p.name asc }")
    assert found == [{"p.name": n, "p.email": None, "p.salary": None, "p.bio": None} for n in ("Ada", "Bob")]
    (node, *_) = rows(ana, "match { $p: Person } return { $p } order { $p.name asc }")
    assert node["p"]["email"] is None
    assert "example.org" not in json.dumps(node)
    entity = ana.get("Person", "Ada")
    assert entity is not None
    assert entity["email"] is None
    assert entity["photo"] is None


@pytest.mark.parametrize(
    "body",
    [
        'match { $p: Person { email: "ada@example.org" } } return { $p.name }',
        "match { $p: Person  $p.salary > 5 } return { $p.name }",
        "match { $p: Person  $p.salary != 10 } return { $p.name }",
        'match { $p: Person  $p.email contains "ada" } return { $p.name }',
        'match { $p: Person  $p.email starts_with "a" } return { $p.name }',
        'match { $p: Person  search($p.bio, "foxes") } return { $p.name }',
        'match { $p: Person  search_all($p.bio, "foxes") } return { $p.name }',
        'match { $p: Person  search_phrase($p.bio, "foxes") } return { $p.name }',
        'match { $p: Person  search_prefix($p.bio, "fox") } return { $p.name }',
        'match { $p: Person  bm25($p.bio, "foxes") > 0 } return { $p.name }',
        'match { $p: Person  snippet($p.bio, "foxes") contains "fox" } return { $p.name }',
        'match { $p: Person  fuzzy($p.bio, "foxs", 1) } return { $p.name }',
        "match { $p: Person  $p.email is not null } return { $p.name }",
        "match { $p: Person } with { $p, $p.salary as s } match { $p: Person s > 5 } return { $p.name }",
        "match { $p: Person } return { $p.name, max($p.salary per $p) as m, lag($p.email order $p.name) as e } "
        "having { m > 5 or e is not null }",
        "match { $p: Person  exists { $q: Person $q = $p $q.salary > 5 } } return { $p.name }",
        'match { either { $p: Person { email: "ada@example.org" } } or { $p: Person $p.salary > 5 } } return { $p.name }',
        "match { $p: Person $p.salary > 5 } return { $p.name } union match { $p: Person $p.salary < 5 } return { $p.name }",
    ],
)
def test_a_masked_property_finds_nothing(ana: og.Graph, whole: og.Graph, body: str) -> None:
    assert rows(whole, body), "the condition holds for somebody"
    assert rows(ana, body) == []


def test_aggregates_and_order_do_not_tell_a_masked_property(ana: og.Graph) -> None:
    (found,) = rows(ana, "match { $p: Person } return { count($p) as n, sum($p.salary) as s, max($p.salary) as m }")
    assert found["n"] == 2
    assert not found["s"]
    assert found["m"] is None
    names = [row["p.name"] for row in rows(ana, "match { $p: Person } return { $p.name } order { $p.salary desc }")]
    assert sorted(names) == ["Ada", "Bob"]
    assert rows(ana, "match { $p: Person } return { $p.salary, count($p) as n }") == [{"p.salary": None, "n": 2}]


def test_a_vector_made_from_a_masked_text_is_masked_with_it(ana: og.Graph, whole: og.Graph) -> None:
    body = "match { $p: Person } return { $p.name } order { nearest($p.portrait, [1.0, 0.0, 0.0]) } limit 1"
    assert rows(whole, body) == [{"p.name": "Ada"}]
    assert rows(ana, body) == []


def test_an_edge_property_is_masked_too(ana: og.Graph, whole: og.Graph) -> None:
    assert whole.get("Knows", whole_edge(whole))["since"] == 1999  # type: ignore[index]
    assert ana.get("Knows", whole_edge(whole))["since"] is None  # type: ignore[index]


def whole_edge(graph: og.Graph) -> str:
    sink = io.BytesIO()
    graph.export(sink, ["Knows"])
    return str(json.loads(sink.getvalue().splitlines()[0])["data"]["id"])


@pytest.mark.parametrize(
    "body",
    [
        "match { $s: Secret } return { count($s) as n }",
        "match { $p: Person  $p holds $s } return { $p.name }",
        "match { $p: Person  not { $p holds $_ } } return { $p.name }",
        'match { $s: Secret  search($s.about, "foxes") } return { count($s) as n }',
        "match { $s: Sensitive } return { $s.code }",
    ],
)
def test_a_hidden_type_does_not_exist(ana: og.Graph, whole: og.Graph, body: str) -> None:
    whole.query(f"query q() {{ {body} }}")
    with pytest.raises(CompileError) as hidden:
        rows(ana, body)
    invented = body.replace("Secret", "Segret").replace("holds", "hoolds").replace("Sensitive", "Sensitiwe")
    with pytest.raises(CompileError) as unknown:
        rows(ana, invented)
    assert hidden.value.summary.replace("Secret", "").replace("holds", "").replace("Sensitive", "") == (
        unknown.value.summary.replace("Segret", "").replace("hoolds", "").replace("Sensitiwe", "")
    )
    assert "Secret" not in unknown.value.summary


def test_a_visible_type_is_reached_as_before(ana: og.Graph) -> None:
    assert rows(ana, "match { $p: Person  $p knows $q } return { $q.name }") == [{"q.name": "Bob"}]
    assert {row["n.name"] for row in rows(ana, "match { $n: Named } return { $n.name }")} == {"Ada", "Bob"}


def test_an_edge_to_a_hidden_type_is_hidden(ana: og.Graph) -> None:
    assert sorted(ana.schema.catalog.edges) == ["Knows"]
    assert sorted(ana.schema.catalog.interfaces) == ["Named"]
    assert sorted(ana.snapshot().entries) == ["edge:Knows", "node:Person"]
    with pytest.raises(NotFound):
        ana.get("Secret", "zebra")


def test_an_export_holds_nothing_hidden(whole: og.Graph) -> None:
    sink = io.BytesIO()
    seen_by(whole, "ana", Action.EXPORT).export(sink)
    text = sink.getvalue().decode()
    for hidden in ("example.org", "foxes", "zebra", "Secret", "Holds", "1999", "SGVsbG8"):
        assert hidden not in text
    assert text.count("Person") == 2


def test_what_cannot_be_answered_in_part_is_refused(ana: og.Graph, whole: og.Graph) -> None:
    head = whole.commits.list()[0]
    for ask in (
        lambda: ana.schema.source,
        lambda: ana.schema.plan(SCHEMA),
        lambda: ana.commits.changes(head),
        lambda: ana.commits.blame("Person", "Ada"),
        lambda: ana.commits.history("Person", "Ada"),
        lambda: ana.changes.poll(start="beginning"),
        lambda: ana.diff(head),
    ):
        with pytest.raises(PermissionDenied, match="every type and property"):
            ask()
    with pytest.raises(NotFound):
        ana.blob("Person", "Ada", "photo")


def test_masked_alone_leaves_the_rest_as_it_is(whole: og.Graph) -> None:
    sam = seen_by(whole, "sam")
    (ada, _) = rows(sam, "match { $p: Person } return { $p.email, $p.salary } order { $p.name asc }")
    assert ada == {"p.email": "ada@example.org", "p.salary": None}
    assert rows(sam, "match { $s: Secret } return { $s.code }") == [{"s.code": "zebra"}]


def test_several_rules_add_up(whole: og.Graph) -> None:
    bea = seen_by(whole, "bea")
    (ada, _) = rows(bea, "match { $p: Person } return { $p.email, $p.salary, $p.bio } order { $p.name asc }")
    assert ada == {"p.email": "ada@example.org", "p.salary": None, "p.bio": "likes foxes"}
    assert rows(bea, "match { $s: Secret } return { $s.code }") == [{"s.code": "zebra"}]
    assert "Knows" not in bea.schema.catalog.edges


def test_whoever_sees_everything_pays_nothing(whole: og.Graph) -> None:
    assert engine().visibility("root", PolicyRequest(Action.READ, "main")) is None
    assert seen_by(whole, "root")._core is whole._core


def test_a_reader_of_parts_does_not_write() -> None:
    decision = engine().decide("ana", PolicyRequest(Action.CHANGE, "main"))
    assert not decision.allowed
    assert "reading is restricted" in decision.message
    assert engine().decide("root", PolicyRequest(Action.CHANGE, "main")).allowed


REVEALING = [Action.CHANGE, Action.SCHEMA_APPLY, Action.BRANCH_MERGE, Action.ADMIN]
REVIEWERS = """
version: 1
groups: {{reviewers: [ana], owners: [root]}}
protected_branches: [main]
rules:
  - {{id: drafts, allow: {{actors: {{group: reviewers}}, actions: [read], branch_scope: {whole}}}}}
  - {{id: releases, allow: {{actors: {{group: reviewers}}, actions: [read], branch_scope: {part}, mask: {{Person: [salary]}}}}}}
  - {{id: work, allow: {{actors: {{group: reviewers}}, actions: [change, schema_apply, branch_merge, admin]}}}}
  - {{id: all, allow: {{actors: {{group: owners}}, actions: [read, change, schema_apply, branch_merge, admin]}}}}
"""


@pytest.mark.parametrize("action", REVEALING)
def test_whatever_could_reveal_a_hidden_value_is_denied_to_a_reader_of_parts(action: Action) -> None:
    rules = engine(REVIEWERS.format(whole="unprotected", part="protected"))
    decision = rules.decide("ana", PolicyRequest(action, "main"))
    assert not decision.allowed
    assert "reading is restricted" in decision.message
    assert rules.decide("ana", PolicyRequest(action, "draft")).allowed
    assert rules.decide("root", PolicyRequest(action, "main")).allowed


@pytest.mark.parametrize(
    ("whole", "part", "source", "target"),
    [
        pytest.param("unprotected", "protected", "draft", "main", id="the-target-is-restricted"),
        pytest.param("protected", "unprotected", "draft", "main", id="the-source-is-restricted"),
    ],
)
def test_a_merge_needs_both_branches_to_be_seen_whole(whole: str, part: str, source: str, target: str) -> None:
    rules = engine(REVIEWERS.format(whole=whole, part=part))
    assert not rules.decide("ana", PolicyRequest(Action.BRANCH_MERGE, source, target)).allowed
    assert rules.decide("root", PolicyRequest(Action.BRANCH_MERGE, source, target)).allowed


def test_a_rule_about_other_types_lifts_no_mask() -> None:
    rules = engine(
        "version: 1\ngroups: {g: [ana]}\nrules:\n"
        "  - {id: people, allow: {actors: {group: g}, actions: [read], types: [Person], mask: {Person: [salary]}}}\n"
        "  - {id: secrets, allow: {actors: {group: g}, actions: [read], types: [Secret]}}\n"
    )
    visibility = rules.visibility("ana", PolicyRequest(Action.READ, "main"))
    assert visibility is not None
    assert visibility.types == {"Person", "Secret"}
    assert visibility.masks() == {"Person": {"salary"}}


def test_the_past_is_restricted_alike(whole: og.Graph, ana: og.Graph) -> None:
    past = ana.at(whole.commits.list()[0])
    assert past.get("Person", "Ada")["email"] is None  # type: ignore[index]
    with pytest.raises(NotFound):
        past.get("Secret", "zebra")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("types: [Person], mask: {Person: [name]}", "masks the key"),
        ("mask: {Person: [emial]}", "'Person.emial'"),
        ("mask: {Persn: [email]}", "'Persn'"),
    ],
)
def test_a_rule_that_does_not_fit_the_schema_shows_nothing(whole: og.Graph, rule: str, why: str) -> None:
    text = (
        f"version: 1\ngroups: {{g: [a]}}\nrules: [{{id: r, allow: {{actors: {{group: g}}, actions: [read], {rule}}}}}]"
    )
    visibility = engine(text).visibility("a", PolicyRequest(Action.READ, "main"))
    graph = whole.with_visibility(visibility).with_actor("a")
    with pytest.raises(PolicyFailed, match=why):
        rows(graph, "match { $p: Person } return { $p.name }")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("actions: [change], types: [Person]", "read and export only"),
        ("actions: [read], types: []", "shows no type"),
        ("actions: [read], types: [' ']", "blank"),
        ("actions: [read], mask: {Person: []}", "masks no property"),
        ("actions: [read], types: [Person], mask: {Secret: [code]}", "does not show"),
        ("actions: [read], types: ", "missing key 'types'"),
    ],
)
def test_a_read_rule_that_cannot_be_meant_is_refused(rule: str, why: str) -> None:
    text = f"version: 1\ngroups: {{g: [a]}}\nrules: [{{id: r, allow: {{actors: {{group: g}}, {rule}}}}}]"
    with pytest.raises(PolicyInvalid, match=why):
        parse_bundle(text, "rules")


def test_rules_survive_a_change_of_the_schema(tmp_path: Path) -> None:
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        graph.load(RECORDS)
        sam = seen_by(graph, "sam")
        graph.schema.apply(SCHEMA.replace("salary: I32?", "age: I32?\n  salary: I32?"))
        assert rows(sam, "match { $p: Person } return { $p.salary }") == [{"p.salary": None}] * 2
