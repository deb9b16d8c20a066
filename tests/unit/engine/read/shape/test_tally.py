"""Folds of counted integers and sums in blocks agree with Python's integers, and with the naive evaluator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.temporal import DateTime
from omnigraph.engine.read.shape import tally
from omnigraph.engine.read.shape.tally import Integers, Tally, exact_sum
from omnigraph.ids import now_micros
from omnigraph.testing.naive.evaluator import evaluate
from omnigraph.testing.naive.image import Placeholders, empty_image, load, record_of

KINDS = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, list[int]]:
    kind = draw(st.sampled_from(sorted(KINDS)))
    low, high = KINDS[kind]
    start = draw(st.sampled_from([low, high, 0]) | st.integers(low, high))
    near = st.integers(max(low, start - 9), min(high, start + 9))
    return kind, draw(st.lists(near | st.integers(low, high), min_size=1, max_size=12))


@given(columns(), st.integers(2, 4), st.booleans(), st.randoms(use_true_random=False))
def test_a_tally_knows_count_sum_and_extremes_of_each_group(
    column: tuple[str, list[int]], count: int, repeated: bool, random: Random
) -> None:
    kind, values = column
    given_values = [value if random.random() < 0.8 else None for value in values]
    groups = [random.randrange(count) for _ in values]
    times = [random.randrange(1, 4) if repeated else 1 for _ in values]
    stored = pa.array([None, *given_values], kind).slice(1)
    with (
        patch.object(tally, "_FEWEST_ROWS", 0),
        patch.object(tally, "_MOST_COUNTERS", 1 << 10),
        patch.object(tally, "_TALLIED", 5),
    ):
        numbers = Integers.of(stored)
        if numbers is None:
            assert all(value is None for value in given_values)
            return
        made = Tally.of(numbers, np.array(groups), count, np.array(times) if repeated else None)
    there = [value for value in given_values if value is not None]
    if made is None:
        wide = max(there) - min(there) + 1
        assert wide * count > len(values) << 10 or max(map(abs, there)) * sum(times) >= 1 << 53
        return
    rows = list(zip(given_values, groups, times, strict=True))
    members = [
        [value for value, group, often in rows if group == each and value is not None for _ in range(often)]
        for each in range(count)
    ]
    assert made.rows.tolist() == [len(each) for each in members]
    assert made.sums().tolist() == [sum(each) for each in members]
    assert made.different().sums().tolist() == [sum(set(each)) for each in members]
    for largest, best in ((True, max), (False, min)):
        found = made.extremes(largest=largest).tolist()
        assert [value for value, each in zip(found, members, strict=True) if each] == [
            best(each) for each in members if each
        ]


@pytest.mark.parametrize(
    ("values", "kind", "numbers"),
    [
        ([date(1970, 1, 3), date(1969, 12, 31)], pa.date32(), [2, -1]),
        ([date(1970, 1, 2), date(1970, 1, 1)], pa.date64(), [86_400_000, 0]),
        ([3, 5], pa.uint32(), [3, 5]),
    ],
)
def test_what_is_an_integer_underneath(values: list[Any], kind: pa.DataType, numbers: list[int]) -> None:
    found = Integers.of(pa.array(values, kind))
    assert found is not None
    assert found.numbers.tolist() == numbers
    assert (found.low, found.high) == (min(numbers), max(numbers))


@pytest.mark.parametrize(
    "column", [pa.array([1.5]), pa.array([True]), pa.array([], pa.int32()), pa.nulls(3, pa.int64())]
)
def test_what_is_not_counted_by_number(column: pa.Array) -> None:
    assert Integers.of(column) is None


KEYS = {"one": "$a.s", "two": "$a.s, $a.b", "three": "$a.s, $a.b, $a.d"}
FOLDS = (
    "min($a.i) as p, max($a.i) as q, avg($a.i) as r, sum($a.i) as s, sum(distinct $a.i) as t, avg(distinct $a.u) as u"
)
OTHERS = "min($a.d) as v, max($a.d) as w, min($a.u) as x, max($a.u) as y, count($a.i) as z"
rows_of_numbers = st.fixed_dictionaries(
    {
        "s": st.sampled_from(["x", "y", None]),
        "b": st.sampled_from([True, False, None]),
        "d": st.sampled_from(["2020-01-01", "1969-12-31", None]),
        "i": st.none() | st.integers(-3, 3),
        "u": st.none() | st.integers(0, 4),
    }
)


@pytest.fixture(scope="module")
def empty_graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    schema = "node Ant { k: String @key  s: String?  b: Bool?  d: Date?  i: I32?  u: U64? }\nedge Near: Ant -> Ant"
    with og.init(tmp_path_factory.mktemp("tally") / "graph.omni", schema=schema) as graph:
        yield graph


@settings(max_examples=25)
@given(st.lists(rows_of_numbers, min_size=1, max_size=8), st.sampled_from(sorted(KEYS)), st.booleans())
def test_counted_numbers_give_what_the_naive_evaluator_gives(
    empty_graphs: og.Graph, rows: list[dict[str, Any]], keys: str, hop: bool
) -> None:
    graph = empty_graphs
    records = [{"type": "Ant", "data": {"k": str(at), **row}} for at, row in enumerate(rows)]
    pairs = [(str(at), str(other)) for at in range(len(rows)) for other in range(1 + at % 3)]
    records += [{"edge": "Near", "from": tail, "to": head} for tail, head in pairs if int(head) < len(rows)]
    graph.load([json.dumps(record) for record in records], mode="overwrite")
    match = "$c: Ant $c near $a" if hop else "$a: Ant $a.u < 4"
    named = ", ".join(f"{key} as k{at}" for at, key in enumerate(KEYS[keys].split(", ")))
    text = f"query q() {{ match {{ {match} }} return {{ {named}, {FOLDS}, {OTHERS} }} }}"
    catalog = graph.view().catalog
    image = load(catalog, empty_image(catalog), "append", [record_of(each) for each in records], Placeholders()).image
    expected = evaluate(compile_query(text, catalog).checked, catalog, image, {}, DateTime(now_micros() // 1000))
    with (
        patch.object(tally, "_FEWEST_ROWS", 0),
        patch.object(tally, "_MOST_COUNTERS", 1 << 16),
        patch.object(tally, "_TALLIED", 2),
    ):
        found = graph.query(text).rows()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


@given(columns(), st.integers(1, 5))
def test_a_sum_in_blocks_is_exact_or_not_given(column: tuple[str, list[int]], block: int) -> None:
    kind, values = column
    with patch.object(tally, "_BLOCK", block):
        found = exact_sum(np.array(values, kind))
    assert found == sum(values) or (found is None and max(map(abs, values)) >= tally._SAFE)


@pytest.mark.parametrize("values", [[], [-5, 3]])
def test_a_sum_of_few_numbers(values: list[int]) -> None:
    assert exact_sum(np.array(values, np.int64)) == sum(values)
