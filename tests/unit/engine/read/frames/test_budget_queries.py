"""A query that wants too much is stopped with a clear error, and others go on answering meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.match import expand as expand_module
from omnigraph.errors import QueryCancelled, ResourceLimitExceeded

PEOPLE, FRIENDS = 3_000, 12
REACH = "query q() { match { $a: Person $a knows{1,6} $b } return { count(*) as n } }"
SIX_HOPS = """
query q() {
  match { $a: Person $a knows $b $b knows $c $c knows $d $d knows $e $e knows $f $f knows $g }
  return { $a.k as a, $g.k as g, count($b.k where $d.k = $e.k) as n }
}
"""
POINT = "query q($k: String) { match { $p: Person { k: $k } } return { $p.k } }"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    graph = og.init(
        tmp_path_factory.mktemp("crowd") / "graph.omni", "node Person { k: String @key }\nedge Knows: Person -> Person"
    )
    keys = [f"p{number}" for number in range(PEOPLE)]
    graph.load(pa.table({"k": keys}), type="Person")
    numbers = np.random.default_rng(3).integers(0, PEOPLE, (2, PEOPLE * FRIENDS))
    ends = {name: pa.array(keys).take(pa.array(side)) for name, side in zip(("from", "to"), numbers, strict=True)}
    graph.load(pa.table(ends), edge="Knows")
    yield graph
    graph.close()


@pytest.mark.parametrize(
    ("text", "limits", "resource"),
    [
        (REACH, Limits(rows=1_000_000), "query_intermediate_rows"),
        (REACH, Limits(bytes=8 << 20), "query_bytes"),
        (SIX_HOPS, Limits(rows=5_000_000), "query_intermediate_rows"),
        (SIX_HOPS, Limits(bytes=32 << 20), "query_bytes"),
        (SIX_HOPS, Limits(seconds=0.0), "query_time_ms"),
    ],
    ids=["reach, rows", "reach, bytes", "six hops, rows", "six hops, bytes", "six hops, time"],
)
def test_a_runaway_query_is_stopped_while_others_are_answered(
    crowd: og.Graph, text: str, limits: Limits, resource: str
) -> None:
    errors: list[BaseException] = []

    def run_away() -> None:
        try:
            crowd.query(text, limits=limits)
        except BaseException as error:
            errors.append(error)

    runaway = threading.Thread(target=run_away)
    runaway.start()
    answered = 0
    while runaway.is_alive() or not answered:
        key = f"p{answered % PEOPLE}"
        assert crowd.query(POINT, params={"k": key}).rows() == [{"p.k": key}]
        answered += 1
    runaway.join()
    (error,) = errors
    assert isinstance(error, ResourceLimitExceeded)
    assert error.resource == resource
    assert resource in str(error)


class _SetLater(threading.Event):
    """An event that somebody sets while the query runs: after it was looked at some times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._left = looks

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


@pytest.mark.parametrize("text", [REACH, SIX_HOPS], ids=["reach", "six hops"])
def test_a_query_can_be_cancelled_in_the_middle(crowd: og.Graph, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand_module, "_PIECE", 10_000)
    with pytest.raises(QueryCancelled):
        crowd.query(text, cancel=_SetLater(8), limits=Limits(rows=None, bytes=None))


def test_a_step_in_pieces_gives_the_same_rows(crowd: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "query q() { match { $a: Person $a knows $b $b knows $c } return { $a.k, $b.k, $c.k } limit 5000 }"
    counted = "query q() { match { $a: Person $a knows $b $b knows $c $c.k > $a.k } return { count(*) as n } }"
    whole = (crowd.query(text).rows(), crowd.query(counted).scalar())
    monkeypatch.setattr(expand_module, "_PIECE", 1_000)
    assert (crowd.query(text).rows(), crowd.query(counted).scalar()) == whole
