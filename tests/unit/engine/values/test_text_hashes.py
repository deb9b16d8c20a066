"""Texts as numbers: exact for short ones, hashes for all."""

from __future__ import annotations

import tracemalloc
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.values.text_hashes import distinct_texts, short_texts, text_hash, text_hashes

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


@given(st.lists(st.text(max_size=30), max_size=40), st.integers(0, 5), st.booleans())
def test_a_text_has_one_hash_however_it_is_computed(texts: list[str], skipped: int, large: bool) -> None:
    column = pa.array(texts, pa.large_utf8() if large else pa.utf8()).slice(skipped)
    with patch.multiple("omnigraph.engine.values.text_hashes", _CHUNK=3, _PART=7):
        assert text_hashes(column).tolist() == [text_hash(text.encode()) for text in texts[skipped:]]


def test_hashes_of_texts_differ_where_the_texts_do() -> None:
    texts = [
        "",
        "a",
        "b",
        "ab",
        "ba",
        "é",
        "日本",
        "\0",
        "\0\0",
        "x" * 100,
        "x" * 101,
        *(f"p{at:05d}" for at in range(3_000)),
    ]
    assert len({text_hash(text.encode()) for text in texts}) == len(texts)


def test_hashing_many_texts_takes_no_memory_for_each_of_their_bytes() -> None:
    texts = pa.array([f"p{number:07d}" for number in range(200_000)])
    tracemalloc.start()
    try:
        hashes = text_hashes(texts)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 8 * hashes.nbytes  # forty for each byte would be 64 MB


@given(st.lists(st.none() | st.text(max_size=4), max_size=40), st.integers(0, 40))
def test_each_text_is_found_once(texts: list[str | None], cut: int) -> None:
    column = pa.chunked_array([texts[:cut], texts[cut:]], pa.utf8())
    with patch.multiple("omnigraph.engine.values.text_hashes", _MANY=1, _BLOCK=7):
        found = distinct_texts(column).to_pylist()
    assert sorted(found, key=repr) == sorted(set(texts), key=repr)


@pytest.mark.parametrize("last", ["p1", "longer than eight bytes", "", None])
def test_many_texts_are_told_apart_whatever_their_last_one_is(last: str | None) -> None:
    texts = pa.chunked_array([[f"p{at % 30_000}" for at in range(100_000)], [last]], pa.utf8())
    found = distinct_texts(texts)
    assert sorted(found.to_pylist(), key=repr) == sorted(pc.unique(texts).to_pylist(), key=repr)
    found.validate(full=True)
