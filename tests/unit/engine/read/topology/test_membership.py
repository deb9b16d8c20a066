"""Many questions whether nodes are neighbours: the answers are those of a set of pairs, however they are found."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.topology import membership
from omnigraph.engine.read.topology.adjacency import Adjacency, build
from omnigraph.engine.read.topology.membership import (
    Marked,
    are_neighbours,
    connected,
    enough_tests,
    grouped,
    is_worth_marking,
)
from omnigraph.engine.read.topology.overlay import Overlay

ROWS = st.integers(0, 40) | st.sampled_from([3 << 40, (3 << 40) + 1, (1 << 32) + 5])
PAIRS = st.lists(st.tuples(ROWS, ROWS), max_size=60)


def lists_of(pairs: list[tuple[int, int]]) -> Adjacency:
    near, far = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return build(near, far, np.arange(len(pairs)))


@given(PAIRS, PAIRS, st.sampled_from([1, 3, 1 << 14]), st.sampled_from([1, 3, 24]))
def test_the_answers_are_those_of_a_set(
    pairs: list[tuple[int, int]], questions: list[tuple[int, int]], entries: int, slots: int
) -> None:
    questions += pairs[:3]
    near, far = (np.array([pair[side] for pair in questions], np.int64) for side in (0, 1))
    expected = [pair in set(pairs) for pair in questions]
    with (
        patch.object(membership, "_MANY_TESTS", 1),
        patch.object(membership, "_ENTRIES", entries),
        patch.object(membership, "_MOST_SLOTS", slots),
    ):
        assert are_neighbours(lists_of(pairs), near, far).tolist() == expected
        patched = Overlay(lists_of([(4, 5), (6, 7)]), np.unique(near), lists_of(pairs))
        assert are_neighbours(patched, near, far).tolist() == expected


def test_tables_and_searches_agree_on_a_larger_graph() -> None:
    random = np.random.default_rng(3)
    pairs = np.unique(random.integers(0, 3_000, (30_000, 2)), axis=0)
    lists = build(pairs[:, 0], pairs[:, 1], np.arange(len(pairs)))
    near, far = random.integers(0, 3_200, (2, 100_000))
    far[:20_000] = lists.neighbours_at(lists.bounds(near[:20_000] % 2_000)[0])
    found = are_neighbours(lists, near, far)
    with patch.object(membership, "_MANY_TESTS", 1 << 30):
        assert np.array_equal(found, are_neighbours(lists, near, far))
    assert 0 < int(found.sum()) < len(found)


def test_numbers_that_differ_by_a_multiple_of_the_tables_width_are_told_apart() -> None:
    far_away = 7 << 40  # where the second type of a union begins
    lists = lists_of([(0, far_away), (1, 5)])
    near = np.zeros(1 << 15, np.int64)
    far = np.where(near == 0, far_away, 0)
    far[0], far[1] = 5, far_away - (1 << 32)
    found = are_neighbours(lists, near, far)
    assert not found[:2].any()
    assert found[2:].all()


def test_a_node_without_neighbours_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "_MANY_TESTS", 1)
    lists = lists_of([(1, 2)])
    nodes, place = grouped(np.array([0, 0, 1, 9]))
    assert connected(lists, nodes, place, np.array([2, 0, 2, 2])).tolist() == [False, False, True, False]
    assert connected(lists_of([]), nodes, place, np.array([2, 0, 2, 2])).tolist() == [False] * 4


def test_a_long_list_is_marked_for_many_tests_at_a_time() -> None:
    star = lists_of([(0, number) for number in range(100_000)])
    assert enough_tests(star, np.array([0])) == 400_000
    assert enough_tests(star, np.array([1])) == 1 << 16


@given(PAIRS, PAIRS, st.sampled_from([1, 3, 24]))
def test_marked_entries_leave_all_neighbours_and_confirm_no_others(
    pairs: list[tuple[int, int]], questions: list[tuple[int, int]], slots: int
) -> None:
    questions += pairs[:3]
    nodes = np.unique(np.array([near for near, _ in questions], np.int64))
    near, far = (np.array([pair[side] for pair in questions], np.int64) for side in (0, 1))
    expected = {at for at, pair in enumerate(questions) if pair in set(pairs)}
    with patch.object(membership, "_MOST_SLOTS", slots):
        asked = Marked(lists_of(pairs), nodes)
    place = np.searchsorted(nodes, near)
    likely = asked.likely(asked.signs(place), far)
    assert expected <= set(likely.tolist())
    assert set(likely[asked.confirmed(place[likely], far[likely])].tolist()) == expected


def test_flags_settle_nearly_all_tests_that_fail() -> None:
    random = np.random.default_rng(4)
    pairs = np.unique(random.integers(0, 3_000, (30_000, 2)), axis=0)
    asked = Marked(build(pairs[:, 0], pairs[:, 1], np.arange(len(pairs))), np.arange(3_000))
    near, far = random.integers(0, 3_000, (2, 100_000))
    likely = asked.likely(asked.signs(near), far + 5_000)
    assert len(likely) < 4_000


def test_long_lists_are_not_marked_for_few_tests() -> None:
    lists = build(np.repeat(np.arange(4), 20_000), np.tile(np.arange(20_000), 4), np.arange(80_000))
    assert is_worth_marking(lists, np.array([1]), 20_000)
    assert not is_worth_marking(lists, np.arange(4), 20_000)
    assert not is_worth_marking(lists, np.array([1]), 10)
    with patch.object(membership, "_MOST_MARKED", 10_000):
        assert not is_worth_marking(lists, np.array([1]), 1 << 20)
