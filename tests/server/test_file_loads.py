"""Files over HTTP: uploaded, looked at, loaded; and what their senders may not reach with them."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graph_api import Api
from served_people import TOKENS

import omnigraph as og
import omnigraph.aio
from omnigraph.errors import BadRequest, ValueViolation
from server_process import ServerProcess

PEOPLE = "name,age\nErin,33\nFrank,44\n"
KNOWS = "who,whom\nErin,Frank\nFrank,Alice\n"
MAPPING = {
    "sources": {"people": {"path": "people.csv"}, "knows": {"path": "knows.csv"}},
    "nodes": {"Person": {"from": "people"}},
    "edges": {"Knows": {"from": "knows", "src": "who", "dst": "whom"}},
}


def put(api: Api, name: str, content: str | bytes, **options: Any) -> httpx.Response:
    return api.client.put(api.path(f"/uploads/{name}"), content=content, **options)


def mapped(path: str, **members: Any) -> dict[str, Any]:
    return {"sources": {"s": {"path": path, **members}}, "nodes": {"Person": {"from": "s"}}}


def age_of(api: Api, name: str, **fields: Any) -> Any:
    text = "query q($n: String) { match { $p: Person { name: $n } } return { $p.age as age } }"
    return [row["age"] for row in api.rows(text, params={"n": name}, **fields)]


def test_files_are_uploaded_listed_replaced_and_removed(api: Api) -> None:
    first = put(api, "people.csv", PEOPLE)
    assert first.status_code == 200
    assert first.json()["bytes"] == len(PEOPLE)
    assert put(api, "people.csv", PEOPLE + "Gus,5\n").json()["bytes"] > len(PEOPLE)
    listed = api.get("/uploads").json()
    assert [each["name"] for each in listed["files"]] == ["people.csv"]
    assert listed["files"][0]["expires_at"].endswith("Z")
    assert api.delete("/uploads/people.csv").json() == {"name": "people.csv"}
    assert api.delete("/uploads/people.csv").status_code == 404
    assert api.get("/uploads").json()["files"] == []


def test_files_are_inferred_checked_and_loaded_onto_a_new_branch(api: Api) -> None:
    put(api, "visitors.csv", "id,name,city\n" + "".join(f"v{n},Visitor {n},c{n % 3}\n" for n in range(30)))
    put(api, "cities.csv", "id,label\nc0,Oslo\nc1,Rome\nc2,Bern\n")
    found = api.post("/infer", {"files": ["visitors.csv", "cities.csv"]}).json()
    assert {each["name"]: each["kind"] for each in found["declarations"]}.keys() >= {"Visitor", "City"}
    assert found["schema_source"] == "\n\n".join(each["text"] for each in found["declarations"]) + "\n"
    assert found["mapping"]["sources"]["visitors"]["path"] == "visitors.csv"
    assert "visitors.csv" in " ".join(found["report"])
    schema = api.get("/schema").json()["schema_source"] + "\n" + found["schema_source"]
    assert api.post("/branches", {"name": "arrivals"}).status_code == 200
    assert api.post("/schema/apply", {"schema_source": schema, "branch": "arrivals"}).status_code == 200
    request = {"mapping": found["mapping_text"], "branch": "arrivals"}
    checked = api.post("/load/files", {**request, "dry_run": True}).json()
    assert (checked["dry_run"], checked["commit"], checked["rejected"]) == (True, None, {})
    loaded = api.post("/load/files", {**request, "message": "visitors"}).json()
    assert loaded["total_entities"] == checked["total_entities"] == 30 + 3 + 30
    assert loaded["commit"]["message"] == "visitors"
    assert api.rows("query q() { match { $v: Visitor } return { count($v) as n } }", branch="arrivals") == [{"n": 30}]


def test_a_dry_run_names_the_rows_that_would_be_refused_and_writes_nothing(api: Api) -> None:
    put(api, "people.csv", PEOPLE + "Gus,old\nErin,1\n")
    before = api.head()
    found = api.post("/load/files", {"mapping": mapped("people.csv"), "dry_run": True})
    assert found.status_code == 200
    assert found.json()["rejected"] == {"W002": 1, "W012": 1}
    refused = {each["code"]: each for each in found.json()["rejects"]}
    assert (refused["W002"]["file"], refused["W002"]["line"], refused["W002"]["id"]) == ("people.csv", 4, "Gus")
    assert "old" in refused["W002"]["reasons"][0]["message"]
    stopped = api.post("/load/files", {"mapping": mapped("people.csv")})
    assert stopped.status_code == 400
    assert (
        stopped.json()["error"].startswith("W002: people.csv: Person 'Gus'") or "people.csv" in stopped.json()["error"]
    )
    assert api.head() == before
    skipped = api.post("/load/files", {"mapping": mapped("people.csv"), "on_error": "skip"}).json()
    assert (skipped["rejected"], skipped["total_entities"]) == ({"W002": 1, "W012": 1}, 2)
    assert age_of(api, "Erin") == [33]


def test_a_dry_run_for_a_branch_that_is_not_there_does_not_make_it(api: Api) -> None:
    put(api, "people.csv", PEOPLE)
    request = {"mapping": mapped("people.csv"), "branch": "later", "from": "main", "dry_run": True}
    assert api.post("/load/files", request).json()["total_entities"] == 2
    assert api.get("/branches").json()["branches"] == ["main"]
    loaded = api.post("/load/files", {**request, "dry_run": False}).json()
    assert (loaded["branch"], loaded["branch_created"]) == ("later", True)
    assert age_of(api, "Frank", branch="later") == [44]
    assert age_of(api, "Frank") == []


def test_progress_comes_as_lines_and_ends_with_the_result_or_the_reason(api: Api) -> None:
    put(api, "people.csv", PEOPLE)
    lines = {"Accept": "application/x-ndjson"}
    answer = api.post("/load/files", {"mapping": mapped("people.csv")}, headers=lines)
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert {line["progress"]["stage"] for line in told[:-1]} >= {"stage", "check"}
    assert told[-1]["result"]["total_entities"] == 2
    put(api, "people.csv", "name,age\nGus,old\n")
    answer = api.post("/load/files", {"mapping": mapped("people.csv")}, headers=lines)
    assert answer.status_code == 200  # it had begun
    assert json.loads(answer.text.splitlines()[-1])["code"] == "bad_request"
    early = api.post("/load/files", {"mapping": mapped("nothing.csv")}, headers=lines)
    assert early.status_code == 404


@pytest.mark.parametrize(
    "source",
    [
        {"path": "/etc/passwd"},
        {"path": "/etc/passwd", "format": "csv"},
        {"path": "../secret.csv"},
        {"path": "..%2fsecret.csv"},
        {"path": "*.csv"},
        {"path": "[a-z]*.csv"},
        {"path": "."},
        {"path": ".unfinished-x.csv"},
        {"path": "s3://bucket/people.csv"},
        {"path": "file:///etc/passwd.csv"},
        {"path": "http://127.0.0.1/people.csv"},
        {"path": "people.csv", "format": "sqlite"},
        {"path": "people.csv", "format": "duckdb"},
        {"path": "people.csv", "format": "lance"},
        {"path": "people.csv", "format": "excel"},
        {"path": "people.csv", "options": {"header": "true"}},
        {"path": "people.csv\x00.csv"},
        {"url": "sqlite:////etc/hosts"},
        {"url": "postgresql://127.0.0.1/db", "table": "users"},
        {"sql": "select 1"},
        {"table": "people"},
        {"format": "jdbc", "options": {"url": "jdbc:x"}},
        {"frame": {"name": ["x"]}},
        {"path": ["people.csv"]},
        "people.csv",
    ],
    ids=str,
)
def test_a_mapping_reaches_uploaded_files_only(api: Api, source: Any) -> None:
    put(api, "people.csv", PEOPLE)
    answer = api.post("/load/files", {"mapping": {"sources": {"s": source}, "nodes": {"Person": {"from": "s"}}}})
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text
    assert "omnigraph-uploads" not in answer.text


@pytest.mark.parametrize(
    "name",
    [
        "..%2Fx.csv",
        "%2e%2e%2fx.csv",
        ".hidden.csv",
        "x%00.csv",
        "x%5Cy.csv",
        "%2A.csv",
        "x.db",
        "x.duckdb",
        "x.lance",
        "x.exe",
        "x",
        "x.parquet.gz",
        "x" * 300 + ".csv",
        "C%3Ax.csv",
        "%FF.csv",
    ],
)
def test_a_name_that_could_mean_something_else_is_refused(api: Api, name: str) -> None:
    assert put(api, name, "a,b\n1,2\n").status_code == 400
    assert api.get("/uploads").json()["files"] == []


def test_infer_reaches_uploaded_files_only(api: Api) -> None:
    for name in ("/etc/passwd", "../x.csv", "sqlite:////etc/hosts", "*.csv", "s3://b/x.csv"):
        assert api.post("/infer", {"files": [name]}).status_code == 400
    assert api.post("/infer", {"files": ["absent.csv"]}).status_code == 404
    assert api.post("/infer", {"files": []}).status_code == 400


def _workbook(sheet: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    return packed.getvalue()


def _repeated(rows: int) -> bytes:
    made = io.BytesIO()
    pq.write_table(pa.table({"name": pa.array(["x"] * rows).dictionary_encode()}), made, compression="zstd")
    return made.getvalue()


BOMBS = {
    "bomb.csv.gz": lambda: gzip.compress(b"a,b\n" + b"0" * 3_000_000),
    "bomb.json.bz2": lambda: bz2.compress(b"[" + b" " * 3_000_000),
    "bomb.parquet": lambda: _repeated(400_000),
    "zeros.xlsx": lambda: _workbook(b" " * 3_000_000),
    "far.xlsx": lambda: _workbook(b"<row r='1048576'><c r='XFD1048576'/></row>"),
    "endless.xlsx": lambda: _workbook(b'<row r="999999999999"/>'),
}


@pytest.fixture
def as_actor(guarded_server: ServerProcess) -> Iterator[Callable[[str | None], Api]]:
    with ExitStack() as clients:
        yield lambda actor: Api(
            clients.enter_context(guarded_server.client(None if actor is None else TOKENS[actor])), "default"
        )


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused_and_not_kept(as_actor: Callable[[str | None], Api], name: str) -> None:
    api, content = as_actor("root"), BOMBS[name]()
    assert len(content) < 60_000
    answer = put(api, name, content)
    assert (answer.status_code, answer.json()["resource_limit"]["resource"]) == (413, "upload_expanded_bytes")
    assert api.get("/uploads").json()["files"] == []


@pytest.mark.parametrize("name", ["x.parquet", "x.orc", "x.xlsx", "x.csv.gz", "x.json.zst"])
def test_what_is_not_what_its_name_says_is_refused(api: Api, name: str) -> None:
    answer = put(api, name, b"\x00\x01 not that")
    assert answer.status_code == 400, answer.text
    assert "cannot be read" in answer.json()["error"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.json", b"[" * 100_000),
        ("half.json", b'{"name": '),
        ("empty.csv", b""),
        ("ragged.csv", b"a,b\n1\n1,2,3\n"),
    ],
)
def test_a_broken_file_is_a_bad_request(api: Api, name: str, content: bytes) -> None:
    assert put(api, name, content).status_code == 200
    for answer in (api.post("/infer", {"files": [name]}), api.post("/load/files", {"mapping": mapped(name)})):
        assert answer.status_code == 400, answer.text
        assert tempfile.gettempdir() not in answer.text


def test_sizes_are_bounded_by_file_and_by_actor(as_actor: Callable[[str | None], Api]) -> None:
    api = as_actor("root")
    assert put(api, "large.csv", "x" * 60_001).json()["resource_limit"]["resource"] == "upload_bytes"
    endless = put(api, "large.csv", iter([b"x" * 20_000] * 4))  # no length is declared
    assert endless.json()["resource_limit"]["resource"] == "upload_bytes"
    assert put(api, "a.csv", "x" * 50_000).status_code == 200
    assert put(api, "b.csv", "x" * 50_001).json()["resource_limit"]["resource"] == "actor_upload_bytes"
    assert put(api, "a.csv", "x" * 60_000).status_code == 200  # in place of what it had
    assert put(as_actor("bob"), "b.csv", "x" * 50_001, params={"branch": "draft"}).status_code == 200
    api.delete("/uploads/a.csv")


def test_only_those_who_may_change_a_branch_upload_for_it_and_see_their_own(
    as_actor: Callable[[str | None], Api],
) -> None:
    root, ada, eve = (as_actor(name) for name in ("root", "ada", "eve"))
    nobody = as_actor(None)
    assert put(nobody, "x.csv", PEOPLE).status_code == 401
    for refused in (put(eve, "x.csv", PEOPLE), put(ada, "x.csv", PEOPLE), ada.get("/uploads"), eve.get("/uploads")):
        assert refused.status_code == 403
    for body in ({"files": ["x.csv"]}, {"files": ["x.csv"], "branch": "main"}):
        assert ada.post("/infer", body).status_code == 403
    assert put(root, "roots.csv", PEOPLE).status_code == 200
    draft = {"branch": "draft"}
    assert put(ada, "adas.csv", PEOPLE, params=draft).status_code == 200
    assert [each["name"] for each in ada.get("/uploads", params=draft).json()["files"]] == ["adas.csv"]
    stolen = ada.post("/infer", {"files": ["roots.csv"], **draft})
    assert stolen.status_code == 404
    assert ada.post("/load/files", {"mapping": mapped("adas.csv")}).status_code == 403
    forked = ada.post("/load/files", {"mapping": mapped("adas.csv"), "branch": "draft", "from": "main"})
    assert forked.status_code == 403  # she may not create branches
    assert root.delete("/uploads/roots.csv").status_code == 200


def test_unknown_members_and_text_that_is_not_a_mapping_are_refused(api: Api) -> None:
    put(api, "people.csv", PEOPLE)
    for body in (
        {"mapping": mapped("people.csv"), "dryrun": True},
        {"mapping": "sources: [unclosed"},
        {"mapping": "a: &x [1]\nb: *x"},
        {"mapping": "just words"},
        {"mapping": "2001-99-99"},
        {"mapping": mapped("people.csv"), "mode": "replace"},
        {"mapping": mapped("people.csv"), "on_error": "ignore"},
        {"mapping": {"sources": {"s": {"path": "people.csv"}}, "nodes": {"Nobody": {"from": "s"}}}},
        {"mapping": {"sources": {"s": {"path": "people.csv"}}, "nodes": {"Person": {"from": "t"}}}},
        {},
    ):
        assert api.post("/load/files", body).status_code == 400, body


def test_a_remote_handle_uploads_what_a_mapping_names(api: Api, open_server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "knows.csv").write_text(KNOWS)
    (tmp_path / "mapping.json").write_text(json.dumps(MAPPING))
    with og.connect(open_server.url, api.graph) as graph:
        tried = graph.load(mapping=tmp_path / "mapping.json", mode="merge", dry_run=True)
        assert (tried.dry_run, tried.commit, tried.total_entities) == (True, None, 4)
        done = graph.load(mapping=tmp_path / "mapping.json", mode="merge", message="by mapping")
        assert (dict(done.nodes), dict(done.edges)) == ({"Person": 2}, {"Knows": 2})
        (tmp_path / "people.csv").write_text("name,age\nGus,old\nHal,9\n")
        only = {**MAPPING, "sources": {"people": {"path": str(tmp_path / "people.csv")}}, "edges": {}}
        with pytest.raises(ValueViolation, match=r"^W002: people.csv: Person 'Gus'") as refused:
            graph.load(mapping=only, mode="merge")
        assert refused.value.refused == {"W002": 1}
        (tmp_path / "people.csv").write_text("name,age\nGus,old\nHal,9\nHal,8\n")
        with pytest.raises(ValueViolation) as refused:
            graph.load(mapping=only, mode="merge")
        assert refused.value.refused == {"W002": 1, "W012": 1}
        assert [other[:17] for other in refused.value.others] == ["W012: people.csv:"], "as their owner calls files"
        (tmp_path / "people.csv").write_text("name,age\nGus,old\nHal,9\n")
        assert (
            graph.load(mapping=only, mode="merge", dry_run=True).examples["W002"].startswith("people.csv: Person 'Gus'")
        )
        assert graph.load(mapping=only, mode="merge", on_error="skip").rejected == {"W002": 1}
        for wrong in ({"sources": {"s": {"url": "sqlite://"}}}, {"sources": {"s": {"path": "absent.csv"}}}, {}):
            with pytest.raises(BadRequest):
                graph.load(mapping=wrong)
    assert api.get("/uploads").json()["files"] == []

    async def twice() -> int:
        async with omnigraph.aio.connect(open_server.url, api.graph) as graph:
            done = await graph.load(mapping=tmp_path / "mapping.json", mode="merge", on_error="skip", dry_run=True)
            return done.total_entities

    assert asyncio.run(twice()) == 3


@pytest.mark.parametrize("made", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_frame_patches_a_served_graph(api: Api, open_server: ServerProcess, made: Any) -> None:
    mapping = {
        "sources": {"ages": {"frame": made({"name": ["Alice"], "age": [77]})}},
        "nodes": {"Person": {"from": "ages"}},
    }
    with og.connect(open_server.url, api.graph) as graph:
        before = graph.get("Person", "Alice")
        done = graph.load(mapping=mapping, mode="patch")
        assert (dict(done.nodes), graph.get("Person", "Alice")) == ({"Person": 1}, {**(before or {}), "age": 77})
        mapping["sources"]["ages"] = {"frame": made({"name": ["Alice"], "age": ["old"]})}
        with pytest.raises(ValueViolation, match=r"^W002: ages: Person 'Alice'"):
            graph.load(mapping=mapping, mode="patch")
        with pytest.raises(BadRequest, match=r"for a frame also pass type= or edge=, or a mapping"):
            graph.load(made({"name": ["Alice"], "age": [77]}), "patch")
    assert api.get("/uploads").json()["files"] == []


@pytest.mark.parametrize("made", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_frame_of_one_type_loads_as_it_does_embedded(api: Api, open_server: ServerProcess, made: Any) -> None:
    people, ends = made({"name": ["Yva", "Zoe"], "age": [7, 8]}), made({"a": ["Yva"], "b": ["Zoe"]})
    with og.connect(open_server.url, api.graph) as graph:
        assert dict(graph.load(people, type="Person", mode="merge").nodes) == {"Person": 2}
        done = graph.load(ends, edge="Knows", columns={"from": "a", "to": "b"})
        assert dict(done.edges) == {"Knows": 1}
        assert graph.get("Person", "Zoe") == {"id": "Zoe", **(graph.get("Person", "Zoe") or {}), "age": 8}
        with pytest.raises(ValueViolation, match=r"agee"):  # embedded it is refused too, not left out
            graph.load(made({"name": ["Yva"], "agee": [9]}), type="Person", mode="merge")
        for wrong, message in (
            ({"type": "Person", "edge": "Knows"}, "pass type= or edge="),
            ({"columns": {"name": "name"}}, "pass type= or edge="),
            ({"type": "Person", "mapping": {"sources": {}}}, "leave out type="),
        ):
            with pytest.raises(BadRequest, match=message):
                graph.load(people, **wrong)
        with pytest.raises(BadRequest, match=r"in a mapping: .*'people.csv'"):
            graph.load("people.csv", type="Person")
    assert api.get("/uploads").json()["files"] == []

    async def awaited() -> int:
        async with omnigraph.aio.connect(open_server.url, api.graph) as graph:
            return (await graph.load(people, type="Person", mode="merge")).total_entities

    assert asyncio.run(awaited()) == 2


LINES = (
    b'{"type":"Person","data":{"name":"Ivy","age":5}}\n{"type":"Person","data":{"name":"Jon","age":"old"}}\nnot json\n'
)


def test_lines_are_checked_and_skipped_as_files_are(api: Api, open_server: ServerProcess, tmp_path: Path) -> None:
    with og.connect(open_server.url, api.graph) as graph:
        tried = graph.load(LINES, "merge", dry_run=True)
        assert (tried.dry_run, tried.commit, dict(tried.nodes)) == (True, None, {"Person": 1})
        assert age_of(api, "Ivy") == []
        local = og.init(tmp_path / "local.omni", graph.schema.source).load(
            LINES, "merge", dry_run=True, on_error="skip"
        )
        assert (dict(tried.rejected), tried.examples) == (dict(local.rejected), dict(local.examples))
        with pytest.raises(ValueViolation) as here:
            og.open(tmp_path / "local.omni").load(LINES, "merge")
        with pytest.raises(ValueViolation) as there:
            graph.load(LINES, "merge")
        assert there.value.refused == {"W002": 1, "W019": 1}
        assert (str(there.value), there.value.refused, there.value.others, there.value.__notes__) == (
            str(here.value), here.value.refused, here.value.others, here.value.__notes__,
        )  # fmt: skip
        done = graph.load(LINES, "merge", on_error="skip")
        assert (dict(done.nodes), dict(done.rejected)) == ({"Person": 1}, dict(local.rejected))
    assert age_of(api, "Ivy") == [5]
    records = LINES.decode().removesuffix("not json\n")  # text inside JSON has to be JSON as a whole
    envelope = api.post("/load", {"data": records, "dry_run": True}).json()
    assert (envelope["dry_run"], [each["line"] for each in envelope["rejects"]]) == (True, [2])
    assert "rejects" not in api.post("/load", {"data": LINES.decode().partition("\n")[0]}).json()
    for query in ("dry_run=maybe", "on_error=ignore"):
        path = api.path(f"/load/ndjson?{query}")
        wrong = api.client.post(path, content=LINES, headers={"Content-Type": "application/x-ndjson"})
        assert wrong.status_code == 400, query


def test_those_who_may_not_read_cannot_ask_which_rows_would_be_refused(as_actor: Callable[[str | None], Api]) -> None:
    sender, draft = as_actor("wes"), {"branch": "draft"}
    as_actor("root").post("/branches", {"name": "draft"})
    assert put(sender, "people.csv", PEOPLE, params=draft).status_code == 200
    for more in ({"dry_run": True}, {"on_error": "skip"}):
        for answer in (
            sender.post("/load", {"data": "", **draft, **more}),
            sender.post("/load/files", {"mapping": mapped("people.csv"), **draft, **more}),
            sender.client.post(
                sender.path("/load/ndjson"),
                content=LINES,
                headers={"Content-Type": "application/x-ndjson"},
                params={**draft, **{name: str(value).lower() for name, value in more.items()}},
            ),
        ):
            assert answer.status_code == 403, answer.text
            assert "need the right to read branch 'draft'" in answer.json()["error"]
