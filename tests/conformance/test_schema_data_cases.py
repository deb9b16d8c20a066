"""Cases of the schema language whose outcome is decided by data: stored ids, accepted and refused values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.compiler.catalog import compile_schema
from omnigraph.engine.intake.ndjson import decode_ndjson
from omnigraph.engine.intake.records import Decoded
from omnigraph.engine.values.json_values import json_rows
from omnigraph.engine.views.lifecycle import create_graph, open_graph
from omnigraph.engine.write.change_set import TableChange
from omnigraph.engine.write.load_rows import prepare_load
from omnigraph.engine.write.validate import validate
from omnigraph.errors import ValueViolation
from omnigraph.testing.graphs.loads import export_text, load_lines, ndjson
from omnigraph.testing.naive.memory_rows import MemoryRows, rows_table


def hut(**data: Any) -> dict[str, Any]:
    return {"type": "Hut", "data": data}


def load(schema: str, *records: Mapping[str, Any]) -> Decoded:
    """Decode and validate a load into an empty graph."""
    catalog = compile_schema(schema)
    decoded = decode_ndjson(ndjson(records).encode(), catalog)
    prepare_load(decoded, "append", catalog, MemoryRows(catalog))
    return decoded


def rows(decoded: Decoded, key: str = "node:Hut") -> list[dict[str, Any]]:
    return json_rows(decoded.types[key].rows)


@pytest.mark.parametrize(
    ("schema", "record", "expected"),
    [
        pytest.param(
            "node Hut { a: String b: I32 @key(b, a) }",
            hut(a="A", b=7),
            '["A","7"]',
            id="schema-28-composite-key-by-property-id",
        ),
        pytest.param(
            "node Hut { a: F64 @key }", hut(a=1e21), "1000000000000000000000", id="schema-29-float-without-exponent"
        ),
        pytest.param("node Hut { a: F64 @key }", hut(a=-0.0), "0", id="schema-29-one-zero"),
        pytest.param("node Hut { d: Date @key }", hut(d="1970-01-02"), "1", id="schema-30-date-as-epoch-days"),
    ],
)
def test_the_id_of_a_keyed_node_is_the_canonical_text_of_its_key(
    schema: str, record: dict[str, Any], expected: str
) -> None:
    assert [row["id"] for row in rows(load(schema, record))] == [expected]


@pytest.mark.parametrize(
    ("schema", "records"),
    [
        pytest.param("node Hut { a: I32? @range(a, ..5) }", [hut(a=5)], id="schema-32-bound-is-inclusive"),
        pytest.param("node Hut { a: I32? @range(a, ..5) }", [hut(a=None)], id="schema-32-null-passes"),
        pytest.param('node Hut { a: String @check(a, "b+") }', [hut(a="xbby")], id="schema-34-search-is-unanchored"),
        pytest.param("node Hut { a: String? @unique }", [hut(a=None), hut(a=None)], id="schema-37-nulls-are-exempt"),
    ],
)
def test_data_within_its_constraints_is_accepted(schema: str, records: list[dict[str, Any]]) -> None:
    assert len(rows(load(schema, *records))) == len(records)


@pytest.mark.parametrize(
    ("schema", "records", "code", "text"),
    [
        pytest.param(
            "node Hut { a: I32? @range(a, ..5) }", [hut(a=6)], "W010", "@range violation on Hut.a", id="schema-32"
        ),
        pytest.param(
            'node Hut { a: String @check(a, "b+") }', [hut(a="xy")], "W011", "@check violation on Hut.a", id="schema-34"
        ),
        pytest.param(
            "node Hut { a: String? @unique }",
            [hut(a="x"), hut(a="x")],
            "W012",
            "@unique violation on Hut.a: value 'x' held by",
            id="schema-37",
        ),
        pytest.param("node Hut { n: I64 }", [hut(n="5")], "W002", "strict property 'n' expects I64", id="schema-47"),
        pytest.param(
            "node Hut { v: Vector(2) }", [hut(v=[1, None])], "W005", "elements must be numeric", id="schema-48"
        ),
        pytest.param("node Hut { a: String? }", [hut(zzz=1)], "W017", "unknown input field 'zzz'", id="schema-50"),
        pytest.param(
            "node Hut { code: String @key }",
            [hut(id="x", code="y")],
            "W016",
            "does not match its canonical @key id 'y'",
            id="schema-51",
        ),
    ],
)
def test_data_outside_its_constraints_is_refused(
    schema: str, records: list[dict[str, Any]], code: str, text: str
) -> None:
    with pytest.raises(ValueViolation) as refused:
        load(schema, *records)
    assert refused.value.code == code
    assert text in str(refused.value)
    assert refused.value.line == len(records)
    assert re.search(rf"lines? (\d+ and )?{len(records)}\b", str(refused.value))


@pytest.mark.parametrize("case", [pytest.param("2024-01-02 03:04:05+02:00", id="schema-49")])
def test_a_datetime_is_stored_in_utc_and_printed_with_milliseconds(case: str, tmp_path: Path) -> None:
    create_graph(tmp_path / "g", "node Hut { at: DateTime @key }")
    core = open_graph(tmp_path / "g")
    load_lines(core, ndjson([hut(at=case)]), "append")
    exported = json.loads(export_text(core))["data"]
    assert exported == {"id": "1704157445000", "at": 1704157445000}
    stored = core.view(None).table(core.view(None).catalog.nodes["Hut"]).scan()
    assert json_rows(stored)[0]["at"] == "2024-01-02T01:04:05.000Z"


@pytest.mark.parametrize(
    "schema", [pytest.param("node Hut { a: String? } edge P: Hut -> Hut @card(1..)", id="schema-52")]
)
def test_deleting_the_only_edge_of_a_source_breaks_its_minimum(schema: str) -> None:
    catalog = compile_schema(schema)
    committed = MemoryRows(
        catalog,
        {"node:Hut": [{"id": "h1"}, {"id": "h2"}], "edge:P": [{"id": "p1", "src": "h1", "dst": "h2"}]},
    )
    changes = {"edge:P": TableChange(catalog.edges["P"], deleted=pa.array(["p1"]))}
    with pytest.raises(ValueViolation) as refused:
        validate(changes, catalog, committed)
    assert refused.value.code == "W014"
    assert "@card violation on edge P: source 'h1' has 0 edges (min 1)" in str(refused.value)


def test_the_helper_tables_have_the_row_schema() -> None:
    catalog = compile_schema("node Hut { a: String? }")
    assert rows_table(catalog.nodes["Hut"], [{"id": "x"}]).to_pylist() == [{"id": "x", "a": None}]
