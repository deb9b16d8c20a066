"""The topologies of this process: held in memory, mapped from disk, advanced from an older one, or built."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from omnigraph.engine.read.topology.advance import Origin, advance
from omnigraph.engine.read.topology.files import WORTH_KEEPING
from omnigraph.engine.read.topology.topology import Ends, Topology, build_topology
from omnigraph.memory.cache import CacheKind

# One topology may fill all of it: without it every traversal would build it again.
TOPOLOGIES: CacheKind[Topology] = CacheKind("topologies", lambda topology: topology.nbytes, largest=1.0)
# For each edge table lineage the topology that was made last, to start the next one from.
_NEWEST: CacheKind[tuple[Hashable, Origin]] = CacheKind("newest topologies", lambda known: 2_048, entries=256)


def topology_at_hand(ends: Ends) -> Topology | None:
    """The topology of these exact versions if this process has it or can map it from disk."""
    held = ends.edges.memory.cache(TOPOLOGIES).get(ends.key)
    if held is not None or ends.edges.row_count < WORTH_KEEPING:
        return held
    kept = ends.shelf.load("out")
    if kept is not None:
        held = Topology({"out": kept}, ends.shelf if ends.keep else None)
        _hold(ends, held)
    return held


def topology(ends: Ends, build: Callable[[Ends], Topology] | None = None) -> Topology:
    """The topology of these exact versions, made if need be; `build` makes and keeps one that has no predecessor."""
    held = ends.edges.memory.cache(TOPOLOGIES)
    return topology_at_hand(ends) or held.get_or_build(ends.key, lambda: _make(ends, build))


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
    _remember(ends)
    return made


def _advanced(ends: Ends) -> Topology | None:
    """An older topology with a small overlay, or with so many changes worked in that it stands alone again."""
    found = (advance(older, origin, ends) for origin, older in _older(ends))
    return next((made for made in found if made is not None), None)


def _older(ends: Ends) -> Iterator[tuple[Origin, Topology]]:
    memory = ends.edges.memory
    known = memory.cache(_NEWEST).get(ends.edges.lineage_key)
    if known is not None and (held := memory.cache(TOPOLOGIES).get(known[0])) is not None:
        yield known[1], held
    for shelf in ends.shelf.others():
        kept = shelf.load("out")
        origin = Origin.parse(shelf.origin())
        if kept is not None and origin is not None:
            yield origin, Topology({"out": kept}, shelf, saves=ends.keep)


def _hold(ends: Ends, held: Topology) -> None:
    ends.edges.memory.cache(TOPOLOGIES).put(ends.key, held)
    _remember(ends)


def _remember(ends: Ends) -> None:
    ends.edges.memory.cache(_NEWEST).put(ends.edges.lineage_key, (ends.key, Origin.of(ends)))
