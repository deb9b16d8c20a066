"""Load and export cases of the operations specification, through the real store and commit protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.engine.changes import export
from omnigraph.engine.intake.ndjson import decode_ndjson
from omnigraph.engine.values.result import LoadMode
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.lifecycle import create_graph, open_graph
from omnigraph.engine.write.load import LoadCall, run_load
from omnigraph.errors import BadRequest, KeyConflict, OmnigraphError, ValueViolation
from omnigraph.storage.branches import branches
from omnigraph.testing.graphs.loads import export_text, load_lines, ndjson

SCHEMA = """
node Person { name: String @key  age: I32? }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""
PEOPLE = {"Alice": 30, "Bob": 25, "Charlie": 35, "Diana": 28}


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def knows(src: str, dst: str, **data: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": src, "to": dst, "data": data}


FIXTURE = ndjson(
    [
        *(person(name, age=age) for name, age in PEOPLE.items()),
        {"type": "Company", "data": {"name": "Acme"}},
        {"type": "Company", "data": {"name": "Globex"}},
        knows("Alice", "Bob"),
        knows("Alice", "Charlie"),
        knows("Bob", "Diana"),
        {"edge": "WorksAt", "from": "Alice", "to": "Acme"},
        {"edge": "WorksAt", "from": "Bob", "to": "Globex"},
    ]
)


def graph(path: Path, schema: str = SCHEMA) -> Core:
    create_graph(path, schema)
    return open_graph(path)


@pytest.fixture
def g(tmp_path: Path) -> Core:
    core = graph(tmp_path / "g")
    load_lines(core, FIXTURE, "overwrite")
    return core


def exported(core: Core, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export_text(core, **options).splitlines()]


def case(number: int, *names: str) -> Any:
    """Marks a test with the number of the case it proves."""
    return pytest.mark.parametrize("number", [pytest.param(number, id="-".join([f"ops-{number}", *names]))])


# --- export ------------------------------------------------------------------------------------------


@case(28)
def test_export_writes_edges_then_nodes_by_id_with_every_property(g: Core, number: int) -> None:
    lines = export_text(g).splitlines()
    kinds = [record.get("edge") or record["type"] for record in map(json.loads, lines)]
    assert kinds == ["Knows"] * 3 + ["WorksAt"] * 2 + ["Company"] * 2 + ["Person"] * 4
    assert lines[7] == '{"type":"Person","data":{"id":"Alice","age":30,"name":"Alice"}}'
    assert [json.loads(line)["data"]["id"] for line in lines[7:]] == sorted(PEOPLE)
    assert json.loads(lines[0])["data"]["since"] is None


@case(29)
def test_export_load_export_is_byte_identical(g: Core, tmp_path: Path, number: int) -> None:
    first = export_text(g)
    again = graph(tmp_path / "again")
    load_lines(again, first, "overwrite")
    assert export_text(again) == first


@case(30)
def test_a_branch_is_exported_by_itself_and_rebuilds_as_main(g: Core, tmp_path: Path, number: int) -> None:
    branches.create_branch(g.store, "feature", source=None)
    load_lines(g, ndjson([person("Eve"), knows("Eve", "Alice")]), "append", branch="feature")
    rebuilt = graph(tmp_path / "rebuilt")
    load_lines(rebuilt, export_text(g, "feature"), "overwrite")
    counts = [record.get("edge") or record["type"] for record in exported(rebuilt)]
    assert [counts.count(name) for name in ("Person", "Company", "Knows", "WorksAt")] == [5, 2, 4, 2]
    assert branches.list_branches(rebuilt.store) == ["main"]
    assert len(exported(g)) == 11


def test_an_export_filter_selects_types_by_name(g: Core) -> None:
    assert {record["type"] for record in exported(g, types=["Person"])} == {"Person"}
    with pytest.raises(BadRequest, match="unknown export type 'Nope'"):
        export_text(g, types=["Nope"])


def test_an_export_shows_the_snapshot_it_started_on(g: Core) -> None:
    stream = export.export_jsonl(g.view(None))
    first = next(stream)
    load_lines(g, ndjson([person("Zoe")]), "append")
    assert b"Zoe" not in first + b"".join(stream)


@pytest.mark.parametrize(("setting", "value"), [("_MOST_SORTED", 0), ("_MOST_BLOBS", 0), ("_BATCH_ROWS", 2)])
def test_an_export_is_the_same_however_it_is_cut(
    setting: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = graph(tmp_path / "g", "node B { name: String @key content: Blob? v: Vector(2)? }")
    names = [f"n{i * 7 % 10}" for i in range(10)]
    values = ["base64:SGVsbG8=", "base64:", None]
    records = [{"type": "B", "data": {"name": n, "content": values[i % 3], "v": [i, 0.5]}} for i, n in enumerate(names)]
    load_lines(core, ndjson(records), "append")
    whole = export_text(core)
    assert [json.loads(line)["data"]["id"] for line in whole.splitlines()] == sorted(names)
    monkeypatch.setattr(export, setting, value)
    assert export_text(core) == whole


@case(31)
def test_the_largest_u64_is_an_id_and_round_trips(tmp_path: Path, number: int) -> None:
    core = graph(tmp_path / "g", "node T { n: U64 @key }")
    load_lines(core, '{"type":"T","data":{"n":18446744073709551615}}', "append")
    text = export_text(core)
    assert text == '{"type":"T","data":{"id":"18446744073709551615","n":18446744073709551615}}\n'
    load_lines(core, text, "overwrite")
    assert export_text(core) == text
    with pytest.raises(ValueViolation, match="canonical @key id '18446744073709551615'"):
        load_lines(core, '{"type":"T","data":{"id":"1","n":18446744073709551615}}', "append")


@case(32)
def test_dates_are_ids_and_exports_as_numbers(tmp_path: Path, number: int) -> None:
    core = graph(tmp_path / "g", "node D { d: Date @key } node T { t: DateTime @key }")
    load_lines(
        core,
        '{"type":"D","data":{"d":"2024-01-01"}}\n{"type":"T","data":{"t":"2024-01-01T00:00:00Z"}}',
        "append",
    )
    assert [record["data"] for record in exported(core)] == [
        {"id": "19723", "d": 19723},
        {"id": "1704067200000", "t": 1704067200000},
    ]


@case(33)
def test_a_composite_id_orders_its_parts_by_property(tmp_path: Path, number: int) -> None:
    core = graph(tmp_path / "g", "node N { tenant: String slot: I32 @key(tenant, slot) }")
    load_lines(core, '{"type":"N","data":{"tenant":"acme","slot":7}}', "append")
    assert exported(core)[0]["data"]["id"] == '["7","acme"]'


@case(34)
def test_blobs_are_exported_as_they_were_given(tmp_path: Path, number: int) -> None:
    core = graph(tmp_path / "g", "node B { name: String @key content: Blob? }")
    values = {"a": "base64:SGVsbG8=", "b": "base64:", "c": None}
    load_lines(core, ndjson({"type": "B", "data": {"name": n, "content": v}} for n, v in values.items()), "append")
    assert {record["data"]["id"]: record["data"]["content"] for record in exported(core)} == values


# --- refusals ----------------------------------------------------------------------------------------

BLOB = SCHEMA + "node B { content: Blob? }"
VECTOR = SCHEMA + "node V { v: Vector(3)? }"
REFUSED = [
    pytest.param(BLOB, '{"type":"B","data":{"content":"s3://x/y"}}', "is not allowed", "W002", id="ops-35"),
    pytest.param(
        SCHEMA,
        '{"type":"Company","data":{"name":"a"}}\n\n// note',
        "invalid strict JSON at line 3",
        "W019",
        id="ops-36",
    ),
    pytest.param(
        SCHEMA,
        '{"type":"Person","data":{"name":"A","x":{"k":1,"k":2}}}',
        "duplicate JSON member 'k'",
        "W019",
        id="ops-38",
    ),
    pytest.param(
        SCHEMA,
        '{"type":"Person","data":{"name":"A"}} {"type":"Person","data":{"name":"B"}}',
        "invalid strict JSON at line 1",
        "W019",
        id="ops-39-two-objects",
    ),
    pytest.param(SCHEMA, '[{"type":"Person"}]', "must be one JSON object", "W019", id="ops-39-array"),
    pytest.param(
        SCHEMA,
        '{"type":"Person","edge":"Knows","from":"a","to":"b"}',
        "exactly one of 'type' or 'edge'",
        "W019",
        id="ops-40",
    ),
    pytest.param(
        SCHEMA,
        '{"type":"Person","branch":"main"}',
        "unknown top-level graph batch field 'branch'",
        "W019",
        id="ops-41-unknown",
    ),
    pytest.param(SCHEMA, '{"type":"Person","_rowid":7}', "reserved physical state", "W018", id="ops-41-reserved"),
    pytest.param(
        SCHEMA,
        '{"type":"Person","data":{"name":"A","nickname":"x"}}',
        "unknown input field 'nickname'",
        "W017",
        id="ops-42-unknown",
    ),
    pytest.param(
        SCHEMA, '{"type":"Person","data":{"name":"A","id":7}}', "must be a string", "W019", id="ops-42-id-type"
    ),
    pytest.param(
        SCHEMA,
        '{"type":"Person","data":{"id":"person-1","name":"Alice"}}',
        "canonical @key id 'Alice'",
        "W016",
        id="ops-42-id-value",
    ),
    pytest.param(SCHEMA, '{"type":"Person","data":{"name":"A","age":"old"}}', "expects", "W002", id="ops-43"),
    pytest.param(
        SCHEMA,
        '{"edge":"Knows","from":"Alice","to":"Bob","data":{"src":"Alice"}}',
        "reserved structural state",
        "W018",
        id="ops-44",
    ),
    pytest.param(
        SCHEMA,
        ndjson([person("Alice"), knows("Alice", "Missing")]),
        "dst 'Missing' not found in Person",
        "W013",
        id="ops-49",
    ),
    pytest.param(VECTOR, '{"type":"V","data":{"v":[1,null,3]}}', "elements must be numeric", "W005", id="ops-55-null"),
    pytest.param(VECTOR, '{"type":"V","data":{"v":[1,2]}}', "expects 3 dimensions, got 2", "W005", id="ops-55-length"),
    pytest.param(VECTOR, '{"type":"V","data":{"v":[1,2,1e39]}}', "Float32 range", "W004", id="ops-55-range"),
    pytest.param(
        SCHEMA, '{"type":"Person",\n"data":{"name":"A"}}', "invalid strict JSON at line 1", "W019", id="ops-56"
    ),
    pytest.param(SCHEMA, "{not json}", "invalid strict JSON at line 1", "W019", id="bad-json"),
    pytest.param(SCHEMA, '{"data":{}}', "exactly one of 'type' or 'edge'", "W019", id="neither-type-nor-edge"),
    pytest.param(SCHEMA, '{"type":7}', "field 'type' must be a string", "W019", id="type-not-text"),
    pytest.param(SCHEMA, '{"edge":"Knows","from":"Alice"}', "requires field 'to'", "W019", id="endpoint-missing"),
    pytest.param(SCHEMA, '{"type":"Person","data":null}', "must be an object", "W019", id="data-null"),
    pytest.param(SCHEMA, '{"type":"person"}', "unknown node type 'person'", "W019", id="node-names-are-exact"),
    pytest.param(
        SCHEMA, '{"edge":"Likes","from":"a","to":"b"}', "unknown edge type 'Likes'", "W019", id="edge-unknown"
    ),
    pytest.param(SCHEMA, '{"type":"Person","data":{}}', "non-nullable property 'name'", "W001", id="missing-value"),
    pytest.param(
        SCHEMA, '{"type":"Person","data":{"name":"A","age":2147483648}}', "exceeds Int32 range", "W003", id="int32"
    ),
    pytest.param(BLOB, '{"type":"B","data":{"content":"base64:?"}}', "invalid base64 blob data", "W002", id="base64"),
    pytest.param(
        SCHEMA, '\ufeff{"type":"Company","data":{"name":"A"}}', "invalid strict JSON at line 1", "W019", id="bom"
    ),
    pytest.param(SCHEMA, '{"type":"Person","data":{"name":"A","age":NaN}}', "invalid strict JSON", "W019", id="nan"),
    pytest.param(
        SCHEMA, '{"type":"Person","data":{"_tombstone":1}}', "reserved physical state", "W018", id="tombstone"
    ),
]


@pytest.mark.parametrize(("schema", "data", "text", "code"), REFUSED)
def test_bad_input_is_refused_with_its_token_and_line_and_nothing_is_written(
    schema: str, data: str, text: str, code: str, tmp_path: Path
) -> None:
    core = graph(tmp_path / "g", schema)
    head = core.state(None).effective_head
    with pytest.raises(ValueViolation) as refused:
        load_lines(core, data, "append")
    assert text in str(refused.value)
    assert refused.value.code == code
    assert "line" in str(refused.value)
    assert core.state(None).effective_head == head
    assert export_text(core) == ""


@case(36, "invalid-utf8")
def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path, number: int) -> None:
    core = graph(tmp_path / "g")
    with pytest.raises(ValueViolation, match="line 2: invalid UTF-8"):
        load_lines(
            core, b'{"type":"Company","data":{"name":"A"}}\n{"type":"Company","data":{"name":"\xff"}}\n', "append"
        )


@case(37)
def test_blank_lines_count_and_line_ends_may_vary(tmp_path: Path, number: int) -> None:
    core = graph(tmp_path / "g")
    data = '  \t\r\n{"type":"Person","data":{"name":"A"}}\r\n{"type":"Person","data":{"name":"B"%s}}'
    with pytest.raises(ValueViolation, match="line 3") as refused:
        load_lines(core, data % ',"age":true', "append")
    assert refused.value.line == 3
    load_lines(core, data % "", "append")
    assert [record["data"]["id"] for record in exported(core)] == ["A", "B"]


# --- modes -------------------------------------------------------------------------------------------


@case(45)
def test_append_refuses_an_existing_id(g: Core, number: int) -> None:
    before = export_text(g)
    with pytest.raises(KeyConflict, match="already has this id") as refused:
        load_lines(g, ndjson([person("Zoe"), person("Alice", age=1)]), "append")
    assert (refused.value.entity_id, refused.value.line) == ("Alice", 2)
    assert refused.value.message.endswith("(line 2)")
    assert export_text(g) == before


@case(46)
def test_merge_replaces_the_whole_entity(g: Core, number: int) -> None:
    load_lines(g, ndjson([person("Alice")]), "merge")
    ages = {record["data"]["id"]: record["data"]["age"] for record in exported(g, types=["Person"])}
    assert ages == {**PEOPLE, "Alice": None}


@case(47)
def test_overwrite_replaces_only_the_types_in_the_file(tmp_path: Path, number: int) -> None:
    core = graph(tmp_path / "g")
    load_lines(
        core,
        ndjson([person("Alice"), {"type": "Company", "data": {"name": "Acme"}}, knows("Alice", "Alice")]),
        "append",
    )
    load_lines(core, '{"type":"Company","data":{"name":"Initech"}}', "overwrite")
    assert [record["data"]["id"] for record in exported(core, types=["Company"])] == ["Initech"]
    assert len(exported(core)) == 3


@case(48)
def test_overwrite_refuses_to_drop_a_node_that_an_edge_still_needs(g: Core, number: int) -> None:
    before = export_text(g)
    kept = ndjson(person(name) for name in PEOPLE if name != "Bob")
    with pytest.raises(ValueViolation, match="not found in Person"):
        load_lines(g, kept, "overwrite")
    assert export_text(g) == before


@pytest.mark.parametrize(
    ("mode", "total"),
    [
        pytest.param("append", 8_193, id="ops-50-append"),
        pytest.param("merge", 8_193, id="ops-50-merge"),
        pytest.param("overwrite", 8_193, id="ops-50-overwrite"),
    ],
)
def test_no_mode_has_a_ceiling(mode: LoadMode, total: int, tmp_path: Path) -> None:
    core = graph(tmp_path / "g")
    counts = load_lines(core, ndjson(person(f"p{i}", age=i) for i in range(total)), mode)
    assert counts.total_entities == total
    assert len(exported(core)) == total


@pytest.mark.parametrize("mode", [pytest.param(m, id=f"ops-51-{m}") for m in ("append", "merge", "overwrite")])
def test_a_key_twice_in_one_file_is_a_violation_in_every_mode(mode: LoadMode, tmp_path: Path) -> None:
    core = graph(tmp_path / "g")
    with pytest.raises(ValueViolation, match=r"@unique violation on Person\.name: value 'Alice'") as refused:
        load_lines(core, ndjson([person("Alice"), person("Bob"), person("Alice", age=2)]), mode)
    assert refused.value.line == 3


@case(52)
def test_the_last_edge_of_an_id_wins_in_a_merge(tmp_path: Path, number: int) -> None:
    core = graph(tmp_path / "g", "node P { name: String @key } edge L: P -> P @card(0..1) { n: I32? }")
    nodes = [{"type": "P", "data": {"name": name}} for name in "ab"]
    edges = [{"edge": "l", "from": "a", "to": "b", "data": {"id": "e1", "n": n}} for n in (1, 2)]
    counts = load_lines(core, ndjson([*nodes, *edges]), "merge")
    assert (counts.nodes, counts.edges) == ({"P": 2}, {"L": 1})
    assert exported(core, types=["L"])[0]["data"] == {"id": "e1", "n": 2}


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_an_edge_id_twice_is_refused_outside_a_merge(mode: LoadMode, g: Core) -> None:
    with pytest.raises(ValueViolation, match=r"@unique violation on Knows\.id: value 'e1'"):
        load_lines(g, ndjson([knows("Alice", "Bob", id="e1"), knows("Bob", "Alice", id="e1")]), mode)


@case(53)
def test_an_empty_file_is_one_commit_that_touches_nothing(g: Core, number: int) -> None:
    before, head = export_text(g), g.state(None).effective_head
    done = load_lines(g, " \n\n", "merge")
    assert done.total_entities == 0
    assert done.commit is not None
    assert done.commit.parent_commit_id == head
    assert export_text(g) == before


@case(54)
def test_a_branch_created_for_a_load_that_fails_stays_at_its_base(g: Core, number: int) -> None:
    head = g.state(None).effective_head
    call = LoadCall(lambda catalog, _: decode_ndjson(b"nonsense", catalog), "merge", branch="r", base="main")
    with pytest.raises(ValueViolation, match="invalid strict JSON at line 1"):
        run_load(g, call)
    assert branches.list_branches(g.store) == ["main", "r"]
    assert g.state("r").effective_head == head


def test_a_load_names_its_counts_per_type(tmp_path: Path) -> None:
    core = graph(tmp_path / "g")
    counts = load_lines(core, FIXTURE, "overwrite")
    assert counts.nodes == {"Company": 2, "Person": 4}
    assert counts.edges == {"Knows": 3, "WorksAt": 2}


def test_every_refusal_is_one_of_our_errors(g: Core) -> None:
    with pytest.raises(OmnigraphError):
        load_lines(g, "\x00", "merge")
