"""The numbered cases of the HTTP API, against a real server process on loopback."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from graph_api import Api
from served_people import ADD, AGE, COUNT, FIND, combinations

from server_process import PATIENCE, ServerProcess, eventually

PRECONDITION = "Omnigraph-If-Graph-Commit"
CURSOR = "change cursor rejected: "


def case(*numbers: int) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=f"http-{number}") for number in numbers])


def refused(answer: httpx.Response, status: int, code: str | None = None) -> dict[str, Any]:
    """The envelope of a refusal, after checking its form."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert isinstance(body["error"], str)
    assert body["error"]
    assert body.get("code") == code
    return dict(body)


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines()]


# --- routing --------------------------------------------------------------------------------


@case(2)
def test_a_graph_route_without_its_prefix_does_not_exist(client: httpx.Client, case: int) -> None:
    refused(client.get("/snapshot?branch=main"), 404, "not_found")
    refused(client.get("/graphs/default/branches/"), 404, "not_found")


@case(4, 5)
def test_graph_ids_are_checked_and_looked_up(client: httpx.Client, case: int) -> None:
    assert refused(client.get("/graphs/nope/branches"), 404, "not_found")["error"] == "graph 'nope' not found"
    refused(client.get("/graphs/bad_id/branches"), 400, "bad_request")
    refused(client.get(f"/graphs/{'a' * 65}/branches"), 400, "bad_request")
    refused(client.get("/graphs/policies/branches"), 400, "bad_request")


