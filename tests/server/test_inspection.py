"""Looking at a served graph: descriptions, entities, plans, comparisons, history, moments and editors' questions.

Every verb is compared with the same verb of the graph in storage; then what a reader of parts gets to see.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from served_people import SCHEMA, create_people

import omnigraph as og
from omnigraph import aio, errors
from omnigraph.pipeline.runs.declared import parse_pipelines
from omnigraph.pipeline.runs.execute import RunOptions, run_pipeline
from server_process import ServerProcess, serving

POLICY = """
version: 1
groups: {admins: [root], keepers: [kim], parts: [ana], drafters: [dan], nobody: [eve]}
protected_branches: [main]
rules:
  - {id: all, allow: {actors: {group: admins}, actions: [read, export, change, branch_create]}}
  - {id: parts, allow: {actors: {group: parts}, actions: [read], types: [Person, Knows, WorksAt], mask: {Person: [age]}}}
  - {id: keep, allow: {actors: {group: keepers}, actions: [admin]}}
  - {id: run, allow: {actors: {group: admins}, actions: [admin]}}
  - {id: drafts, allow: {actors: {group: drafters}, actions: [read], branch_scope: unprotected}}
"""
TOKENS = {name: f"token-of-{name}-0123456789abcdef" for name in ("root", "kim", "ana", "dan", "eve")}
FRIENDS = (
    "query friends($n: String) { match { $p: Person { name: $n } $p knows $q } return { $q.name } order { $q.name } }"
)
AGE = "query set_age($n: String, $a: I32) { update Person set { age: $a } where name = $n }"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a little history: three commits on main, one on a branch, a tag."""
    folder = tmp_path_factory.mktemp("inspected")
    with og.init(folder / "g.omni", SCHEMA) as graph:
        created = create_people(folder / "template.omni")
        with og.open(created) as template:
            template.export(folder / "people.jsonl")
        graph.load(folder / "people.jsonl", message="people")
        graph.tags.create("first")
        graph.branches.create("draft")
        graph.branch("draft").mutate(AGE, params={"n": "Bob", "a": 26}, message="Bob's birthday")
        graph.with_actor("ada").mutate(AGE, params={"n": "Alice", "a": 31}, message="Alice's birthday")
        graph.load([{"edge": "WorksAt", "from": "Alice", "to": "Acme"}], message="a job")
        graph.ensure_indices()
    return folder / "g.omni"


@pytest.fixture(scope="module")
def embedded(store: Path) -> Iterator[og.Graph]:
    with og.open(store, read_only=True) as graph:
        yield graph


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[ServerProcess]:
    description = {"graphs": {"g": {"uri": str(store), "policy": POLICY}}, "tokens": TOKENS}
    with serving(description) as found:
        yield found


@pytest.fixture
def served(server: ServerProcess) -> Iterator[og.RemoteGraph]:
    with og.connect(server.url, "g", TOKENS["root"]) as graph:
        yield graph


def test_a_served_graph_is_described_like_one_in_storage(served: og.RemoteGraph, embedded: og.Graph) -> None:
    found, expected = served.describe(), embedded.describe()
    assert (found.types, found.branches, found.divergence) == (expected.types, expected.branches, expected.divergence)
    assert (found.branch, found.commit, found.uri) == ("main", expected.commit, "g")
    assert served.describe(branch="draft").commit == embedded.commits.head("draft")
    assert served.describe(at="first").types == embedded.describe(at="first").types
    assert served.indexes() == embedded.indexes()
    assert served.snapshot(at="first") != served.snapshot()


def test_entities_and_what_is_next_to_them(served: og.RemoteGraph, embedded: og.Graph) -> None:
    assert (
        served.get("Person", "Alice") == embedded.get("Person", "Alice") == {"id": "Alice", "age": 31, "name": "Alice"}
    )
    assert served.get("Person", "Alice", at="first") == {"id": "Alice", "age": 30, "name": "Alice"}
    assert served.get("Document", "hello") == {"id": "hello", "name": "hello"}, "blobs have a route of their own"
    assert served.get("Person", "Zoe") is None
    with pytest.raises(errors.NotFound, match="no type 'Persn'; did you mean"):
        served.get("Persn", "Alice")
    around = served.neighbours("Person", "Alice")
    assert around == embedded.neighbours("Person", "Alice")
    assert {(each.edge, each.direction): each.count for each in around.groups} == {
        ("Knows", "out"): 2,
        ("Knows", "in"): 0,
        ("WorksAt", "out"): 1,
    }
    edge = around.groups[0].neighbours[0].edge["id"]
    assert served.get("Knows", edge) == embedded.get("Knows", edge)
    page = served.neighbours("Person", "Alice", edge="Knows", direction="out", limit=1, at="first")
    assert page == embedded.neighbours("Person", "Alice", edge="Knows", direction="out", limit=1, at="first")
    with pytest.raises(errors.BadRequest, match="direction must be"):
        served.neighbours("Person", "Alice", direction="up")


