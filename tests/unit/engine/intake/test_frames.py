"""Frames of any make into typed rows, by declared columns or by a mapping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.compiler.catalog import compile_schema
from omnigraph.engine.intake import records
from omnigraph.engine.intake.frames import decode_frame
from omnigraph.engine.intake.records import Decoded, RawRows, type_rows
from omnigraph.engine.values.json_values import json_rows
from omnigraph.errors import BadRequest, ValueViolation

CATALOG = compile_schema(
    """
    node Person { name: String @key  age: I32? }
    node Item { number: I64 @key }
    edge Knows: Person -> Person { since: Date? }
    edge Link: Item -> Item
    """
)


class Stream:
    """A frame of another library: all it has is an Arrow stream."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def rows(decoded: Decoded, key: str) -> list[dict[str, Any]]:
    assert decoded.violations == ()
    return json_rows(decoded.types[key].rows)


def test_columns_called_like_properties_are_taken() -> None:
    table = pa.table({"age": [30, None], "name": ["Alice", "Bob"]})
    expected = [{"id": "Alice", "age": 30, "name": "Alice"}, {"id": "Bob", "age": None, "name": "Bob"}]
    assert rows(decode_frame(table, CATALOG, type="Person"), "node:Person") == expected
    assert rows(decode_frame(table.to_batches()[0], CATALOG, type="Person"), "node:Person") == expected


def test_any_library_with_an_arrow_stream_is_a_frame() -> None:
    table = pa.table({"name": ["Alice"], "__index_level_0__": [7]})
    assert rows(decode_frame(Stream(table), CATALOG, type="Person"), "node:Person")[0]["id"] == "Alice"


def test_a_mapping_renames_columns_and_drops_the_rest() -> None:
    table = pa.table({"login": ["a"], "age": [1], "noise": ["x"]})
    decoded = decode_frame(table, CATALOG, type="Person", columns={"name": "login"})
    assert rows(decoded, "node:Person") == [{"id": "a", "age": 1, "name": "a"}]


@pytest.mark.parametrize(("source", "target"), [("a", "b"), ("from", "to"), ("src", "dst")])
def test_edges_name_their_endpoints(source: str, target: str) -> None:
    table = pa.table({source: ["x"], target: ["y"], "since": ["2024-01-01"], "id": ["e1"]})
    columns = {"from": "a", "to": "b"} if source == "a" else None
    decoded = decode_frame(table, CATALOG, edge="knows", columns=columns)
    assert rows(decoded, "edge:Knows") == [{"id": "e1", "src": "x", "dst": "y", "since": "2024-01-01"}]


def test_whole_number_endpoints_are_the_ids_of_integer_keys() -> None:
    decoded = decode_frame(pa.table({"from": [1], "to": [2]}), CATALOG, edge="Link")
    [link] = rows(decoded, "edge:Link")
    assert (link["src"], link["dst"]) == ("1", "2")
    assert rows(decode_frame(pa.table({"number": [1]}), CATALOG, type="Item"), "node:Item")[0]["id"] == "1"


def test_bad_rows_are_reported_by_row_and_left_out() -> None:
    table = pa.table({"from": ["a", None, "c"], "to": ["x", "y", "z"], "since": ["2024-01-01", None, "soon"]})
    decoded = decode_frame(table, CATALOG, edge="Knows")
    assert [(v.code, v.line) for v in decoded.violations] == [("W019", 2), ("W002", 3)]
    assert decoded.types["edge:Knows"].rows["src"].to_pylist() == ["a"]
    assert decoded.types["edge:Knows"].places["line"].to_pylist() == [1]


def test_rows_are_numbered_through_chunks() -> None:
    table = pa.concat_tables([pa.table({"name": ["a", "b"]}), pa.table({"name": ["c", None]})])
    decoded = decode_frame(table, CATALOG, type="Person")
    assert [(v.code, v.line) for v in decoded.violations] == [("W001", 4)]
    assert decoded.types["node:Person"].places["line"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("most", [3, 2])
def test_each_row_names_its_file_without_memory_of_its_own(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr("omnigraph.engine.intake.records._SAME", pa.array([0] * most, pa.int32()))
    info, found = CATALOG.nodes["Person"], []
    for file, names in (("one.csv", ["a", "b", "c"]), ("two.csv", ["d", None, "e"])):
        raw = RawRows(info, pa.nulls(3, pa.utf8()), None, {"name": names}, np.arange(3), file)
        found.append(type_rows(raw)[0].places["file"])
    assert [column.to_pylist() for column in found] == [["one.csv"] * 3, ["two.csv"] * 2]
    shared = found[0].chunk(0).indices.buffers()[1].address == records._SAME.buffers()[1].address
    assert shared == (most >= 3)


@pytest.mark.parametrize(
    ("frame", "options", "error", "text"),
    [
        (pa.table({"name": ["a"]}), {}, BadRequest, "exactly one of type="),
        (pa.table({"name": ["a"]}), {"type": "Person", "edge": "Knows"}, BadRequest, "exactly one of type="),
        (pa.table({"name": ["a"]}), {"type": "person"}, ValueViolation, "unknown node type 'person'"),
        (pa.table({"from": ["a"]}), {"edge": "Nope"}, ValueViolation, "unknown edge type 'Nope'"),
        (pa.table({"from": ["a"]}), {"edge": "Knows"}, ValueViolation, "requires field 'to'"),
        (pa.table({"name": ["a"], "zzz": [1]}), {"type": "Person"}, ValueViolation, "W017: unknown input field 'zzz'"),
        (pa.table({"name": ["a"], "zzz": [1]}), {"type": "Person"}, ValueViolation, "name those to read in columns="),
        (pa.table({"_rowid": [1]}), {"type": "Person"}, ValueViolation, "W018: field '_rowid' is reserved"),
        (pa.table({"a": ["a"]}), {"type": "Person", "columns": {"name": "b"}}, BadRequest, "no column 'b'"),
        (pa.table({"a": ["a"]}), {"type": "Person", "columns": {"q": "a"}}, ValueViolation, "unknown input field 'q'"),
        (pa.table([["a"], ["b"]], names=["name", "name"]), {"type": "Person"}, BadRequest, "2 columns called 'name'"),
        ([{"name": "a"}], {"type": "Person"}, BadRequest, "cannot load an object of type builtins.list"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(
    frame: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as refused:
        decode_frame(frame, CATALOG, **options)
    assert text in str(refused.value)


def test_an_empty_frame_has_no_rows() -> None:
    decoded = decode_frame(pa.table({"name": pa.array([], pa.utf8())}), CATALOG, type="Person")
    assert all(part.rows.num_rows == 0 for part in decoded.types.values())
