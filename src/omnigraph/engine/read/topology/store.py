"""The topologies of this process: held in memory, mapped from disk, advanced from an older one, or built."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterator

from omnigraph.engine.read.columns.cache import ByteCache
from omnigraph.engine.read.topology.advance import Origin, advance
from omnigraph.engine.read.topology.files import WORTH_KEEPING
from omnigraph.engine.read.topology.topology import Ends, Topology, build_topology

_TOPOLOGY_CACHE_BYTES = max(2 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 3)
_REMEMBERED_LINEAGES = 256

# One topology may fill all of it: without it every traversal would build it again.
TOPOLOGIES: ByteCache[Topology] = ByteCache(_TOPOLOGY_CACHE_BYTES, lambda topology: topology.nbytes, share=1)


def topology_at_hand(ends: Ends) -> Topology | None:
    """The topology of these exact versions if this process has it or can map it from disk."""
    held = TOPOLOGIES.get(ends.key)
    if held is not None or ends.edges.row_count < WORTH_KEEPING:
        return held
    kept = ends.shelf.load("out")
    if kept is not None:
        held = Topology({"out": kept}, ends.shelf if ends.keep else None)
        _hold(ends, held)
    return held


def topology(ends: Ends, build: Callable[[Ends], Topology] | None = None) -> Topology:
    """The topology of these exact versions, made if need be; `build` makes and keeps one that has no predecessor."""
    return topology_at_hand(ends) or TOPOLOGIES.get_or_build(ends.key, lambda: _make(ends, build))


def _make(ends: Ends, build: Callable[[Ends], Topology] | None) -> Topology:
    if ends.edges.row_count < WORTH_KEEPING:
        return build_topology(ends)
    made = _advanced(ends)
    if made is not None and not made.stands_alone:
        return made  # the next version is advanced from the same older one again
    if made is None and build is not None:
        made = build(ends)
    else:
        made = made or build_topology(ends)
        if ends.keep:
            ends.shelf.save("out", made.out, Origin.of(ends).text())
    _LINEAGES.remember(ends)
    return made


def _advanced(ends: Ends) -> Topology | None:
    """An older topology with a small overlay, or with so many changes worked in that it stands alone again."""
    found = (advance(older, origin, ends) for origin, older in _older(ends))
    return next((made for made in found if made is not None), None)


def _older(ends: Ends) -> Iterator[tuple[Origin, Topology]]:
    known = _LINEAGES.newest(ends)
    if known is not None and (held := TOPOLOGIES.get(known[0])) is not None:
        yield known[1], held
    for shelf in ends.shelf.others():
        kept = shelf.load("out")
        origin = Origin.parse(shelf.origin())
        if kept is not None and origin is not None:
            yield origin, Topology({"out": kept}, shelf, saves=ends.keep)


def _hold(ends: Ends, held: Topology) -> None:
    TOPOLOGIES.put(ends.key, held)
    _LINEAGES.remember(ends)


class _Lineages:
    """For each edge table lineage the topology that was made last, to start the next one from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[Hashable, tuple[Hashable, Origin]] = {}

    def remember(self, ends: Ends) -> None:
        origin = Origin.of(ends)
        with self._lock:
            if len(self._newest) >= _REMEMBERED_LINEAGES:
                self._newest.clear()
            self._newest[_lineage(ends)] = (ends.key, origin)

    def newest(self, ends: Ends) -> tuple[Hashable, Origin] | None:
        with self._lock:
            return self._newest.get(_lineage(ends))


def _lineage(ends: Ends) -> Hashable:
    entry = ends.edges.entry
    return (ends.edges.root.canonical, entry.identity, entry.location, entry.ref)


_LINEAGES = _Lineages()