def test_plans_and_profiles(served: og.RemoteGraph, embedded: og.Graph) -> None:
    plan = served.explain(FRIENDS, params={"n": "Alice"})
    expected = embedded.explain(FRIENDS, params={"n": "Alice"})
    assert (str(plan), plan.to_dict()) == (str(expected), expected.to_dict())
    ran = served.profile(FRIENDS, params={"n": "Alice"}).to_dict()
    assert ran["operators"][-1]["rows"] == 2
    assert ran["reads"]
    with pytest.raises(errors.BadRequest, match="holds mutations"):
        served.explain(AGE, params={"n": "Alice", "a": 1})
    with pytest.raises(errors.BadRequest, match="no node type 'Persn'"):
        served.explain("query q() { match { $p: Persn } return { $p } }")


def test_differences_with_values_and_pages(served: og.RemoteGraph, embedded: og.Graph, server: ServerProcess) -> None:
    found, expected = served.diff("first", "main"), embedded.diff("first", "main")
    assert (found.changes, found.stats, found.table) == (expected.changes, expected.stats, expected.table)
    assert [each.changed for each in found.with_values()] == [each.changed for each in expected.with_values()]
    assert [each.after for each in found.with_values()] == [each.after for each in expected.with_values()]
    assert served.diff("draft").changes == embedded.diff("draft").changes
    assert served.diff(1, types="Person").changes == embedded.diff(1, types="Person").changes
    assert served.branch("draft").diff("HEAD~1").stats.updates == 1
    with server.client(TOKENS["root"]) as client:
        seen: list[dict[str, Any]] = []
        asking: dict[str, Any] = {"from": "first", "limit": 1}
        for _ in expected.changes:
            page = client.get("/graphs/g/diff", params=asking).json()
            seen, asking = [*seen, *page["changes"]], {**asking, "page_token": page.get("next_page_token")}
        assert ([each["id"] for each in seen], asking["page_token"]) == ([each.id for each in expected.changes], None)
        moved = client.get("/graphs/g/diff", params={"from": "first", "page_token": "1.A.B"})
        assert (moved.status_code, client.get("/graphs/g/diff").status_code) == (409, 400)


def test_history_as_a_graph_and_who_set_what(served: og.RemoteGraph, embedded: og.Graph) -> None:
    found, expected = served.commits.log(), embedded.commits.log()
    assert [each.document() for each in found] == [each.document() for each in expected]
    everywhere = [each.document() for each in served.commits.log(every_branch=True)]
    assert everywhere == [each.document() for each in embedded.commits.log(every_branch=True)]
    assert any("draft" in each["branches"] for each in everywhere)
    assert [each.commit.message for each in served.commits.log(type="WorksAt")] == ["a job"]
    blamed, told = served.commits.blame("Person", "Alice"), embedded.commits.blame("Person", "Alice")
    assert blamed.document() == told.document()
    assert (blamed["age"].commit.actor_id, blamed["age"].commit.message) == ("ada", "Alice's birthday")
    assert served.commits.blame("Person", "Bob", branch="draft")["age"].value == 26
    with pytest.raises(errors.NotFound, match="'Zoe' does not exist"):
        served.commits.blame("Person", "Zoe")
    happened = served.commits.history("Person", "Alice")
    assert happened.document() == embedded.commits.history("Person", "Alice").document()
    assert happened == embedded.commits.history("Person", "Alice")
    newest = served.commits.history("Person", "Alice", limit=1)
    assert (newest.events[0].op, newest.events[0].commit.message) == ("update", "Alice's birthday")
    rest = served.commits.history("Person", "Alice", after=newest.after)
    assert (*newest.events, *rest.events) == happened.events
    assert served.commits.history("Person", "Alice", at="first").events == rest.events
    with pytest.raises(errors.NotFound, match="'Zoe' does not exist"):
        served.commits.history("Person", "Zoe")
    with pytest.raises(errors.BadRequest, match="limit must be a whole number up to 1000"):
        served.commits.history("Person", "Alice", limit=1001)


