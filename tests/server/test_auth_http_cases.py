"""The numbered cases of authentication, policy and admission that are about requests, against real server processes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import jwt
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from graph_api import Api
from jwt.algorithms import ECAlgorithm
from served_people import ADD, STORED, copies

import omnigraph as og
from omnigraph.errors import PermissionDenied
from omnigraph.policy.actions import Action
from omnigraph.policy.bundle import parse_bundle
from omnigraph.policy.engine import PolicyEngine, PolicyRequest
from omnigraph.policy.oidc import AUDIENCE, GROUPS_CLAIM, ISSUER, JWKS
from omnigraph.server.admission import Admission, Caps
from omnigraph.server.http.refusal import Refusal
from server_process import ServerProcess, serving

TEAM = ("ada", "bob", "root", "zed", "inv", "invread", "invchange", "forker", "changer")
TOKENS = {actor: f"token-of-{actor}" for actor in TEAM}
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


def allowing(*rules: tuple[str, str, str]) -> str:
    """A bundle: (actor, actions, scope) per rule; main is protected."""
    lines = ["version: 1", "protected_branches: [main]", "groups:"]
    lines += [f"  g{n}: [{actor}]" for n, (actor, _, _) in enumerate(rules)]
    lines.append("rules:")
    for n, (_, actions, scope) in enumerate(rules):
        limit = f", {scope}" if scope else ""
        lines.append(f"  - {{id: r{n}, allow: {{actors: {{group: g{n}}}, actions: [{actions}]{limit}}}}}")
    return "\n".join(lines)


POLICIES = {
    "p1": P1,
    "merging": P1,
    "parity": P1,
    "readable": allowing(("ada", "read", "")),
    "protected": allowing(("ada", "read", "branch_scope: protected"), ("root", "read, change", "")),
    "unprotected": allowing(("ada", "read, export, change", "branch_scope: unprotected")),
    "forks": allowing(
        ("forker", "branch_create", ""), ("changer", "change", ""), ("root", "branch_create, change, read", "")
    ),
    "stored": allowing(
        ("inv", "invoke_query", ""), ("invread", "invoke_query, read", ""), ("invchange", "invoke_query, change", ""),
        ("bob", "read", ""),
    ),
    "rules": allowing(
        ("ada", "read, export", "types: [Person, Knows, Document], mask: {Person: [age], Document: [content]}"),
        ("ada", "invoke_query, change, branch_merge", ""), ("root", "read, export, change", ""),
    ),
    "keeper": allowing(("root", "branch_merge, branch_create, change, read", "")),
    "busy": allowing(("ada", "change, read", ""), ("bob", "change", ""), ("zed", "read", "")),
}  # fmt: skip
SERVER = allowing(("root", "graph_list", ""))
QUERIES = {
    **STORED,
    "employers": "query employers() { match { $c: Company } return { $c.name } }",
    "hired": "query hired() { match { $p: Person  $p worksAt $c } return { $c.name } }",
    "found": "query found($name: String) { insert Company { name: $name } }",
}
HIDDEN = ("employers", "hired", "found")


def case(*numbers: int) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(f"auth-{n}", id=f"auth-{n}") for n in numbers])


@pytest.fixture(scope="module")
def places(template: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    found = copies(template, tmp_path_factory.mktemp("auth"), list(POLICIES))
    for name in ("p1", "merging", "parity", "protected", "unprotected", "forks", "keeper"):
        with og.open(found[name]) as graph:
            graph.branches.create("feature")
            graph.mutate(ADD, params={"name": "Eve"}, branch="feature")
    return found


@pytest.fixture(scope="module")
def provider_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def provider(provider_key: ec.EllipticCurvePrivateKey, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An identity provider whose tokens claim groups."""
    key = {**json.loads(ECAlgorithm.to_jwk(provider_key.public_key())), "kid": "one", "use": "sig", "alg": "ES256"}
    jwks = tmp_path_factory.mktemp("provider") / "jwks.json"
    jwks.write_text(json.dumps({"keys": [key]}))
    return {ISSUER: "https://id.example.org", AUDIENCE: "omnigraph", JWKS: str(jwks), GROUPS_CLAIM: "groups"}


