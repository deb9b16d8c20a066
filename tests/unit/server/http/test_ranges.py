"""Byte ranges and entity tags, as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from omnigraph.server.http.ranges import Changed, NotModified, Part, Unsatisfiable, Whole, parse_range, wanted


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 20))
def test_a_range_is_what_a_slice_would_be(first: int, last: int, size: int) -> None:
    data = bytes(range(size))
    match parse_range(f"bytes={first}-{last}", size):
        case Part(start, end):
            assert data[start:end] == data[first : last + 1]
        case Unsatisfiable(start, end):
            assert (start, end) == (first, last + 1)
            assert first >= size
        case Whole():
            assert first > last


@given(st.text(st.characters(max_codepoint=255), max_size=20))
def test_any_text_is_some_answer(text: str) -> None:
    assert isinstance(parse_range(text, 10), Whole | Part | Unsatisfiable)
    headers = Headers({"if-match": text, "if-none-match": text, "if-range": text, "range": text})
    assert isinstance(wanted(headers, "tag", 10, head=False), Whole | Part | Unsatisfiable | NotModified | Changed)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('"tag"', True),
        ('"a" , "tag"', True),
        ('"a","b"', False),
        ('W/"tag"', True),
        ("*", True),
        ("tag", False),
        ('"tag" x', False),
    ],
)
def test_a_list_of_tags_is_compared_weakly(given: str, expected: bool) -> None:
    found = wanted(Headers({"if-none-match": given}), "tag", 10, head=False)
    assert isinstance(found, NotModified) is expected