def test_moments_are_those_of_the_bound_branch(served: og.RemoteGraph, embedded: og.Graph) -> None:
    draft = served.branch("draft")
    assert served.at("first").get("Person", "Alice") == embedded.at("first").get("Person", "Alice")
    assert draft.at("HEAD").commit_id == embedded.branch("draft").at("HEAD").commit_id
    assert (draft.get("Person", "Bob", at="HEAD") or {})["age"] == 26
    assert (draft.get("Person", "Bob", at="HEAD~1") or {})["age"] == 25
    rows = [
        draft.query('query q() { match { $p: Person { name: "Bob" } } return { $p.age } }', at=each).scalar()
        for each in ("HEAD", "HEAD~1")
    ]
    assert rows == [26, 25]
    version = embedded.at("first").version
    assert served.at(version=version).commit_id == embedded.at(version=version).commit_id
    assert served.at(time="2999-01-01").commit_id == embedded.at(time="2999-01-01").commit_id
    past = served.at("first")
    assert (past.branch_name, past.version) == ("main", version)
    assert past.schema.source == embedded.schema.source
    assert past.query(FRIENDS, params={"n": "Alice"}).rows() == [{"q.name": "Bob"}, {"q.name": "Carol"}]
    with pytest.raises(errors.BadRequest, match="name one moment"):
        served.at("first", version=3)
    with pytest.raises(errors.NotFound):
        served.at("no-such-tag")


def test_plans_of_schemas_change_nothing(served: og.RemoteGraph, embedded: og.Graph) -> None:
    wider = SCHEMA.replace("age: I32?", "age: I64?  nick: String?")
    found, expected = served.schema.plan(wider), embedded.schema.plan(wider)
    assert (found.supported, found.to_json(), str(found)) == (True, expected.to_json(), str(expected))
    assert not served.schema.plan(SCHEMA.replace("age: I32?", "age: String")).supported
    with pytest.raises(errors.BadRequest, match="S0"):
        served.schema.plan("node {")
    assert served.schema.source == embedded.schema.source


def test_the_same_verbs_are_awaited(server: ServerProcess, embedded: og.Graph) -> None:
    async def run() -> None:
        async with aio.connect(server.url, "g", TOKENS["root"]) as graph:
            assert (await graph.describe()).types == embedded.describe().types
            assert await graph.indexes() == embedded.indexes()
            assert await graph.neighbours("Person", "Alice") == embedded.neighbours("Person", "Alice")
            assert str(await graph.explain(FRIENDS)) == str(embedded.explain(FRIENDS))
            assert (await graph.profile(FRIENDS, params={"n": "Bob"})).to_dict()["reads"]
            past = await graph.at("first")
            assert (await graph.diff(past)).changes == embedded.diff("first").changes
            assert await past.get("Person", "Alice") == embedded.at("first").get("Person", "Alice")
            assert (await past.query(FRIENDS, params={"n": "Bob"})).rows() == [{"q.name": "Carol"}]
            logged = [each.document() for each in await graph.commits.log()]
            assert logged == [each.document() for each in embedded.commits.log()]
            assert (await graph.commits.blame("Person", "Alice"))["age"].value == 31
            assert await graph.commits.history("Person", "Alice") == embedded.commits.history("Person", "Alice")
            assert (await graph.schema.plan(SCHEMA)).to_json() == {"supported": True, "steps": []}

    asyncio.run(run())