def test_a_wrong_method_is_told_which_ones_there_are(client: httpx.Client) -> None:
    answer = client.post("/graphs", json={})
    refused(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD"
    refused(client.delete("/graphs/default"), 404, "not_found")
    assert client.put("/graphs/default/branches/merge").headers["allow"] == "DELETE, POST"


def test_every_get_answers_head_with_the_same_headers(shared: Api) -> None:
    for suffix in ("/branches", "/snapshot", "/schema", "/commits", "/queries"):
        got, head = shared.get(suffix), shared.client.head(shared.path(suffix))
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == got.headers["content-length"]
        assert head.headers["content-type"] == got.headers["content-type"]
    missing = shared.client.head("/graphs/nope/branches")
    assert (missing.status_code, missing.content) == (404, b"")


def test_a_request_id_comes_back_and_is_made_up_when_it_is_missing(shared: Api) -> None:
    assert shared.get("/branches", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
    made = shared.get("/branches").headers["x-request-id"]
    assert len(made) == 26
    assert shared.get("/branches", headers={"X-Request-Id": "x" * 500}).headers["x-request-id"] != "x" * 500


# --- queries --------------------------------------------------------------------------------


@case(6)
def test_a_query_answers_rows_and_the_commit_they_were_read_at(shared: Api, case: int) -> None:
    answer = shared.query(FIND, params={"name": "Alice"})
    assert answer.status_code == 200
    assert answer.json() == {
        "query_name": "find",
        "target": {"branch": "main", "snapshot": None},
        "row_count": 1,
        "columns": ["p.name"],
        "rows": [{"p.name": "Alice"}],
        "graph_commit_id": shared.head(),
    }
    assert "deprecation" not in answer.headers


@case(7)
def test_a_mutation_sent_as_a_query_is_pointed_to_the_right_route(shared: Api, case: int) -> None:
    error = refused(shared.query(ADD, params={"name": "X"}), 400, "bad_request")["error"]
    assert "mutations" in error
    assert "/mutate" in error


@case(8)
def test_a_branch_and_a_snapshot_exclude_each_other(shared: Api, case: int) -> None:
    refused(shared.query(FIND, params={"name": "A"}, branch="main", snapshot=shared.head()), 400, "bad_request")


@case(9, 12, 17, 32)
@pytest.mark.parametrize("route", ["/read", "/change", "/ingest"])
def test_deprecated_routes_do_not_exist(shared: Api, case: int, route: str) -> None:
    refused(shared.post(route, {"query_source": FIND, "query_name": "find"}), 404, "not_found")


@case(9)
def test_the_answer_of_a_query_has_fixed_bytes(shared: Api, case: int) -> None:
    text = 'query q() { match { $p: Person { name: "Alice" } } return { $p.name } }'
    head = b'{"query_name":"q","target":{"branch":"main","snapshot":null},"row_count":1,"columns":["p.name"],'
    rows = b'"rows":[{"p.name":"Alice"}],"graph_commit_id":"' + shared.head().encode() + b'"}'
    assert shared.query(text).content == head + rows


@case(10)
def test_a_name_that_the_text_does_not_declare_is_refused(shared: Api, case: int) -> None:
    refused(shared.query(FIND, name="lost"), 400, "bad_request")
    refused(shared.query(FIND + COUNT), 400, "bad_request")
    assert shared.query(FIND + COUNT, name="total").json()["rows"] == [{"n": 4}]


@case(11)
def test_a_parameter_of_another_type_is_named(shared: Api, case: int) -> None:
    assert "'name'" in refused(shared.query(FIND, params={"name": 123}), 400, "bad_request")["error"]
    refused(shared.post("/query", {"query": FIND, "params": [1]}), 400, "bad_request")


@case(12)
def test_a_body_over_a_mebibyte_is_refused(shared: Api, case: int) -> None:
    refused(shared.query("x" * 1_100_000), 413, "bad_request")


@case(13)
def test_a_body_that_claims_to_be_no_json_is_refused(shared: Api, case: int) -> None:
    answer = shared.client.post(shared.path("/query"), content=b"{}", headers={"content-type": "text/plain"})
    refused(answer, 415, "bad_request")
    plus = {"content-type": "application/ld+json; charset=utf-8"}
    body = json.dumps({"query": COUNT}).encode()
    assert shared.client.post(shared.path("/query"), content=body, headers=plus).status_code == 200


BAD_BODIES = [
    pytest.param(b'{"query":1}', id="a number for a text"),
    pytest.param(b"{}", id="nothing"),
    pytest.param(b"[]", id="an array"),
    pytest.param(b'{"query":"x","query":"y"}', id="a member twice"),
    pytest.param(b'{"query":"x","params":{"a":1,"a":2}}', id="a nested member twice"),
    pytest.param(b'{"query":"x","params":{"a":NaN}}', id="NaN"),
    pytest.param(b'{"query":"\xff"}', id="not UTF-8"),
    pytest.param(b'{"query":"\\ud800"}', id="half a character"),
    pytest.param(b'{"query":', id="cut off"),
    pytest.param(b"[" * 100_000, id="very deep"),
    pytest.param(b'{"query":"x","params":{"a":' + b"9" * 5_000 + b"}}", id="a very long number"),
]


@case(14)
@pytest.mark.parametrize("body", BAD_BODIES)
def test_a_body_of_the_wrong_shape_is_refused(shared: Api, case: int, body: bytes) -> None:
    answer = shared.client.post(shared.path("/query"), content=body, headers={"content-type": "application/json"})
    refused(answer, 400, "bad_request")


@case(25)
def test_a_snapshot_lists_datasets_edges_first(shared: Api, case: int) -> None:
    body = shared.get("/snapshot", params={"branch": "main"}).json()
    found = {(each["entity_kind"], each["type_name"]): each for each in body["datasets"]}
    assert list(found) == sorted(found)
    assert found["node", "Person"]["entity_count"] == 4
    assert found["node", "Person"]["native_dataset_branch"] is None
    assert found["edge", "Knows"]["entity_count"] == 3
    assert (body["graph_branch"], body["internal_schema_version"]) == ("main", 4)
    refused(shared.get("/snapshot", params={"branch": "missing"}), 404, "not_found")
    refused(shared.get("/snapshot?branch=%20"), 400, "bad_request")


def test_a_read_can_look_at_the_past(api: Api) -> None:
    before = api.head()
    api.mutate(ADD, params={"name": "Eve"})
    answer = api.query(COUNT, snapshot=before).json()
    assert answer["rows"] == [{"n": 4}]
    assert answer["target"] == {"branch": None, "snapshot": before}
    assert answer["graph_commit_id"] == before
    refused(api.query(COUNT, snapshot="01ARZ3NDEKTSV4RRFFQ69G5FAV"), 404, "not_found")


# --- writes ---------------------------------------------------------------------------------


@case(15)
def test_a_mutation_answers_the_commit_that_history_shows(api: Api, case: int) -> None:
    body = api.mutate(ADD, params={"name": "Eve", "age": 5}).json()
    assert (body["affected_nodes"], body["affected_edges"], body["branch"]) == (1, 0, "main")
    assert body["commit"] == api.get(f"/commits/{body['commit']['graph_commit_id']}").json()
    assert body["commit"]["graph_branch"] is None


@case(16)
def test_a_mutation_that_touches_nothing_makes_no_commit(api: Api, case: int) -> None:
    body = api.mutate(AGE, params={"name": "Nobody", "age": 1}).json()
    assert (body["affected_nodes"], body["commit"]) == (0, None)


@case(17)
def test_former_field_names_are_not_understood(api: Api, case: int) -> None:
    refused(api.post("/mutate", {"query_source": ADD, "query_name": "add"}), 400, "bad_request")


@case(18)
def test_a_plain_mutation_refuses_a_condition_it_would_ignore(api: Api, case: int) -> None:
    head = api.head()
    answer = api.post("/mutate", {"query": ADD, "params": {"name": "X"}}, headers={PRECONDITION: head})
    refused(answer, 400, "bad_request")
    assert api.head() == head


BAD_CONDITIONS = [[], ['W/"x"'], ['"x"'], ["a,b"], ["*"], [""], ["a", "b"]]


@case(19)
@pytest.mark.parametrize("values", BAD_CONDITIONS)
def test_a_condition_is_exactly_one_commit_id(api_for_conditions: Api, case: int, values: list[str]) -> None:
    api = api_for_conditions
    headers = [("content-type", "application/json"), *((PRECONDITION, value) for value in values)]
    body = json.dumps({"query": ADD, "params": {"name": "X"}})
    path = api.path("/mutate/if-graph-commit")
    refused(api.client.post(path, content=body, headers=headers), 400, "bad_request")


@pytest.fixture
def api_for_conditions(client: httpx.Client) -> Api:
    return Api(client, "default")


def conditional(api: Api, commit: str, name: str, branch: str = "main") -> httpx.Response:
    body = {"query": ADD, "params": {"name": name}, "branch": branch}
    return api.post("/mutate/if-graph-commit", body, headers={PRECONDITION: commit})


@case(20, 21)
def test_a_conditional_mutation_compares_the_head(api: Api, case: int) -> None:
    old = api.query(COUNT).json()["graph_commit_id"]
    assert conditional(api, old, "Eve").status_code == 200
    head = api.head()
    body = refused(conditional(api, old, "Fay"), 412)
    assert body["precondition_failure"] == {"expected": old, "actual": head}
    assert api.head() == head


@case(22)
def test_a_fresh_branch_takes_the_inherited_head_as_condition(api: Api, case: int) -> None:
    api.post("/branches", {"name": "fresh"})
    seen = api.query(COUNT, branch="fresh").json()["graph_commit_id"]
    assert seen == api.head("main")
    assert conditional(api, seen, "Eve", "fresh").status_code == 200


@case(23)
def test_concurrent_inserts_all_land(api: Api, open_server: ServerProcess, case: int) -> None:
    def insert(number: int) -> int:
        with open_server.client() as client:
            return Api(client, api.graph).mutate(ADD, params={"name": f"n{number}"}).status_code

    with ThreadPoolExecutor(12) as pool:
        assert set(pool.map(insert, range(12))) == {200}
    assert api.rows(COUNT) == [{"n": 16}]


# --- loads ----------------------------------------------------------------------------------


def records(*names: str) -> str:
    return "".join(json.dumps({"type": "Person", "data": {"name": name}}) + "\n" for name in names)


def ndjson(
    api: Api, content: Any, query: str = "", kind: str = "application/x-ndjson", **headers: str
) -> httpx.Response:
    path = api.path(f"/load/ndjson{query}")
    return api.client.post(path, content=content, headers={"content-type": kind, **headers})


@case(31)
def test_a_load_into_a_missing_branch_creates_nothing(api: Api, case: int) -> None:
    error = refused(api.post("/load", {"data": records("E"), "branch": "new"}), 404, "not_found")["error"]
    assert "from" in error
    assert api.get("/branches").json() == {"branches": ["main"]}


@case(32)
def test_a_load_can_fork_its_branch(api: Api, case: int) -> None:
    body = api.post("/load", {"data": records("E", "F"), "branch": "new", "from": "main"}).json()
    assert (body["branch_created"], body["base_branch"], body["mode"]) == (True, "main", "merge")
    assert body["nodes"] == [{"name": "Person", "entities_loaded": 2}]
    assert body["edges"] == []
    assert body["total_entities"] == 2
    assert body["commit"]["graph_branch"] == "new"
    assert body["uri"].endswith(f"{api.graph}.omni")


@case(33)
def test_a_load_into_an_existing_branch_only_echoes_its_base(api: Api, case: int) -> None:
    api.post("/branches", {"name": "there"})
    body = api.post("/load", {"data": records("E"), "branch": "there", "from": "nowhere"}).json()
    assert (body["branch_created"], body["base_branch"]) == (False, "nowhere")


def test_records_in_an_envelope_may_be_spread_over_lines(api: Api) -> None:
    pretty = "\n\n".join(json.dumps({"type": "Person", "data": {"name": name}}, indent=2) for name in ("E", "F"))
    assert api.post("/load", {"data": pretty}).json()["total_entities"] == 2
    broken = '{"type":"Person",\n "data":{"name":"G"}}\n{"type":"Nobody",\n"data":{}}'
    assert "line 3" in refused(api.post("/load", {"data": broken}), 400, "bad_request")["error"]


@case(34)
def test_a_batch_of_lines_is_one_commit(api: Api, case: int) -> None:
    before = len(api.get("/commits").json()["commits"])
    batch = [
        {"type": "Person", "data": {"name": "Eve"}},
        {"type": "Company", "data": {"name": "Initech"}},
        {"edge": "WorksAt", "from": "Eve", "to": "Initech"},
    ]
    content = "\n".join(json.dumps(record) for record in batch).encode()
    body = ndjson(api, content, "?mode=append", "Application/X-NDJSON; charset=utf-8").json()
    assert body["total_entities"] == 3
    assert [count["name"] for count in body["nodes"]] == ["Company", "Person"]
    assert [count["name"] for count in body["edges"]] == ["WorksAt"]
    assert body["commit"]["graph_branch"] is None
    assert "uri" not in body
    assert len(api.get("/commits").json()["commits"]) == before + 1


@case(35, 39)
@pytest.mark.parametrize(
    "second",
    [
        "not-json",
        '{"type":"Person","type":"Person","data":{"name":"X"}}',
        '{"type":"Person","data":{"name":"X","name":"Y"}}',
        '{"type":"Person","data":{"name":"X","_rowid":1}}',
        '{"type":"Person","data":{"name":"X"},"extra":1}',
        "[]",
    ],
)
def test_a_bad_line_refuses_the_whole_batch(case: int, shared: Api, second: str) -> None:
    head = shared.head()
    answer = ndjson(shared, f"{records('X')}{second}\n".encode())
    assert "line 2" in refused(answer, 400, "bad_request")["error"]
    assert shared.head() == head


@case(36)
def test_a_batch_of_another_content_type_is_refused(shared: Api, case: int) -> None:
    refused(ndjson(shared, records("X").encode(), kind="application/json"), 415, "bad_request")
    refused(ndjson(shared, records("X").encode(), "?mode=replace"), 400, "bad_request")
    refused(ndjson(shared, b"\xff\xfe\n"), 400, "bad_request")


@case(37)
def test_a_batch_that_declares_too_much_is_refused_at_once(shared: Api, open_server: ServerProcess, case: int) -> None:
    head = "POST /graphs/default/load/ndjson HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    answer = open_server.exchange(f"{head}Content-Length: 33554433\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 413")
    limit = json.loads(answer.partition(b"\r\n\r\n")[2])["resource_limit"]
    assert limit == {"resource": "graph_batch_request_bytes", "limit": 33554432, "actual": 33554433}


@case(40)
def test_a_json_load_over_its_limit_is_refused(shared: Api, case: int) -> None:
    refused(shared.post("/load", {"data": "x" * (33 << 20)}), 413, "bad_request")


# --- branches and history -------------------------------------------------------------------


@pytest.mark.parametrize("name", [".", "..", "a/..", "HEAD", "Main", "01J8ZQ4Y7H3N5K6M7P8Q9R0S1T"])
def test_a_branch_name_that_means_something_else_is_refused(api: Api, name: str) -> None:
    refused(api.post("/branches", {"name": name}), 400, "bad_request")
    assert api.get("/branches").json() == {"branches": ["main"]}


def test_head_is_main_where_a_branch_is_asked_for(api: Api) -> None:
    assert api.get("/commits", params={"branch": "HEAD"}).json() == api.get("/commits").json()
    assert api.get(f"/commits/{api.head()}").json() == api.get("/commits/HEAD").json()


@case(41)
def test_a_branch_is_created_listed_and_merged(api: Api, case: int) -> None:
    created = api.post("/branches", {"name": "  b  "})
    assert created.json() == {"uri": created.json()["uri"], "from": "main", "name": "b", "actor_id": None}
    api.post("/branches", {"name": "a", "from": "b"})
    assert api.get("/branches").json() == {"branches": ["a", "b", "main"]}
    api.mutate(ADD, params={"name": "Eve"}, branch="b")
    body = api.post("/branches/merge", {"source": "b"}).json()
    assert body.pop("commit")["message"] == "merge b into main", "decision 0032: a merge answers with its commit"
    assert body == {"source": "b", "target": "main", "outcome": "fast_forward", "actor_id": None}
    assert api.get("/branches").json() == {"branches": ["a", "b", "main"]}
    assert api.rows(COUNT) == [{"n": 5}]


def test_branch_names_are_refused_where_they_clash(api: Api) -> None:
    api.post("/branches", {"name": "a"})
    refused(api.post("/branches", {"name": "a"}), 409, "conflict")
    refused(api.post("/branches", {"name": "a/b"}), 409, "conflict")
    refused(api.post("/branches", {"name": "x", "from": "lost"}), 404, "not_found")
    refused(api.post("/branches", {"name": "main"}), 400, "bad_request")
    refused(api.post("/branches", {"name": "__x/../y"}), 400, "bad_request")
    refused(api.delete("/branches/main"), 400, "bad_request")


@case(42)
def test_a_merged_branch_can_be_deleted_on_the_way(api: Api, case: int) -> None:
    api.post("/branches", {"name": "b"})
    api.mutate(ADD, params={"name": "Eve"}, branch="b")
    body = api.post("/branches/merge", {"source": "b", "delete_branch": True}).json()
    assert body["branch_deleted"] is True
    assert "branch_delete_error" not in body
    assert api.get("/branches").json() == {"branches": ["main"]}


@case(43)
def test_a_branch_with_children_survives_its_merge(api: Api, case: int) -> None:
    api.post("/branches", {"name": "parent"})
    api.post("/branches", {"name": "child", "from": "parent"})
    answer = api.post("/branches/merge", {"source": "parent", "delete_branch": True})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["outcome"], body["branch_deleted"]) == ("already_up_to_date", False)
    assert "child" in body["branch_delete_error"]


@case(44)
def test_divergent_updates_are_listed_as_conflicts(api: Api, case: int) -> None:
    api.post("/branches", {"name": "b"})
    api.mutate(AGE, params={"name": "Alice", "age": 31})
    api.mutate(AGE, params={"name": "Alice", "age": 32}, branch="b")
    head = api.head()
    body = refused(api.post("/branches/merge", {"source": "b"}), 409, "conflict")
    (conflict,) = body["merge_conflicts"]
    expected = {"entity_kind": "node", "type_name": "Person", "entity_id": "Alice", "kind": "divergent_update"}
    assert {name: conflict[name] for name in expected} == expected
    assert conflict["message"]
    assert api.head() == head


@case(45)
def test_a_branch_name_with_a_slash_is_one_segment(api: Api, case: int) -> None:
    api.post("/branches", {"name": "review/x"})
    answer = api.delete("/branches/review%2Fx")
    assert answer.status_code == 200
    assert answer.json()["name"] == "review/x"
    refused(api.delete("/branches/review/x"), 404, "not_found")


@case(46)
def test_deleting_a_missing_branch_is_not_found(shared: Api, case: int) -> None:
    assert refused(shared.delete("/branches/missing"), 404, "not_found")["error"] == "branch 'missing' not found"


@case(47)
def test_commits_are_those_of_main_newest_first(api: Api, case: int) -> None:
    api.mutate(ADD, params={"name": "Eve"})
    listed = api.get("/commits").json()
    assert listed == api.get("/commits", params={"branch": "main"}).json()
    versions = [commit["graph_manifest_version"] for commit in listed["commits"]]
    assert versions == sorted(versions, reverse=True)
    assert len(versions) == 3


@case(48)
def test_an_unknown_commit_is_not_found(shared: Api, case: int) -> None:
    refused(shared.get("/commits/unknown"), 404, "not_found")
    refused(shared.get("/commits/..%2F..%2Fetc"), 404, "not_found")


# --- changes --------------------------------------------------------------------------------


@case(49)
def test_changes_of_a_commit_come_in_pages(api: Api, case: int) -> None:
    ndjson(api, records("Zoe", "Yan", "Xia").encode(), "?mode=append")
    path = f"/commits/{api.head()}/changes"
    first = api.get(path, params={"limit": 2}).json()
    assert [change["id"] for change in first["changes"]] == ["Xia", "Yan"]
    assert first["cause"]["graph_commit_id"] == api.head()
    assert first["cause"]["authored_branch"] == "main"
    assert "actor_id" not in first["cause"]
    change = first["changes"][0]
    assert (change["kind"], change["op"], change["type"]["name"]) == ("node", "insert", "Person")
    assert change["after"] == {"properties": {"age": None, "name": "Xia"}}
    assert "before" not in change
    second = api.get(path, params={"limit": 2, "page_token": first["next_page_token"]}).json()
    assert [change["id"] for change in second["changes"]] == ["Zoe"]
    assert "next_page_token" not in second


@case(50)
@pytest.mark.parametrize("query", ["kind=table", "op=upsert", "max_bytes=1", "limit=1&limit=2", "limit=x", "limit=-1"])
def test_a_change_request_is_read_strictly(shared: Api, case: int, query: str) -> None:
    refused(shared.get(f"/commits/{shared.head()}/changes?{query}"), 400, "bad_request")
    refused(shared.get(f"/changes?{query}"), 400, "bad_request")


@case(51)
def test_change_pages_have_bounds(shared: Api, case: int) -> None:
    path = f"/commits/{shared.head()}/changes"
    refused(shared.get(f"{path}?limit=0"), 400, "bad_request")
    limit = refused(shared.get(f"{path}?limit=8193"), 413, "bad_request")["resource_limit"]
    assert limit == {"resource": "commit_changes_page_changes", "limit": 8192, "actual": 8193}
    assert refused(shared.get(f"{path}?page_token=junk"), 400, "bad_request")["error"].startswith(CURSOR)


@case(52)
def test_the_first_commit_has_nothing_to_differ_from(shared: Api, case: int) -> None:
    genesis = shared.get("/commits").json()["commits"][-1]["graph_commit_id"]
    refusal = refused(shared.get(f"/commits/{genesis}/changes"), 409, "conflict")["change_diff_refusal"]
    assert refusal == {"reason": "parentless_commit", "graph_commit_id": genesis}


@case(53)
def test_a_feed_page_ends_inside_a_commit_or_behind_one(api: Api, case: int) -> None:
    start = api.get("/changes").json()
    assert start["blocks"] == []
    assert start["caught_up"] is True
    ndjson(api, records("E", "F").encode())
    inside = api.get("/changes", params={"cursor": start["cursor"], "limit": 1}).json()
    assert inside.keys() == {"blocks", "next_page_token"}
    assert [change["id"] for change in inside["blocks"][0]["changes"]] == ["E"]
    rest = api.get("/changes", params={"page_token": inside["next_page_token"]}).json()
    assert [change["id"] for change in rest["blocks"][0]["changes"]] == ["F"]
    assert rest["caught_up"] is True
    assert rest["cursor"]


@case(54)
def test_a_cursor_belongs_to_its_filter(shared: Api, case: int) -> None:
    cursor = shared.get("/changes", params={"op": "insert"}).json()["cursor"]
    assert shared.get("/changes", params={"cursor": cursor, "op": "insert"}).status_code == 200
    assert refused(shared.get("/changes", params={"cursor": cursor}), 400, "bad_request")["error"].startswith(CURSOR)


@case(55)
def test_a_feed_has_one_position(shared: Api, case: int) -> None:
    cursor = shared.get("/changes").json()["cursor"]
    for query in ({"cursor": cursor, "start": "now"}, {"start": "later"}, {"start": "after:"}):
        refused(shared.get("/changes", params=query), 400, "bad_request")
    foreign = shared.get("/changes", params={"start": "after:01ARZ3NDEKTSV4RRFFQ69G5FAV"})
    assert refused(foreign, 400, "bad_request")["error"].startswith(CURSOR)


@case(56)
def test_a_feed_of_a_missing_branch_says_nothing_about_storage(shared: Api, case: int) -> None:
    body = refused(shared.get("/changes", params={"branch": "missing"}), 404, "not_found")
    assert body["error"] == "branch 'missing' not found"


@case(57)
def test_a_baseline_ends_with_the_cursor_that_continues_it(api: Api, case: int) -> None:
    answer = api.post("/changes/baseline", {"kind": ["node"], "type": ["Person"]})
    assert answer.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    *entities, last = lines(answer)
    assert [entity["data"]["id"] for entity in entities] == ["Alice", "Bob", "Carol", "Dan"]
    assert last["baseline"]["snapshot_commit_id"] == api.head()
    api.mutate(ADD, params={"name": "Eve"})
    query = [("cursor", last["baseline"]["resume_cursor"]), ("kind", "node"), ("type", "Person")]
    page = api.get("/changes", params=query).json()
    assert [block["cause"]["graph_commit_id"] for block in page["blocks"]] == [api.head()]
    refused(api.post("/changes/baseline", {"type": ["Lost"]}), 400, "bad_request")


def test_the_feed_can_be_listened_to(api: Api, open_server: ServerProcess) -> None:
    start = api.get("/changes").json()["cursor"]
    with api.client.stream("GET", api.path("/changes/stream"), params={"cursor": start}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        with open_server.client() as other:
            commit = Api(other, api.graph).mutate(ADD, params={"name": "Eve"}).json()["commit"]["graph_commit_id"]
        events = _events(response)
        _, data, cursor = next(event for event in events if event[0] == "changes")
        assert data["cause"]["graph_commit_id"] == commit
    resumed = api.get("/changes", params={"cursor": cursor}).json()
    assert resumed["blocks"] == []


def _events(response: httpx.Response) -> Any:
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if not line:
            if "data" in fields:
                yield fields.get("event"), json.loads(fields["data"]), fields.get("id")
            fields = {}
        else:
            name, _, value = line.partition(": ")
            fields[name] = value


# --- stored queries and schema --------------------------------------------------------------


@case(68)
def test_a_stored_read_takes_a_body_or_none(shared: Api, case: int) -> None:
    path = shared.path("/queries/everybody")
    for content in (b"", b"{}", b"null"):
        answer = shared.client.post(path, content=content)
        assert answer.status_code == 200
        assert [row["p.name"] for row in answer.json()["rows"]] == ["Alice", "Bob", "Carol", "Dan"]
    refused(shared.client.post(path, content=b"{"), 400, "bad_request")
    assert refused(shared.client.post(shared.path("/queries/lost")), 404, "not_found") == {
        "error": "stored query not found",
        "code": "not_found",
    }


@case(69)
def test_a_caller_may_insist_on_a_kind_of_query(api: Api, case: int) -> None:
    refused(api.post("/queries/everybody", {"expect_mutation": True}), 400, "bad_request")
    refused(api.post("/queries/add", {"expect_mutation": False}), 400, "bad_request")
    refused(api.post("/queries/add", {"snapshot": api.head()}), 400, "bad_request")
    answer = api.post("/queries/add", {"expect_mutation": True, "params": {"name": "Eve"}})
    assert answer.json()["affected_nodes"] == 1


def test_a_stored_mutation_can_be_conditional(api: Api) -> None:
    head = api.head()
    path, body = "/queries/add/if-graph-commit", {"params": {"name": "Eve"}}
    refused(api.post(path, body), 400, "bad_request")
    refused(api.post("/queries/add", body, headers={PRECONDITION: head}), 400, "bad_request")
    assert api.post(path, body, headers={PRECONDITION: head}).status_code == 200
    refused(api.post(path, {"params": {"name": "Fay"}}, headers={PRECONDITION: head}), 412)
    refused(api.post("/queries/everybody/if-graph-commit", {}, headers={PRECONDITION: head}), 400, "bad_request")


def test_the_catalog_describes_every_stored_query(shared: Api) -> None:
    add, everybody = shared.get("/queries").json()["queries"]
    assert (add["name"], add["tool_name"], add["mutation"]) == ("add", "add", True)
    assert add["params"] == [
        {"name": "name", "kind": "string", "nullable": False, "has_default": False},
        {"name": "age", "kind": "int", "nullable": True, "has_default": False},
    ]
    assert (everybody["description"], everybody["mutation"]) == ("all of them", False)


def test_a_schema_is_shown_and_changed_where_no_cluster_declares_it(api: Api) -> None:
    source = api.get("/schema").json()["schema_source"]
    grown = source.replace("age: I32?", "age: I32?  nick: String?")
    body = api.post("/schema/apply", {"schema_source": grown}).json()
    assert (body["supported"], body["applied"], body["step_count"]) == (True, True, 1)
    assert body["steps"][0]["kind"] == "add_property"
    assert api.get("/schema").json()["schema_source"] == grown
    assert api.post("/schema/apply", {"schema_source": grown}).json()["applied"] is False
    broken = grown.replace("node Person { name: String @key", 'node Person { title: String @rename_from("name") @key')
    assert "'add'" in refused(api.post("/schema/apply", {"schema_source": broken}), 400, "bad_request")["error"]


def test_a_branch_has_its_own_schema_until_it_is_merged(api: Api) -> None:
    source = api.get("/schema").json()["schema_source"]
    grown = source.replace("age: I32?", "age: I64?  nick: String?")
    assert api.post("/branches", {"name": "dev"}).status_code == 200
    body = api.post("/schema/apply", {"schema_source": grown, "branch": "dev"}).json()
    assert [step["kind"] for step in body["steps"]] == ["widen_property", "add_property"]
    assert api.get("/schema", params={"branch": "dev"}).json()["schema_source"] == grown
    assert api.get("/schema").json()["schema_source"] == source
    other = source.replace("age: I32?", "age: F64?")
    found = refused(api.post("/schema/apply", {"schema_source": other}), 409, "conflict")
    assert "'Person.age' has type F64 on 'main' and I64 on 'dev'" in found["error"]
    refused(api.post("/schema/apply", {"schema_source": grown, "branch": "nope"}), 404, "not_found")
    refused(api.get("/schema", params={"branch": "dev", "snapshot": api.head()}), 400, "bad_request")
    assert api.post("/branches/merge", {"source": "dev", "target": "main"}).status_code == 200
    assert api.get("/schema").json()["schema_source"] == grown


def test_a_merge_that_would_break_a_stored_query_is_refused_by_its_name(api: Api) -> None:
    source = api.get("/schema").json()["schema_source"]
    broken = source.replace("node Person { name: String @key", 'node Person { title: String @rename_from("name") @key')
    for name in ("dev", "beside"):
        assert api.post("/branches", {"name": name}).status_code == 200
    assert api.post("/schema/apply", {"schema_source": broken, "branch": "dev"}).status_code == 200
    found = refused(api.post("/branches/merge", {"source": "dev", "target": "main"}), 400, "bad_request")
    assert "the stored query 'add' would no longer compile" in found["error"]
    assert api.get("/schema").json()["schema_source"] == source
    # Stored queries are written for main; other branches may have what they cannot run on.
    assert api.post("/branches/merge", {"source": "dev", "target": "beside"}).status_code == 200


# --- metrics and preferences ----------------------------------------------------------------


def test_a_client_can_tighten_its_query_and_choose_a_form(shared: Api) -> None:
    import pyarrow as pa

    everybody = "query e() { match { $p: Person } return { $p.name, 9007199254740993 as big } }"
    rows = {"query": everybody}
    limited = shared.post("/query", rows, headers={"Prefer": "max_rows=2"})
    assert refused(limited, 413, "bad_request")["resource_limit"]["resource"] == "query_rows"
    arrow = shared.post("/query", rows, headers={"Accept": "application/vnd.apache.arrow.stream"})
    assert arrow.headers["omnigraph-snapshot-id"] == shared.head()
    assert pa.ipc.open_stream(arrow.content).read_all().num_rows == 4
    text = shared.post("/query", rows, headers={"Accept": "application/x-ndjson"}).text
    assert len(text.splitlines()) == 4
    safe = shared.post("/query", rows, headers={"Prefer": "int64=string"}).json()
    assert safe["rows"][0]["big"] == "9007199254740993"
    assert shared.post("/query", rows).json()["rows"][0]["big"] == 9007199254740993


def test_metrics_count_requests_by_route(shared: Api) -> None:
    shared.get("/branches")
    text = shared.client.get("/metrics").text
    assert 'omnigraph_http_requests_total{method="GET",route="cluster_listBranches",status="200"}' in text


def test_a_disconnected_reader_stops_its_query(shared: Api, open_server: ServerProcess) -> None:
    text = combinations(14)
    with open_server.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post(shared.path("/query"), json={"query": text}, timeout=httpx.Timeout(PATIENCE, read=0.3))
    alone = "omnigraph_http_requests_in_flight 1.0"
    eventually("the end of the query", lambda: alone in shared.client.get("/metrics").text)


def test_no_origin_is_allowed_by_default(open_server: ServerProcess) -> None:
    answer = open_server.get("/healthz", headers={"Origin": "https://app.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_a_commit_is_read_and_exported_with_the_schema_of_its_time(api: Api) -> None:
    first, before = api.head(), api.get("/schema").json()["schema_source"]
    after = before.replace("age: I32?", "age: I32?  city: String?")
    assert before != after
    applied = api.post("/schema/apply", {"schema_source": after})
    assert applied.status_code == 200, applied.text
    text = "query q() { match { $p: Person } return { $p.city } }"
    assert len(api.rows(text)) > 0
    refused(api.query(text, snapshot=first), 400, "bad_request")
    assert api.get("/schema").json() == {"schema_source": after}
    assert api.get("/schema", params={"snapshot": first}).json() == {"schema_source": before}
    refused(api.get("/schema", params={"snapshot": "nowhere"}), 404, "not_found")
    assert '"city":' in api.post("/export", {"type_names": ["Person"]}).text
    assert '"city":' not in api.post("/export", {"type_names": ["Person"], "snapshot": first}).text
