"""Texts as numbers: exact for short ones, hashes for all."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.values.text_hashes import short_texts, text_hashes

TEXTS = st.lists(st.text(max_size=5), max_size=40)


@given(TEXTS, st.integers(0, 5), st.booleans())
def test_short_texts_are_equal_as_numbers_where_they_are_equal_as_texts(
    texts: list[str], skipped: int, large: bool
) -> None:
    found = short_texts(pa.array(texts, pa.large_utf8() if large else pa.utf8()).slice(skipped))
    mine = texts[skipped:]
    short = all(len(text.encode()) <= 8 and "\0" not in text for text in mine)
    assert (found is not None) == short
    if found is not None:
        for one, other in zip(mine, found.tolist(), strict=True):
            assert [text for text, number in zip(mine, found.tolist(), strict=True) if number == other] == [
                text for text in mine if text == one
            ]


@pytest.mark.parametrize("texts", [["abcdefghi"], ["a\0"], ["a", None], ["a"] * 40_000 + ["abcdefghi"]])
def test_texts_that_are_long_end_in_zero_or_are_missing_are_not_taken_for_numbers(texts: list[str | None]) -> None:
    assert short_texts(pa.array(texts, pa.utf8())) is None


def test_many_texts_are_numbered_in_pieces() -> None:
    texts = [f"p{at}" for at in range(100_000)]
    found, hashes = short_texts(pa.array(texts)), text_hashes(pa.array(texts))
    assert found is not None
    assert len(set(found.tolist())) == len(set(hashes.tolist())) == len(texts)
    in_chunks = short_texts(pa.chunked_array([texts[:7], [], texts[7:50_000], texts[50_000:]]))
    assert in_chunks is not None
    assert in_chunks.tolist() == found.tolist()