def test_runs_of_pipelines_are_seen_while_they_go_on(server: ServerProcess, store: Path, tmp_path: Path) -> None:
    (tmp_path / "people.jsonl").write_text('{"name":"Zed","age":1}\n')
    mapping = {"sources": {"p": {"path": "people.jsonl", "format": "json"}}, "nodes": {"Person": {"from": "p"}}}
    (tmp_path / "people.yaml").write_text(json.dumps(mapping))
    given = {"graph": "g", "mapping": "people.yaml", "branch": "in/{run}", "on_error": "skip"}
    pipeline = parse_pipelines({"nightly": given}, tmp_path)["nightly"]
    seen: list[Any] = []
    with server.client(TOKENS["root"]) as client, og.open(store) as graph:

        def runs(**asked: Any) -> Any:
            answer = client.get("/graphs/g/pipelines/runs", params=asked)
            assert answer.status_code == 200, answer.text
            return answer.json()["runs"]

        assert runs() == []
        ended = run_pipeline(pipeline, graph, RunOptions(progress=lambda _: seen.append(runs(pipeline="nightly"))))
        assert [(each["status"], each["run_id"]) for each in seen[0]] == [("running", ended.run_id)]
        assert runs(limit=1) == [json.loads(json.dumps(ended.to_json()))]
        assert (ended.status, ended.progress) == ("review", None)
        assert runs(pipeline="other") == []
        for bad in ({"pipeline": "../x"}, {"limit": "-1"}, {"limit": "1001"}, {"status": "running"}):
            assert client.get("/graphs/g/pipelines/runs", params=bad).status_code == 400
        graph.branches.delete(ended.branch)
    for other in ("kim", "ana", "dan"):
        with server.client(TOKENS[other]) as client:
            assert client.get("/graphs/g/pipelines/runs").status_code == 403


def test_admins_maintain_over_http(server: ServerProcess, served: og.RemoteGraph) -> None:
    found = served.check(quick=True)
    assert (found["ok"], found["quick"], found["findings"]) == (True, True, [])
    preview = served.cleanup(keep=50)
    assert preview["confirm"] is False
    assert served.repair()["confirm"] is False
    assert served.ensure_indices() == {"pending": []}
    assert {each["type_key"] for each in served.optimize(message="tidy")["datasets"]} >= {"node:Person", "edge:Knows"}
    with pytest.raises(errors.BadRequest, match="confirm"):
        served.repair(force=True)
    with og.connect(server.url, "g", TOKENS["kim"]) as keeper:
        assert keeper.ensure_indices() == {"pending": []}
        with pytest.raises(errors.PermissionDenied):
            keeper.check()  # which looks at every row
    with og.connect(server.url, "g", TOKENS["ana"]) as reader:
        for refused in (reader.check, reader.optimize, reader.ensure_indices, reader.cleanup, reader.repair):
            with pytest.raises(errors.PermissionDenied):
                refused()

    async def run() -> None:
        async with aio.connect(server.url, "g", TOKENS["root"]) as graph:
            assert (await graph.check(branch="main"))["ok"] is True

    asyncio.run(run())


# --- editors ------------------------------------------------------------------------------------------------


