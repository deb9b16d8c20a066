"""Strict NDJSON: limits, line numbers, and one answer whichever way a block is read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.compiler.catalog import compile_schema
from omnigraph.engine.intake import ndjson as decoder
from omnigraph.engine.intake.inputs import lines
from omnigraph.engine.intake.inputs.lines import STRUCTURAL_SLOTS, blocks, one_object_each, split_lines
from omnigraph.engine.intake.ndjson import decode_ndjson
from omnigraph.engine.intake.ndjson_arrow import read_usual_lines
from omnigraph.engine.intake.records import Decoded, Intake
from omnigraph.engine.values.json_values import IMAGE, json_rows
from omnigraph.errors import ResourceLimitExceeded
from tests.thoroughness import examples

CATALOG = compile_schema(
    """
    node P {
      name: String @key  n: I32?  u: U64?  f: F32?  g: F64?  ok: Bool?  d: Date?  t: DateTime?
      v: Vector(2)?  tags: [String]?  ds: [Date]?  doc: Blob?  type: String?
    }
    node Q { x: String? }
    edge Knows: P -> P { since: Date? }
    """
)


def shown(decoded: Decoded) -> tuple[Any, Any]:
    """Rows with their lines (generated ids left out) and violations, for comparison."""
    rows = {}
    for key, part in decoded.types.items():
        keyed = key == "node:P"
        found = json_rows(part.rows, IMAGE)
        lines = part.places["line"].to_pylist()
        rows[key] = [
            (line, row if keyed else {k: v for k, v in row.items() if k != "id" or v.startswith("given")})
            for line, row in zip(lines, found, strict=True)
        ]
    return {key: part for key, part in rows.items() if part}, decoded.violations


def both_ways(data: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    monkeypatch.setattr(decoder, "_FEW_LINES", 0)
    by_block = decode_ndjson(data, CATALOG)
    monkeypatch.setattr(decoder, "_FEW_LINES", 10**9)
    by_line = decode_ndjson(data, CATALOG)
    return shown(by_block), shown(by_line)


SCALARS = [
    "null",
    "true",
    "1",
    "-0",
    "1.5",
    "1e2",
    "1e400",
    "NaN",
    "Infinity",
    "-Infinity",
    "01",
    "2147483648",
    "[]",
    "{}",
    '""',
]
TEXTS = [
    '"a"',
    '"\\u0061"',
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"}{"',
    '"a\\"b"',
    '"a\\\\"',
    '"\\x"',
    '"2024-01-02"',
    '"base64:AA=="',
    '"\t"',
]
VALUES = st.sampled_from(
    [*SCALARS, *TEXTS, "[1,2]", "[1,null]", '["a",null]', "[19000]", '["2024-01-02",3]', "[[1]]", '{"k":1,"k":2}']
)
PROPERTIES = st.sampled_from(
    ["name", "n", "u", "f", "g", "ok", "d", "t", "v", "tags", "ds", "doc", "type", "id", "zzz", "_rowid"]
)


@st.composite
def records(draw: st.DrawFn) -> str:
    """Mostly plausible lines, often with something wrong in them."""
    members = draw(st.lists(st.tuples(PROPERTIES, VALUES), max_size=3))
    inner = ",".join(f'"{name}":{value}' for name, value in members)
    name = draw(st.sampled_from(['"name":"a"', '"name":"b\\u0062"', '"name":"c"']))
    data = "{" + ",".join(filter(None, [name, inner])) + "}"
    return draw(
        st.sampled_from(
            [
                f'{{"type":"P","data":{data}}}',
                f'{{"type":"P","data":{data}}}',
                f' {{ "type" : "P" , "data" : {data} }} ',
                f'{{"data":{data},"type":"P"}}',
                '{"type":"Q"}',
                '{"type":"Q","data":{"id":"given"}}',
                '{"type":"Q","data":{"id":null}}',
                '{"type":"Q","data":null}',
                '{"edge":"knows","from":"a","to":"b"}',
                '{"edge":"KNOWS","from":"a","to":"b","data":{"since":"2024-01-02"}}',
                '{"edge":"Knows","from":"a","to":"b","data":{"since":19000}}',
                '{"edge":"Knows","from":null,"to":"b"}',
                '{"edge":"Knows","from":"a"}',
                '{"type":"Q"} {"type":"Q"}',
                '{"type":"Q"}{"type":"Q","data":{"id":"other"}}',
                '{"type":"Q","data":{}',
                '{"type":"P","data":{"name":"}',
                '{"x":"y"}}',
                '{"type":"Q","data":',
                '{"type":"Q","data":{"x":"y"}}}',
                '{"type":"P","data":{"name":"z","tags":[',
                '"x"]}}',
                '{"type":"Nope"}',
                "",
                "  \t",
                "\x0c",
                "[]",
                "\x00",
            ]
        )
    )


@settings(max_examples=examples(100))
@given(st.lists(records(), max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_reading_by_block_and_by_line_give_one_answer(lines: list[str], end: str, final: bool) -> None:
    data = (end.join(lines) + (end if final else "")).encode()
    with pytest.MonkeyPatch.context() as patch:
        by_block, by_line = both_ways(data, patch)
    assert by_block == by_line


def test_usual_lines_take_the_fast_way_and_the_others_do_not() -> None:
    usual = [f'{{"type":"P","data":{{"name":"n{i}","d":"2024-01-02"}}}}' for i in range(5)]
    data = "\n".join([*usual, '{"data":{"name":"x"},"type":"P"}']).encode()
    raw, rest = read_usual_lines(split_lines(data, 1), CATALOG, None)
    assert [part.info.name for part in raw] == ["P"]
    assert raw[0].lines.tolist() == [1, 2, 3, 4, 5]
    assert rest.tolist() == [5]


def test_objects_that_cross_lines_never_pass_as_whole_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    # The middle two lines make one object, the last two objects share a line: three lines, three objects.
    data = b'{"type":"P","data":\n{"type":"P","name":"b"}}\n{"type":"Q"} {"type":"Q"}\n'
    by_block, by_line = both_ways(data, monkeypatch)
    assert by_block == by_line
    assert [violation.line for violation in by_block[1]] == [1, 2, 3]


def test_rows_keep_the_order_of_their_lines_across_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "_FEW_LINES", 0)
    lines = ['{"type":"P","data":{"name":"a"}}', '{"data":{"name":"b"},"type":"P"}', '{"type":"P","data":{"name":"c"}}']
    decoded = decode_ndjson("\n".join(lines).encode(), CATALOG)
    assert decoded.types["node:P"].rows["id"].to_pylist() == ["a", "b", "c"]


def test_line_numbers_run_through_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "BLOCK_BYTES", 40)
    data = b'\n\n{"type":"Q"}\r\n\n{"type":"Q"}\n{"type":"Q","data":{"x":1}}\n{"type":"Q"}'
    decoded = decode_ndjson(data, CATALOG, first_line=10)
    assert decoded.types["node:Q"].places["line"].to_pylist() == [12, 14, 16]
    assert [violation.line for violation in decoded.violations] == [15]


def test_every_bad_row_is_reported_and_every_good_one_kept() -> None:
    lines = [
        '{"type":"P","data":{"name":"a","n":"x","f":true}}',
        '{"type":"P","data":{"name":"b"}}',
        "nonsense",
        '{"type":"P"}',
    ]
    decoded = decode_ndjson("\n".join(lines).encode(), CATALOG, file="people.jsonl")
    assert decoded.types["node:P"].rows["id"].to_pylist() == ["b"]
    assert [(v.code, v.line, v.property_name) for v in decoded.violations] == [
        ("W002", 1, "f"),
        ("W002", 1, "n"),
        ("W019", 3, None),
        ("W001", 4, "name"),
    ]
    assert decoded.violations[0].ids == ("a",)
    assert str(decoded.violations[0].error()).startswith("W002: people.jsonl: P 'a': strict property 'f' expects F32?")
    assert str(decoded.violations[0].error()).endswith("(line 1)")


def test_a_fill_may_complete_required_properties() -> None:
    catalog = compile_schema("node D { text: String v: Vector(2) @embed(text) }")
    data = b'{"type":"D","data":{"text":"hi"}}'
    assert [v.code for v in decode_ndjson(data, catalog).violations] == ["W001"]

    def fill(info: Any, columns: dict[str, Any]) -> dict[str, Any]:
        import pyarrow as pa

        return {**columns, "v": pa.array([[1, 2]], pa.list_(pa.float32(), 2))}

    assert json_rows(decode_ndjson(data, catalog, Intake(fill)).types["node:D"].rows)[0]["v"] == [1.0, 2.0]


def test_a_line_may_have_so_many_bytes_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    # Issue 13, item 10: what a write accepts can be loaded again, so the limit is that of one text in Arrow.
    assert lines.LINE_BYTES == 2**31 - 1
    monkeypatch.setattr(lines, "LINE_BYTES", 200_000)
    head, tail = b'{"type":"Q","data":{"x":"', b'"}}'
    room = 200_000 - len(head) - len(tail)
    assert decode_ndjson(head + b"a" * room + tail + b"\r\n", CATALOG).violations == ()
    with pytest.raises(ResourceLimitExceeded, match="graph_batch_line_bytes") as refused:
        decode_ndjson(head + b"a" * (room + 1) + tail, CATALOG)
    assert (refused.value.limit, refused.value.actual) == (200_000, 200_001)


def test_a_line_may_have_so_much_structure_and_no_more() -> None:
    """Commas count no longer (issue 13, item 10): a list or a vector of any length can be written and comes back."""

    def line(items: list[Any]) -> bytes:
        return json.dumps({"type": "P", "data": {"name": 'in strings {}[],:\\"{ is free', "tags": items}}).encode()

    around = 1 + 4 + 2 + 4  # the count starts at 1; then braces, brackets and colons outside the list
    most = (STRUCTURAL_SLOTS - around) // 2
    assert [each.code for each in decode_ndjson(line([{}] * most), CATALOG).violations] == ["W002"]
    with pytest.raises(ResourceLimitExceeded, match="graph_batch_json_structural_slots") as refused:
        decode_ndjson(line([{}] * (most + 1)), CATALOG)
    assert (refused.value.limit, refused.value.actual) == (STRUCTURAL_SLOTS, STRUCTURAL_SLOTS + 1)
    assert decode_ndjson(line(["x"] * (3 * STRUCTURAL_SLOTS)), CATALOG).violations == ()


@given(st.binary(max_size=40), st.integers(1, 10))
def test_blocks_are_whole_lines_and_lose_nothing(data: bytes, size: int) -> None:
    pieces = list(blocks(data, size))
    assert b"".join(pieces) == data
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])
    assert split_lines(data, 1).physical == data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


@given(st.lists(st.text(st.sampled_from('{}"\\ a'), max_size=8), min_size=1, max_size=4))
def test_balance_is_counted_outside_strings(texts: list[str]) -> None:
    lines = split_lines("\n".join(texts).encode(), 1)
    if not len(lines):
        return
    found = one_object_each(lines)
    expected = []
    inside = False
    for index in range(len(lines)):
        depth, escaped = 0, False  # no run of backslashes reaches past a line end
        for char in lines.text(index).decode():
            quote = char == '"' and not escaped
            escaped = char == "\\" and not escaped
            inside ^= quote
            if not inside:
                depth += (char == "{") - (char == "}")
        if inside:
            assert not found.any()  # a line that ends inside a string is not JSON; the block is read line by line
            return
        expected.append(depth == 0)
    assert np.array_equal(found, expected)
