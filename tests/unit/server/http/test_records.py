"""Records in an envelope: one line each, with the line they started on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.server.http.records import record_lines
from omnigraph.server.http.refusal import Refusal
from tests.thoroughness import examples

VALUES = st.dictionaries(st.text(max_size=5), st.one_of(st.text(max_size=8), st.integers(), st.none()), max_size=3)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(VALUES, st.sampled_from([None, 2]), st.sampled_from(["\n", "\n\n", " ", "\r\n"]))))
def test_every_record_keeps_its_value_and_its_first_line(
    records: list[tuple[dict[str, object], int | None, str]],
) -> None:
    text, starts = "", []
    for value, indent, gap in records:
        starts.append(text.count("\n") + 1)
        text += json.dumps(value, indent=indent) + gap
    found = record_lines(text).decode().split("\n")
    numbered = [(number, json.loads(line)) for number, line in enumerate(found, 1) if line.strip()]
    values = [value for value, _, _ in records]
    assert [value for _, value in numbered] == values
    if all(gap != " " for _, _, gap in records):  # a second record on a line moves to the next one
        assert [number for number, _ in numbered] == starts


def test_what_is_no_json_is_refused_with_its_line() -> None:
    with pytest.raises(Refusal, match="line 3"):
        record_lines('{"a":1}\n\n{"b":\n}')