def asked(client: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = client.post("/graphs/g/assist", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_editors_get_findings_completion_meanings_and_the_layout(server: ServerProcess) -> None:
    with server.client(TOKENS["root"]) as client:
        wrong = asked(client, text="query q() { match { $p: Persn } return { $p.name } }")
        assert [(each["severity"], each["line"]) for each in wrong["diagnostics"]] == [("error", 1)]
        place = wrong["diagnostics"][0]["range"]
        assert "query q() { match { $p: Persn } return { $p.name } }"[place["start"] : place["end"]] == "Persn"
        text = "query q() { match { $p: Person } return { $p.n"
        found = asked(client, text=text, want=["complete", "explain"])
        assert [each["text"] for each in found["completion"]["candidates"]] == ["name"]
        assert found["completion"]["replace"] == {"start": len(text) - 1, "end": len(text)}
        emoji = "query q() { // 😀\n match { $p: Pers"
        assert asked(client, text=emoji, want=["complete"], units="utf16")["completion"]["replace"] == {
            "start": len(emoji) - 4 + 1,
            "end": len(emoji) + 1,
        }
        start = asked(client, text="query q() { match { $p: Person } return { $p } }", offset=26, want=["explain"])
        assert "name: String" in start["meaning"]["text"]
        assert asked(client, text="node  A{n:String@key}", language="pg", want=["format", "diagnose"]) == {
            "diagnostics": [],
            "formatted": "node A {\n  n: String @key\n}\n",
        }
        assert asked(client, text="node {", language="pg", want=["format"]) == {"formatted": None}
        for body in (
            {"text": "x" * 300_000},
            {"text": "x", "want": ["guess"]},
            {"text": "x", "offset": -1},
            {"txt": ""},
        ):
            assert client.post("/graphs/g/assist", json=body).status_code == 400


# --- what a reader of parts sees ------------------------------------------------------------------------------


def test_a_reader_of_parts_is_shown_parts(server: ServerProcess) -> None:
    with og.connect(server.url, "g", TOKENS["ana"]) as graph:
        found = graph.describe()
        assert list(found.counts) == ["Person", "Knows"], "WorksAt ends at a hidden type"
        person = found.types[0]
        assert (person.bytes, [(each.name, each.masked) for each in person.declared]) == (
            None,
            [("age", True), ("name", False)],
        )
        assert {each.type_key for each in graph.indexes()} == {"node:Person", "edge:Knows"}
        assert graph.get("Person", "Alice") == {"id": "Alice", "age": None, "name": "Alice"}
        with pytest.raises(errors.NotFound, match="the schema has no type 'Company'"):
            graph.get("Company", "Acme")
        around = graph.neighbours("Person", "Alice")
        assert [(each.edge, each.direction) for each in around.groups] == [("Knows", "out"), ("Knows", "in")]
        assert {(each.node or {})["age"] for each in around.groups[0].neighbours} == {None}
        assert graph.explain(FRIENDS).to_dict()["operators"]
        for refused in (
            lambda: graph.diff("first"),
            lambda: graph.commits.blame("Person", "Alice"),
            lambda: graph.commits.history("Person", "Alice"),
            lambda: graph.commits.history("Company", "Acme"),
            lambda: graph.commits.history("Nothing", "Acme"),
            lambda: graph.schema.plan(SCHEMA),
        ):
            with pytest.raises(errors.PermissionDenied):
                refused()
        assert all("WorksAt" not in each.commit.counts for each in graph.commits.log(every_branch=True))
    with server.client(TOKENS["ana"]) as client:
        found = asked(client, text="query q() { match { $p: ", want=["complete"])
        assert "Company" not in {each["text"] for each in found["completion"]["candidates"]}


def test_rights_are_those_of_the_branch_in_use(server: ServerProcess) -> None:
    with og.connect(server.url, "g", TOKENS["dan"], branch="draft") as graph:
        assert (graph.get("Person", "Bob") or {})["age"] == 26
        assert (graph.get("Person", "Bob", at="HEAD") or {})["age"] == 26
        found = graph.describe()
        assert (found.branches, [each.branch for each in found.divergence]) == (("draft",), ["draft"])
        assert {each.branch for each in found.divergence} == {"draft"}
        refusals = [
            lambda: graph.get("Person", "Bob", branch="main"),
            lambda: graph.get("Person", "Bob", at="HEAD~1"),  # a commit of main
            lambda: graph.describe(at="first"),
            lambda: graph.diff("main"),
            lambda: graph.diff("first"),
            graph.branch("main").commits.log,
            lambda: graph.at("first"),
        ]
        for refused in refusals:
            with pytest.raises(errors.PermissionDenied):
                refused()
        names = {name for each in graph.commits.log("draft", every_branch=True) for name in each.branches}
        assert names == {"draft"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/describe"),
        ("GET", "/indexes"),
        ("GET", "/moment?commit=HEAD"),
        ("GET", "/entities/Person/Alice"),
        ("GET", "/entities/Nothing/x"),
        ("GET", "/entities/Person/Alice/neighbours"),
        ("GET", "/entities/Person/Zoe/neighbours"),
        ("GET", "/entities/Person/Alice/blame"),
        ("GET", "/entities/Person/Alice/history"),
        ("GET", "/diff?from=first"),
        ("GET", "/diff?from=no-such-tag"),
        ("GET", "/log"),
        ("GET", "/log?every_branch=true"),
        ("POST", "/explain"),
        ("POST", "/assist"),
        ("POST", "/schema/plan"),
        ("POST", "/maintenance/check"),
        ("POST", "/maintenance/optimize"),
        ("POST", "/maintenance/indexes"),
        ("POST", "/maintenance/cleanup"),
        ("POST", "/maintenance/repair"),
        ("GET", "/pipelines/runs"),
        ("GET", "/pipelines/runs?pipeline=nightly"),
    ],
)
def test_who_may_not_read_learns_nothing(server: ServerProcess, method: str, path: str) -> None:
    body = {"/explain": {"query": FRIENDS}, "/assist": {"text": "x"}, "/schema/plan": {"schema_source": SCHEMA}}.get(
        path
    )
    with server.client(TOKENS["eve"]) as client:
        answer = client.request(method, f"/graphs/g{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text
    with server.client() as client:
        assert client.request(method, f"/graphs/g{path}", json=body).status_code == 401
