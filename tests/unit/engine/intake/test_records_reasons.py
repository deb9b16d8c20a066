"""A refused row is told with all that is wrong with it: members, values, and rules that its other values break."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import compile_schema
from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.frames import decode_frame
from omnigraph.engine.intake.ndjson import decode_ndjson
from omnigraph.engine.intake.records import Decoded
from omnigraph.engine.intake.tabular import decode_table_file

CATALOG = compile_schema(
    """
    node P {
        k: String @key
        a: I32
        b: I32
        c: Date?
        role: enum(admin, user)?
        mail: String?
        @range(a, 0..10)
        @check(mail, ".+@.+")
    }
    edge E: P -> P { w: I32  since: Date? }
    """
)
GOOD = [{"k": f"g{at}", "a": 1, "b": 1, "c": "2024-01-01", "role": "user", "mail": "x@y"} for at in range(30)]
BAD: list[dict[str, Any]] = [
    {"k": "1", "a": 100, "b": "z"},
    {"k": "2", "a": 100, "b": 1, "c": "nope", "mail": "x", "role": "king"},
    {"k": "3", "a": 100},
    {"a": -1, "b": 1, "role": "king"},
]
WANTED = [
    [("W002", "b"), ("W010", "a")],
    [("W002", "c"), ("W010", "a"), ("W011", "mail"), ("W006", "role")],
    [("W001", "b"), ("W010", "a")],
    [("W001", "k"), ("W010", "a"), ("W006", "role")],
]


def records(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps({"type": "P", "data": row}).encode() + b"\n" for row in rows)


def as_csv(catalog: Catalog, rows: list[dict[str, Any]], place: Path) -> list[Decoded]:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(GOOD[0]))
    writer.writeheader()
    writer.writerows(rows)
    (place / "in.csv").write_text(text.getvalue())
    return list(decode_table_file(str(place / "in.csv"), catalog, FrameShape("P"), file=None, line_shift=-1))


def as_parquet(catalog: Catalog, rows: list[dict[str, Any]], place: Path) -> list[Decoded]:
    texts = [{name: row.get(name) for name in GOOD[0]} for row in rows]
    table = pa.table({name: pa.array([row[name] for row in texts]) for name in GOOD[0] if name != "b"})
    # A number that is too large is what a column of numbers has for a value that is none.
    table = table.append_column("b", pa.array([1 << 40 if row["b"] == "z" else row["b"] for row in texts]))
    pq.write_table(table, place / "in.parquet")
    return list(decode_table_file(str(place / "in.parquet"), catalog, FrameShape("P"), file=None))


WAYS: dict[str, Callable[[Catalog, list[dict[str, Any]], Path], list[Decoded]]] = {
    "few records": lambda catalog, rows, _: [decode_ndjson(records(rows[-5:]), catalog, first_line=len(rows) - 4)],
    "records": lambda catalog, rows, _: [decode_ndjson(records(rows), catalog)],
    "csv": as_csv,
    "parquet": as_parquet,
    "frame": lambda catalog, rows, _: [
        decode_frame(pa.table({name: pa.array([row.get(name) for row in rows]) for name in GOOD[0]}), catalog, type="P")
        for rows in ([row for row in rows if row.get("b") != "z"],)
    ],
}


def told(found: list[Decoded]) -> dict[int, list[tuple[str, str | None]]]:
    by_line: dict[int, list[tuple[str, str | None]]] = {}
    for decoded in found:
        for each in decoded.violations:
            by_line.setdefault(each.line or 0, []).append((each.code, each.property_name))
    return by_line


@pytest.mark.parametrize("way", WAYS)
def test_a_row_is_told_with_every_value_that_is_wrong_and_every_rule_that_is_broken(way: str, tmp_path: Path) -> None:
    found = told(WAYS[way](CATALOG, [*GOOD, *BAD], tmp_path))
    wanted = [
        [("W003" if way == "parquet" and reason == ("W002", "b") else reason[0], reason[1]) for reason in reasons]
        for reasons in WANTED
    ]
    if way == "frame":  # its columns have one type each, so there is no number beside a text
        wanted = wanted[1:]
    assert list(found.values()) == wanted
    assert list(found) == list(range(31, 31 + len(wanted)))


def test_a_rule_has_the_words_that_it_has_for_a_row_that_is_otherwise_good() -> None:
    [first, second] = decode_ndjson(records(BAD[:1]), CATALOG).violations
    assert first.message == "P '1': strict property 'b' expects I32, got string \"z\""
    assert second.message == "@range violation on P.a: value 100 is outside 0..10"
    assert (second.ids, second.line, second.table_key) == (("1",), 1, "node:P")


@pytest.mark.parametrize("before", [0, 30], ids=["few", "many"])
def test_a_record_is_told_with_every_member_that_it_must_not_have_and_its_values(before: int) -> None:
    data = records(GOOD[:before]) + b"".join(
        json.dumps(record).encode() + b"\n"
        for record in (
            {"type": "P", "data": {"k": "1", "zzz": 1, "a": 100, "yyy": 2, "b": "x"}},
            {"type": "P", "data": {"k": "2", "zzz": 1, "a": 1, "b": 1, "id": 7, "__x": 1}},
            {"edge": "E", "from": 1, "data": {"w": "x", "src": "a", "vvv": 1}},
            {"type": "P", "branch": "main", "more": 1, "data": {"k": "3", "b": 1}},
            {"type": "Ghost", "more": 1, "data": {}},
            {"type": "P", "more": 1, "data": []},
        )
    )
    found = decode_ndjson(data, CATALOG)
    assert list(told([found]).values()) == [
        [("W017", "zzz"), ("W017", "yyy"), ("W002", "b"), ("W010", "a")],
        [("W017", "zzz"), ("W017", "__x"), ("W019", "id")],
        [("W019", None), ("W019", None), ("W018", "src"), ("W017", "vvv"), ("W002", "w")],
        [("W019", None), ("W019", None), ("W001", "a")],
        [("W019", None), ("W019", None)],
        [("W019", None), ("W019", None)],
    ]
    edges = [each.message for each in found.violations if each.line == before + 3]
    assert edges[:2] == [
        f"line {before + 3}: field 'from' must be a string",
        f"line {before + 3}: an edge record requires field 'to'",
    ]
    assert sum(part.rows.num_rows for part in found.types.values()) == before


def test_a_row_of_a_frame_without_its_ends_is_told_with_its_values() -> None:
    frame = pa.table(
        {"from": ["a", None, "a"], "to": ["b", None, "b"], "w": [1, 1 << 40, 1], "since": ["x", "x", None]}
    )
    found = decode_frame(frame, CATALOG, edge="E")
    assert told([found]) == {
        1: [("W002", "since")],
        2: [("W019", "from"), ("W019", "to"), ("W002", "since"), ("W003", "w")],
    }
    assert found.types["edge:E"].rows.num_rows == 1
