"""Triangles at each node by tasks that map the neighbour lists beside the graph: no pair of neighbours is shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from omnigraph.engine.read.columns.arrays import Mask, Rows, spread
from omnigraph.engine.read.columns.rowindex import distinct_rows
from omnigraph.engine.read.topology.membership import are_neighbours
from omnigraph.pipeline.analytics.spark_lists import ListedEdges
from omnigraph.pipeline.analytics.spark_network import SparkEdges
from omnigraph.pipeline.analytics.spark_vectors import Array, NodeArray, Vectors

# Pairs of neighbours that are looked at together.
_PAIRS = 1 << 20


def triangles(nodes: Any, edges: SparkEdges, listed: ListedEdges) -> NodeArray:
    """How many triangles each node is a corner of; direction, loops and parallel edges do not matter."""
    network = Vectors(nodes, edges.turned("both"), whole=True)
    count = network.count

    def ends(near: Array, _: Array, __: Array | None) -> Array:
        return np.bincount(near, minlength=count)

    degrees = sum(network.run(ends, np.int64), np.zeros(count, np.int64))
    places = np.empty(count, np.int32)
    places[np.argsort(degrees, kind="stable")] = np.arange(count, dtype=np.int32)
    corners = _Corners(places, network.numbers, listed)
    return network.valued(sum(network.run(corners.found, np.int64), np.zeros(count, np.int64)))


@dataclass(frozen=True, slots=True)
class _Corners:
    """What a task knows: every node's place when they are ordered by degree, their numbers, and where the lists are."""

    places: Array
    numbers: Array
    listed: ListedEdges

    def found(self, near: Array, far: Array, _: Array | None) -> Array:
        """The corners of triangles whose first node, from rare to frequent ones, is among the nodes of a task.

        Two neighbours that come after a node make a triangle with it if they are neighbours of each other; after a
        node come few even of a hub's neighbours, because a hub is among the last.
        """
        count = len(self.numbers)
        met = np.zeros(count, np.int64)
        later = self.places[far] > self.places[near]
        keys = distinct_rows(near[later].astype(np.int64) * count + far[later])
        owners, others = np.divmod(keys, max(count, 1))
        entries = np.arange(len(keys))
        stops = np.searchsorted(owners, owners, side="right")
        ends = np.cumsum(stops - entries - 1)
        begin = 0
        while begin < len(keys):
            before = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
            first, second = spread(entries[begin:end] + 1, stops[begin:end])
            one, other = others[begin + first], others[second]
            closed = self._linked(one, other)
            for corner in (owners[begin + first], one, other):
                met += np.bincount(corner[closed], minlength=count)
            begin = end
        return met

    def _linked(self, one: Rows, other: Rows) -> Mask:
        """Whether an edge of any type leads from one node to the other, or back."""
        here, there = self.numbers[one], self.numbers[other]
        found = np.zeros(len(one), np.bool_)
        for kept in self.listed.lists:
            along, against = kept.lists.along(), kept.lists.against()
            for lists, near, far in ((along, kept.tails, kept.heads), (against, kept.heads, kept.tails)):
                rest = np.flatnonzero(~found)
                found[rest] = are_neighbours(lists, here[rest] - near, there[rest] - far)
        return found
