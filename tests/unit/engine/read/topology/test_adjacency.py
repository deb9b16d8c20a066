"""Neighbour lists agree with a dictionary of sets, whichever way they are indexed."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.columns.arrays import spread
from omnigraph.engine.read.topology import adjacency as adjacency_module
from omnigraph.engine.read.topology.adjacency import Adjacency, build, woven
from omnigraph.engine.read.topology.against import Against
from omnigraph.engine.read.topology.membership import are_neighbours
from omnigraph.engine.read.topology.sorting import sort_entries

Triple = tuple[int, int, int]
# Thin row ids make the lists use a search instead of a direct index.
ROWS = st.sampled_from([0, 1, 2, 5, 40]) | st.sampled_from([3 << 40, (3 << 40) + 1])


@st.composite
def triples(draw: st.DrawFn) -> list[Triple]:
    pairs = draw(st.lists(st.tuples(ROWS, ROWS), max_size=12))
    edges = draw(st.permutations(range(len(pairs))))
    return [(source, target, edge) for (source, target), edge in zip(pairs, edges, strict=True)]


def lists_of(found: list[Triple]) -> Adjacency:
    columns = [np.array([triple[place] for triple in found], np.int64) for place in range(3)]
    return build(*columns)


def asked() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([0, 1, 2, 3, 5, 40, 41, 3 << 40, 7 << 40, 0])


@given(triples())
def test_expanding_yields_each_stored_entry_once_in_order(found: list[Triple]) -> None:
    by_source = defaultdict(list)
    for source, target, edge in found:
        by_source[source].append((target, edge))
    rows = asked()
    at, neighbours, edges = lists_of(found).expand(rows)
    expected = [(place, *entry) for place, row in enumerate(rows.tolist()) for entry in sorted(by_source[row])]
    assert list(zip(at.tolist(), neighbours.tolist(), edges.tolist(), strict=True)) == expected


@given(triples(), st.sets(ROWS, min_size=1), st.integers(1, 8))
def test_the_simple_form_for_some_rows_is_that_of_all(found: list[Triple], some: set[int], share: int) -> None:
    rows = np.array(sorted(some))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(adjacency_module, "_MANY_ENTRIES", 0)
        patched.setattr(adjacency_module, "_SHARE_LOOKED_AT", share)
        lists = lists_of(found)
        for _ in range(3):  # the last of them looks at all entries, whatever the share
            few = lists.simple_from(rows)
            for mine, whole in zip(few.expand(rows), lists_of(found).simple.expand(rows), strict=True):
                assert mine.tolist() == whole.tolist()


def test_few_rows_of_many_are_reduced_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjacency_module, "_MANY_ENTRIES", 100)
    lists = lists_of([(n % 50, n % 7, n) for n in range(1_000)])
    few = lists.simple_from(np.array([3, 9]))
    assert few.expand(np.array([3, 9]))[0].tolist() == [0] * 7 + [1] * 7
    assert "_reduced" not in vars(lists)
    assert lists.simple_from(np.arange(50)) is lists.simple  # so many that all are looked at


@given(triples())
def test_the_simple_form_names_each_neighbour_once(found: list[Triple]) -> None:
    rows = asked()
    at, neighbours, _ = lists_of(found).simple.expand(rows)
    pairs = {(source, target) for source, target, _ in found}
    expected = [
        (place, far) for place, row in enumerate(rows.tolist()) for far in sorted(t for s, t in pairs if s == row)
    ]
    assert list(zip(at.tolist(), neighbours.tolist(), strict=True)) == expected


@given(triples(), st.sampled_from([1, 1_000]))
def test_edges_that_are_looked_up_along_the_edges_are_those_that_were_stored(found: list[Triple], often: int) -> None:
    """One entry is searched for; asked for often enough, all are worked out."""
    simple = [*{(source, target): (source, target, edge) for source, target, edge in found}.values()]
    simple = [(s, t, e) for s, t, e in simple if t < 1 << 32]
    along, stored = lists_of(simple), lists_of([(target, source, edge) for source, target, edge in simple])
    assert Against.suits(stored)
    lists = Against(stored.offsets, stored.neighbours, stored.keys, along).knowing(stored.facts)
    for entry in range(len(stored)) if often == 1 else [*range(len(stored))] * 40:
        assert lists.edges_at(np.array([entry])).tolist() == stored.edges_at(np.array([entry])).tolist()
    assert lists.edges.tolist() == stored.edges.tolist()
    rows = asked()
    assert [each.tolist() for each in lists.expand(rows)] == [each.tolist() for each in stored.expand(rows)]
    assert not Against.suits(lists_of([(1, 2, 0), (1, 2, 1)]))


@given(triples(), st.lists(st.tuples(ROWS, ROWS), max_size=8))
def test_connection_tests_and_connecting_edges_agree_with_the_entries(
    found: list[Triple], questions: list[tuple[int, int]]
) -> None:
    lists = lists_of(found)
    near, far = (np.array([pair[side] for pair in questions], np.int64) for side in (0, 1))
    joined = [sorted(edge for source, target, edge in found if (source, target) == pair) for pair in questions]
    assert are_neighbours(lists, near, far).tolist() == [bool(edges) for edges in joined]
    at, edges = lists.edges_between(near, far)
    assert list(zip(at.tolist(), edges.tolist(), strict=True)) == [
        (place, edge) for place, group in enumerate(joined) for edge in group
    ]


@given(triples())
def test_owners_name_the_node_of_every_entry(found: list[Triple]) -> None:
    assert lists_of(found).owners.tolist() == sorted(source for source, _, _ in found)


def test_thin_row_ids_are_indexed_by_search_and_dense_ones_directly() -> None:
    assert isinstance(lists_of([(7, 1, 0), (9, 1, 1)]).keys, int)
    assert not isinstance(lists_of([(0, 1, 0), (1 << 40, 1, 1)]).keys, int)


def test_ranges_are_flattened_in_order() -> None:
    owner, entry = spread(np.array([5, 0, 2]), np.array([7, 0, 3]))
    assert owner.tolist() == [0, 0, 2]
    assert entry.tolist() == [5, 6, 2]


@pytest.mark.parametrize("settled", [True, False])
def test_parallel_edges_keep_ascending_edge_ids(settled: bool) -> None:
    one = np.zeros(4, np.int64)
    edges = np.array([0, 1, 2, 3] if settled else [3, 1, 0, 2])
    assert build(one, one, edges, settled=settled).edges.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("block", [1, 7, 1 << 15])
def test_what_is_reached_in_blocks_is_what_is_reached(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjacency_module, "_BLOCK", block)
    random = np.random.default_rng(5)
    for entries in (0, 1, 60, 200):
        lists = build(random.integers(0, 20, entries), random.integers(0, 90, entries), np.arange(entries))
        for count in (0, 1, 5, 20):
            starts = np.sort(random.permutation(25)[:count])
            assert lists.reached_once(starts).tolist() == sorted(set(lists.reached(starts).tolist()))


@pytest.mark.parametrize(
    ("nodes", "first_edge"),
    [(50, 0), (1 << 20, 1 << 20), (1 << 22, 1 << 33), (1 << 31, 1 << 40)],
    ids=["few bits", "64 bits", "groups of sources", "too many bits for groups"],
)
def test_entries_are_sorted_alike_whatever_the_width_of_their_numbers(nodes: int, first_edge: int) -> None:
    drawn, count = np.random.default_rng(11), 40_000  # more than are packed at a time
    sources, neighbours = drawn.integers(0, nodes, (2, count))
    sources[:2_000], neighbours[:2_000] = sources[0], neighbours[0]  # parallel edges
    edges = drawn.permutation(count) * 7 + drawn.integers(0, first_edge + 1)
    expected = np.lexsort((edges, neighbours, sources))
    for settled_order in (np.arange(count), np.argsort(edges)):
        mine = [column[settled_order] for column in (sources, neighbours, edges)]
        found = sort_entries(*mine, settled=False)
        for column, sorted_column in zip((sources, neighbours, edges), found, strict=True):
            np.testing.assert_array_equal(sorted_column, column[expected])
    narrow = sort_entries(*(column.astype(np.int32) for column in (sources, neighbours)), edges, settled=False)
    if nodes < 1 << 31:
        np.testing.assert_array_equal(narrow[1], neighbours[expected])


@given(st.tuples(triples(), triples(), triples()))
def test_woven_parts_are_the_lists_of_all_entries(given_parts: tuple[list[Triple], ...]) -> None:
    # The neighbours of each part are beyond those of the part before, as nodes of another type are.
    shifted = [[(s, t + (at << 43), e) for s, t, e in part] for at, part in enumerate(given_parts)]
    rows = np.unique(np.array([s for part in shifted for s, _, _ in part] + [7], np.int64))
    parts = []
    for part in shifted:
        lists = build(*(np.array([entry[column] for entry in part], np.int64) for column in range(3)))
        parts.append(lists.expand(rows))
    entries = sorted(entry for part in shifted for entry in part)
    found = woven(rows, parts)
    at, nodes, edges = found.expand(rows)
    assert list(zip(rows[at].tolist(), nodes.tolist(), edges.tolist(), strict=True)) == entries
    assert found.degrees(np.array([6, 40, 8])).tolist() == [0, sum(s == 40 for s, _, _ in entries), 0]


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("some", [False, True])
def test_entries_are_counted_in_blocks(block: int, some: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjacency_module, "_COUNTED_BLOCK", block)
    monkeypatch.setattr(adjacency_module, "_MANY_ROWS", 1)
    pick = np.random.default_rng(5)
    ends = pick.integers(0, 6, (2, 300))
    lists = build(ends[0], ends[1], np.arange(300))
    rows = np.array([0, 2, 5]) if some else np.arange(6)
    for times in (None, pick.integers(1, 9, len(rows))):
        expected = np.zeros(6, np.int64)
        for source, target in ends.T.tolist():
            if source in rows:
                expected[target] += 1 if times is None else times[rows.tolist().index(source)]
        nodes, counts = lists.counted(rows, times)
        assert nodes.tolist() == np.flatnonzero(expected).tolist()
        assert counts.tolist() == expected[expected > 0].tolist()
