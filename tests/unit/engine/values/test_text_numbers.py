"""Numbers of texts by their hashes: as a table would give them, whatever texts repeat and hashes meet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.cores import spread_over
from omnigraph.engine.values import text_hashes as hashes_module
from omnigraph.engine.values import text_numbers as module
from omnigraph.engine.values.text_hashes import text_hashes
from omnigraph.engine.values.text_numbers import text_numbers


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEWEST", 1)
        patch.setattr(module, "_SAMPLE", 64)
        patch.setattr(hashes_module, "_PART", 32)
        patch.setattr(hashes_module, "_CHUNK", 8)
        yield


def check(texts: list[str]) -> bool:
    """Whether they were numbered; if so, rightly."""
    column = pa.array(texts, pa.utf8())
    found = text_numbers(column)
    if found is None:
        return False
    values = column.take(pa.array(found.places))
    assert len(values.unique()) == len(values) == len(set(texts))
    assert values.take(pa.array(found.numbers)).to_pylist() == texts
    return True


TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=300), st.sampled_from([1, 2, 4]))
def test_equal_texts_get_the_same_number_and_different_ones_another(texts: list[str], threads: int) -> None:
    with spread_over(threads):
        check(texts)


def test_texts_that_nearly_all_differ_are_numbered() -> None:
    assert check([f"person {number}" for number in range(500)])
    assert check([f"person {number}" for number in range(500)] + ["person 7", "person 7", ""])


def test_texts_that_repeat_are_left_to_a_table() -> None:
    assert not check(["a", "b", "c"] * 100)
    assert not check([f"person {number // 2}" for number in range(500)])
    # What a sample does not show is seen when they are in order.
    assert not check([f"person {number}" if number % 8 == 0 else "one" for number in range(504)])


def test_hashes_that_share_their_high_bits_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def alike(texts: pa.Array) -> object:
        return np.array([(0xABCDEF << 40) | int(text[1:]) for text in texts.to_pylist()], np.uint64)

    monkeypatch.setattr(module, "text_hashes", alike)
    texts = [f"t{number}" for number in range(15)]  # the place of each takes four bits
    assert check([*texts, texts[5]])
    assert check([*texts[::-1], texts[5]])


def test_different_texts_of_one_hash_are_left_to_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def met(texts: pa.Array) -> object:
        found = text_hashes(texts)
        found[3] = found[40]
        return found

    monkeypatch.setattr(module, "text_hashes", met)
    assert not check([f"person {number}" for number in range(100)])


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_hashes_do_not_depend_on_threads_or_pieces(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.array([f"{'x' * (number % 40)}{number}" for number in range(1_000)]).slice(7)
    with spread_over(threads):
        found = text_hashes(texts)
    monkeypatch.setattr(hashes_module, "_CHUNK", 1 << 20)
    monkeypatch.setattr(hashes_module, "_PART", 1 << 20)
    assert found.tolist() == text_hashes(texts).tolist()