@pytest.fixture(scope="module")
def server(places: dict[str, str], provider: dict[str, str]) -> Iterator[ServerProcess]:
    graphs = {name: {"uri": uri, "queries": QUERIES, "policy": POLICIES[name]} for name, uri in places.items()}
    environ = {
        "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "1",
        "OMNIGRAPH_FAILPOINTS": "mutation.post_stage_pre_gate=sleep:0.3",
        **provider,
    }
    with serving({"graphs": graphs, "server_policy": SERVER, "tokens": TOKENS}, environ) as found:
        yield found


@pytest.fixture(scope="module")
def as_(server: ServerProcess) -> Iterator[Any]:
    clients = {actor: server.client(token) for actor, token in TOKENS.items()}
    yield lambda actor, graph="p1": Api(clients[actor], graph)
    for client in clients.values():
        client.close()


@pytest.fixture(scope="module")
def deny_server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Tokens, but no policy anywhere."""
    uri = copies(template, tmp_path_factory.mktemp("deny"), ["g"])["g"]
    with serving({"graphs": {"g": {"uri": uri, "queries": STORED}}, "tokens": {"ada": "t"}}) as found:
        yield found


def refused(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    codes = {401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "too_many_requests"}
    assert answer.json()["code"] == codes[status]
    return str(answer.json()["error"])


# --- who --------------------------------------------------------------------------------------


@case(10)
@pytest.mark.parametrize(
    "header",
    [None, "Basic x", "Bearer wrong", "Bearer", "Bearer  token-of-ada", "token-of-ada", "Bearer\ttoken-of-ada"],
)
def test_only_a_known_token_gets_in(server: ServerProcess, case: str, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    refused(server.get("/graphs/p1/snapshot", headers=headers), 401)


@case(10)
def test_the_scheme_may_be_spelled_in_any_case(server: ServerProcess, case: str) -> None:
    answer = server.get("/graphs/p1/snapshot", headers={"Authorization": "bEaReR token-of-ada"})
    assert answer.status_code == 200


@case(11)
def test_nothing_but_the_token_says_who_it_is(as_: Any, case: str) -> None:
    ada, bob = as_("ada", "readable"), as_("bob", "readable")
    for name in ("X-Actor-Id", "X-Omnigraph-Actor", "Actor"):
        assert ada.get("/snapshot", headers={name: "bob"}).status_code == 200
        refused(bob.get("/snapshot", headers={name: "ada"}), 403)
        refused(bob.get("/snapshot", headers={name: ""}), 403)
    refused(bob.get("/snapshot", params={"branch": "main"}, headers={"X-Actor-Id": "ada"}), 403)


@case(31)
def test_a_token_without_a_group_is_an_unknown_actor(as_: Any, case: str) -> None:
    assert "unknown actor 'zed'" in refused(as_("zed").get("/snapshot"), 403)


# --- states -------------------------------------------------------------------------------------


@case(12)
def test_default_deny_only_reads(deny_server: ServerProcess, case: str) -> None:
    with deny_server.client("t") as client:
        api = Api(client, "g")
        assert api.get("/snapshot").status_code == 200
        assert "default-deny" in refused(api.mutate(ADD, params={"name": "X"}), 403)
        assert "default-deny" in refused(api.post("/schema/apply", {"schema_source": "node X { a: String @key }"}), 403)


@case(13)
def test_default_deny_hides_stored_queries(deny_server: ServerProcess, case: str) -> None:
    with deny_server.client("t") as client:
        api = Api(client, "g")
        assert api.post("/queries/everybody").content == api.post("/queries/unknown").content
        refused(api.post("/queries/everybody"), 404)


@case(14)
def test_an_open_server_does_not_tell_its_graphs(open_server: ServerProcess, case: str) -> None:
    refused(open_server.get("/graphs"), 403)


@case(15)
def test_graphs_are_listed_to_those_named(server: ServerProcess, as_: Any, case: str) -> None:
    listed = as_("root").client.get("/graphs").json()["graphs"]
    assert [graph["graph_id"] for graph in listed] == sorted(POLICIES)
    refused(as_("bob").client.get("/graphs"), 403)
    refused(server.get("/graphs"), 401)


# --- decisions at the boundary --------------------------------------------------------------------


@case(16)
def test_reading_is_not_exporting(as_: Any, case: str) -> None:
    bob = as_("bob")
    assert bob.get("/snapshot", params={"branch": "main"}).status_code == 200
    assert "export" in refused(bob.post("/export", {"branch": "main"}), 403)
    assert as_("root").post("/export", {"branch": "main"}).status_code == 200


@case(17)
def test_a_protected_branch_is_not_changed(as_: Any, case: str) -> None:
    bob = as_("bob")
    refused(bob.mutate(ADD, params={"name": "X1"}, branch="main"), 403)
    assert bob.mutate(ADD, params={"name": "X1"}, branch="feature").status_code == 200


@case(18)
def test_only_admins_merge_into_main(as_: Any, case: str) -> None:
    body = {"source": "feature", "target": "main"}
    refused(as_("bob", "merging").post("/branches/merge", body), 403)
    answer = as_("root", "merging").post("/branches/merge", body)
    assert (answer.status_code, answer.json()["actor_id"]) == (200, "root")


@case(20)
def test_deleting_a_branch_is_a_right_of_its_own(as_: Any, case: str) -> None:
    assert "branch_delete" in refused(as_("bob").delete("/branches/feature"), 403)


@case(21)
def test_the_default_branch_is_judged_as_main(as_: Any, case: str) -> None:
    ada = as_("ada", "protected")
    assert ada.get("/commits").status_code == 200
    assert ada.get("/commits").json() == ada.get("/commits", params={"branch": "main"}).json()
    refused(ada.get("/commits", params={"branch": "feature"}), 403)


@case(22)
def test_a_scoped_rule_does_not_cover_requests_without_a_branch(as_: Any, case: str) -> None:
    ada = as_("ada", "protected")
    commit = ada.get("/commits").json()["commits"][0]["graph_commit_id"]
    for suffix in ("/schema", "/branches", f"/commits/{commit}"):
        refused(ada.get(suffix), 403)


@case(23)
def test_a_snapshot_is_judged_by_the_branch_it_belongs_to(as_: Any, case: str) -> None:
    ada, bob = as_("ada", "protected"), as_("bob", "protected")
    commit = ada.get("/commits").json()["commits"][0]["graph_commit_id"]
    everybody = "query q() { match { $p: Person } return { $p.name } }"
    assert ada.query(everybody, snapshot=commit).status_code == 200
    blob = {"entity": "node", "type": "Document", "id": "hello", "property": "content", "snapshot": commit}
    assert ada.get("/blob", params=blob).status_code == 200
    refused(bob.get("/blob", params=blob), 403)
    refused(bob.query(everybody, snapshot=commit), 403)
    root = as_("root", "protected")
    hidden = root.get("/commits", params={"branch": "feature"}).json()["commits"][0]["graph_commit_id"]
    assert ada.query(everybody, snapshot=hidden).status_code in (403, 404)


@case(24)
def test_a_hidden_commit_looks_like_none(as_: Any, case: str) -> None:
    root, ada = as_("root", "protected"), as_("ada", "protected")
    hidden = root.get("/commits", params={"branch": "feature"}).json()["commits"][0]["graph_commit_id"]
    unknown = "01J00000000000000000000000"
    assert root.get(f"/commits/{hidden}/changes").status_code == 200
    assert refused(ada.get(f"/commits/{hidden}/changes"), 404).replace(hidden, "x") == (
        refused(ada.get(f"/commits/{unknown}/changes"), 404).replace(unknown, "x")
    )


@case(25)
def test_spaces_do_not_unprotect_a_branch(as_: Any, case: str) -> None:
    ada = as_("ada", "unprotected")
    refused(ada.client.get(ada.path("/changes?branch=%20main%20")), 403)
    refused(ada.post("/changes/baseline", {"branch": " main "}), 403)
    refused(ada.mutate(ADD, params={"name": "X"}, branch=" main "), 403)
    refused(ada.query("query q() { match { $p: Person } return { $p.name } }", branch="main\t"), 403)
    assert ada.mutate(ADD, params={"name": "X"}, branch=" feature ").status_code == 200


@case(26)
def test_forking_by_load_needs_both_rights(as_: Any, case: str) -> None:
    body = {"branch": "new", "from": "main", "mode": "merge", "data": '{"type":"Person","data":{"name":"Zoe"}}\n'}
    refused(as_("bob").post("/load", {**body, "branch": "fresh"}), 403)
    refused(as_("forker", "forks").post("/load", body), 403)
    refused(as_("changer", "forks").post("/load", body), 403)
    assert as_("root", "forks").get("/branches").json()["branches"] == ["feature", "main"]


@case(27)
def test_loading_into_an_existing_branch_forks_nothing(as_: Any, case: str) -> None:
    body = {"branch": "feature", "from": "main", "mode": "merge", "data": '{"type":"Person","data":{"name":"Zoe"}}\n'}
    assert as_("changer", "forks").post("/load", body).status_code == 200


@case(28)
def test_a_stored_mutation_needs_the_right_to_change_too(as_: Any, case: str) -> None:
    body = {"params": {"name": "Stored", "age": 1}}
    refused(as_("invread", "stored").post("/queries/add", body), 403)
    assert as_("invchange", "stored").post("/queries/add", body).status_code == 200


@case(29)
def test_a_stored_read_needs_the_right_to_read_too(as_: Any, case: str) -> None:
    inv = as_("inv", "stored")
    refused(inv.post("/queries/everybody"), 403)
    refused(inv.post("/queries/unknown"), 404)
    assert as_("invread", "stored").post("/queries/everybody").status_code == 200


@case(30)
def test_the_catalog_is_for_readers(as_: Any, case: str) -> None:
    listed = as_("bob", "stored").get("/queries")
    assert listed.status_code == 200
    assert {query["name"] for query in listed.json()["queries"]} == set(QUERIES)


@case(32)
def test_a_merge_stands_when_its_branch_may_not_be_deleted(as_: Any, case: str) -> None:
    root = as_("root", "keeper")
    answer = root.post("/branches/merge", {"source": "feature", "target": "main", "delete_branch": True})
    assert answer.status_code == 200
    assert answer.json()["branch_deleted"] is False
    assert "branch_delete" in answer.json()["branch_delete_error"]
    assert "feature" in root.get("/branches").json()["branches"]


@case(45)
def test_commits_name_their_actor(as_: Any, case: str) -> None:
    ada = as_("ada")
    assert ada.mutate(ADD, params={"name": "Ada2"}, branch="feature").status_code == 200
    assert ada.get("/commits", params={"branch": "feature"}).json()["commits"][0]["actor_id"] == "ada"


# --- the same decision twice ------------------------------------------------------------------------


@case(40)
def test_what_decides_at_the_door_decides_in_the_engine(template: Path, tmp_path: Path, case: str) -> None:
    from omnigraph.server.process.deployment import ServedGraph

    uri = copies(template, tmp_path, ["g"])["g"]
    served = ServedGraph("g", og.open(uri, policy=PolicyEngine(parse_bundle(P1, "p1"), "g")))
    inside = served.acting("bob")
    assert inside.policy is served.policy
    with pytest.raises(PermissionDenied, match="policy denied action 'change' on branch 'main'"):
        inside.mutate(ADD, params={"name": "X"})
    inside.close()


@case(49)
@pytest.mark.parametrize("actor", ["bob", "root"])
def test_both_doors_decide_alike(as_: Any, places: dict[str, str], case: str, actor: str) -> None:
    engine = PolicyEngine(parse_bundle(P1, "p1"), "parity")
    api = as_(actor, "parity")
    for branch in ("main", "feature"):
        wanted = engine.decide(actor, PolicyRequest(Action.CHANGE, branch))
        answer = api.mutate(ADD, params={"name": f"{actor}-{branch}"}, branch=branch)
        assert answer.status_code == (200 if wanted.allowed else 403)
        assert wanted.allowed or answer.json()["error"] == wanted.message
        with og.open(places["parity"], actor=actor, policy=engine) as graph:
            if wanted.allowed:
                graph.mutate(ADD, params={"name": f"{actor}-{branch}-2"}, branch=branch)
            else:
                with pytest.raises(PermissionDenied, match=f"on branch '{branch}'"):
                    graph.mutate(ADD, params={"name": "X"}, branch=branch)
    merge = engine.decide(actor, PolicyRequest(Action.BRANCH_MERGE, "feature", "main"))
    answer = api.post("/branches/merge", {"source": "feature", "target": "main"})
    assert answer.status_code == (200 if merge.allowed else 403)


# --- groups that a token claims ----------------------------------------------------------------------


def test_a_token_brings_its_groups_along(server: ServerProcess, provider_key: ec.EllipticCurvePrivateKey) -> None:
    def ask(*groups: str, graph: str = "p1") -> Api:
        claims = {"iss": "https://id.example.org", "aud": "omnigraph", "sub": "guest", "exp": int(time.time()) + 600}
        token = jwt.encode({**claims, "groups": groups}, provider_key, "ES256", headers={"kid": "one"})
        return Api(clients.enter_context(server.client(token)), graph)

    with ExitStack() as clients:
        assert "unknown actor 'guest'" in refused(ask().get("/branches"), 403)
        assert "unknown actor 'guest'" in refused(ask("no-such-group").get("/branches"), 403)
        team, admin = ask("team", "no-such-group"), ask("team", "admins")
        assert team.get("/branches").status_code == 200
        refused(team.post("/export", {}), 403)
        assert admin.post("/export", {}).status_code == 200
        written = team.mutate(ADD, params={"name": "Guest"}, branch="feature")
        assert (written.status_code, written.json()["actor_id"]) == (200, "guest"), written.text
        refused(team.mutate(ADD, params={"name": "Guest"}), 403)
        assert "unknown actor 'guest'" in refused(ask().get("/branches"), 403), "rights end with the token"
        assert ask("g0").client.get("/graphs").status_code == 200, "the server's own policy has groups too"
        assert team.client.get("/graphs").status_code == 403
        seen = ask("g0", graph="rules").rows("query q() { match { $p: Person } return { $p.age } }")
        assert {row["p.age"] for row in seen} == {None}, "rules for parts of the graph hold for claimed groups"


# --- reading in part ---------------------------------------------------------------------------------


def test_a_reader_of_parts_finds_no_way_around(as_: Any, places: dict[str, str]) -> None:
    root, ada = as_("root", "rules"), as_("ada", "rules")
    ages = "query ages() { match { $p: Person } return { $p.name, $p.age } order { $p.name asc } }"
    assert [row["p.age"] for row in root.rows(ages)] == [30, 25, 41, None]
    assert [row["p.age"] for row in ada.rows(ages)] == [None] * 4
    old = "query old() { match { $p: Person  $p.age > 1 } return { count($p) as n } }"
    assert root.rows(old) == [{"n": 3}]
    assert ada.rows(old) == [{"n": 0}]
    for hidden in ("Company", "Kompany"):
        answer = ada.query(f"query c() {{ match {{ $c: {hidden} }} return {{ count($c) as n }} }}")
        assert answer.status_code == 400
        assert answer.json()["error"].replace(hidden, "") == (
            ada.query("query c() { match { $c: Nothing } return { count($c) as n } }")
            .json()["error"]
            .replace("Nothing", "")
        )
    text = ada.post("/export", {"branch": "main"}).text
    assert '"Alice"' in text
    told = [
        {**row, "data": {**row["data"], "id": None}}  # ids may have any digits
        for row in map(json.loads, text.splitlines())
    ]
    for secret in ("Acme", "Globex", "30", "41", "SGVsbG8"):
        assert secret not in json.dumps(told)
    assert ada.post("/export", {"branch": "main", "type_names": ["Company"]}).status_code == 400
    assert "Company" not in ada.get("/snapshot").text
    assert "Company" in root.get("/snapshot").text
    commit = root.head()
    for suffix in ("/schema", "/changes?start=beginning", f"/commits/{commit}/changes", "/changes/stream"):
        assert ada.get(suffix).status_code == 403, suffix
        assert "Company" not in ada.get(suffix).text
    assert ada.post("/changes/baseline", {"branch": "main"}).status_code == 403
    blob = {"entity": "node", "type": "Document", "id": "hello", "property": "content"}
    assert root.get("/blob", params=blob).status_code == 200
    assert ada.get("/blob", params=blob).status_code == 404
    assert ada.get("/blob", params={**blob, "type": "Company", "id": "Acme"}).status_code == 400
    assert ada.query(ages, snapshot=commit).json()["rows"][0]["p.age"] is None
    lines = ada.post("/query", {"query": ages}, headers={"Accept": "application/x-ndjson"}).text
    assert [json.loads(line)["p.age"] for line in lines.splitlines()] == [None] * 4
    arrow = ada.post("/query", {"query": ages}, headers={"Accept": "application/vnd.apache.arrow.stream"}).content
    assert pa.ipc.open_stream(arrow).read_all()["p.age"].null_count == 4
    refused(ada.mutate(ADD, params={"name": "Probe"}), 403)
    refused(ada.post("/queries/add", {"params": {"name": "Probe"}}), 403)
    assert ada.post("/queries/everybody").status_code == 200


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="as it is"),
        pytest.param({"expect_mutation": True}, id="as a mutation"),
        pytest.param({"expect_mutation": False}, id="as a read"),
        pytest.param({"params": {"nothing": 1}}, id="with a wrong parameter"),
        pytest.param({"branch": "nowhere"}, id="on a missing branch"),
        pytest.param({"branch": "no good name"}, id="on a malformed branch"),
        pytest.param({"snapshot": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, id="at a missing commit"),
    ],
)
def test_a_stored_query_about_a_hidden_type_does_not_exist(as_: Any, name: str, body: dict[str, Any]) -> None:
    ada = as_("ada", "rules")
    hidden, unknown = ada.post(f"/queries/{name}", body), ada.post("/queries/lost", body)
    assert (hidden.status_code, hidden.content) == (404, unknown.content)
    condition = {"Omnigraph-If-Graph-Commit": as_("root", "rules").head()}
    hidden = ada.client.post(f"/graphs/rules/queries/{name}/if-graph-commit", json=body, headers=condition)
    assert (hidden.status_code, hidden.content) == (404, unknown.content)


def test_a_reader_of_parts_is_told_of_the_queries_it_could_know(as_: Any) -> None:
    def listed(actor: str) -> list[str]:
        return [query["name"] for query in as_(actor, "rules").get("/queries").json()["queries"]]

    assert listed("root") == sorted(QUERIES)
    assert listed("ada") == sorted(STORED)
    assert as_("invread", "stored").post("/queries/employers").json()["row_count"] == 2


def test_an_agent_of_a_reader_of_parts_gets_its_tools_only(as_: Any) -> None:
    ada = as_("ada", "rules")

    def told(method: str, **params: Any) -> str:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        accept = {"Accept": "application/json, text/event-stream"}
        answer = ada.client.post("/graphs/rules/mcp", json=message, headers=accept)
        assert answer.status_code == 200, answer.text
        return answer.text

    tools = told("tools/list")
    assert '"everybody"' in tools
    for name in (*HIDDEN, "Company"):
        assert name not in tools
    lost = told("tools/call", name="lost", arguments={})
    assert "stored query not found" in lost
    for name in HIDDEN:
        assert told("tools/call", name=name, arguments={}) == lost
    assert "Company" not in told("resources/read", uri="omnigraph://schema")


@pytest.mark.parametrize("suffix", ["/changes?start=now&type={}", "/blob?entity=node&type={}&id=Acme&property=name"])
def test_a_hidden_type_and_an_unknown_one_get_one_answer(as_: Any, suffix: str) -> None:
    ada = as_("ada", "rules")
    hidden, unknown = ada.get(suffix.format("Company")), ada.get(suffix.format("Nothing"))
    assert hidden.status_code == unknown.status_code
    assert hidden.text.replace("Company", "Nothing") == unknown.text
    for path, member in (("/export", "type_names"), ("/changes/baseline", "type")):
        hidden, unknown = ada.post(path, {member: ["Company"]}), ada.post(path, {member: ["Nothing"]})
        assert (hidden.status_code, unknown.status_code) == (400, 400)
        assert hidden.text.replace("Company", "Nothing") == unknown.text
    assert "Company" not in ada.get("/branches").text + ada.get("/commits").text


# --- admission ---------------------------------------------------------------------------------------


@case(41)
def test_one_actor_cannot_crowd_out_another(as_: Any, case: str) -> None:
    ada, bob = as_("ada", "busy"), as_("bob", "busy")

    def write(api: Api, name: str) -> httpx.Response:
        return api.mutate(ADD, params={"name": name})

    with ThreadPoolExecutor(9) as pool:
        crowd = [pool.submit(write, ada, f"crowd{n}") for n in range(8)]
        other = pool.submit(write, bob, "other")
        answers = [done.result() for done in crowd]
    rejected = [answer for answer in answers if answer.status_code == 429]
    assert rejected
    assert {answer.status_code for answer in answers} <= {200, 429}
    assert rejected[0].json()["code"] == "too_many_requests"
    assert rejected[0].headers["retry-after"] == "60"
    assert other.result().status_code == 200


@case(42)
def test_bytes_in_flight_are_counted_per_actor(case: str) -> None:
    admission = Admission(Caps(inflight=16, bytes=1000))
    with admission.admit("ada", 600):
        with pytest.raises(Refusal) as full, admission.admit("ada", 600):
            pass
        assert full.value.status == 429
        with admission.admit("ada", 300), admission.admit("bob", 1000):
            assert admission.held("ada") == (2, 900)
        with admission.admit("ada", 400):
            pass
    assert admission.held("ada") == (0, 0)


@case(43)
def test_exactly_as_many_as_the_cap_get_in(case: str) -> None:
    admission = Admission(Caps(inflight=16))
    inside, rejected = [], 0
    for _ in range(32):
        place = admission.admit("ada", 1)
        try:
            place.__enter__()
        except Refusal:
            rejected += 1
        else:
            inside.append(place)
    assert (len(inside), rejected) == (16, 16)
    for place in inside:
        place.__exit__(None, None, None)
    assert admission.held("ada") == (0, 0)


@case(44)
def test_a_denied_request_takes_no_place(as_: Any, case: str) -> None:
    ada = as_("ada", "p1")
    started = threading.Event()

    def hold() -> httpx.Response:
        started.set()
        return ada.mutate(ADD, params={"name": "Held"}, branch="feature")

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(hold)
        started.wait()
        denied = [ada.mutate(ADD, params={"name": "X"}, branch="main") for _ in range(5)]
        assert held.result().status_code == 200
    assert {answer.status_code for answer in denied} == {403}
