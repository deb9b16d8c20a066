"""The topologies of a graph: held in memory, mapped from disk, advanced from an older one, or built."""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.engine.read.columns.artifacts import Kept, Place, least_rows
from omnigraph.engine.read.columns.costs import due, search_kind
from omnigraph.engine.read.topology.advance import Origin, advance
from omnigraph.engine.read.topology.files import WORTH_KEEPING, decoded_lists, load_lists, save_lists
from omnigraph.engine.read.topology.topology import TOPOLOGIES, Ends, Topology, build_topology

_SEARCHES = search_kind("searches for topologies")


def cached_topology(ends: Ends) -> Topology | None:
    """The topology of these exact versions if this process has it or can map it from disk."""
    held = ends.edges.memory.cache(TOPOLOGIES).get(ends.key)
    if held is not None or ends.edges.row_count < least_rows(ends.edges.root, WORTH_KEEPING):
        return held
    kept = load_lists(ends.place, "out")
    if kept is not None:
        # Readers without the right to write map it as well.
        held = Topology({"out": kept}, ends.place, ends.artifact.marks, saves=ends.keep)
        ends.artifact.hold(held)
    return held


def ready_topology(ends: Ends) -> Topology | None:
    """The same, or one that is brought up to date from an older one: whatever need not be built."""
    held = cached_topology(ends)
    if held is not None or ends.edges.row_count < least_rows(ends.edges.root, WORTH_KEEPING):
        return held
    if not due(ends.edges.memory.cache(_SEARCHES), ends.key):
        return None
    made = _advanced(ends)
    if made is not None:
        ends.artifact.cache.put(ends.key, _settled(ends, made))
    return made


def kept_place(ends: Ends) -> Place | None:
    """Where the lists of both directions are kept, by these versions or by earlier ones that had the same edges.

    A load keeps lists while its indexes are built, whose commit makes another version of the same rows.
    """
    place, made = kept_lists(ends) or (None, None)
    return place if made is not None and made.out.in_one_piece else None


def kept_lists(ends: Ends) -> tuple[Place, Topology] | None:
    """Where lists of both directions are kept, of these versions or earlier ones, and the topology of these versions.

    It consists of those lists, or of an overlay over them.
    """
    kept = _both(ends.place)
    if kept is not None:
        return ends.place, kept
    for place, found in ends.artifact.older_places("out"):
        older = _both(place)
        made = None if older is None else advance(older, Origin(*found.marks), ends, folds=False)
        if made is not None:
            return place, made
    return None


def _both(place: Place) -> Topology | None:
    along = load_lists(place, "out")
    against = None if along is None else load_lists(place, "in", along)
    return None if along is None or against is None else Topology({"out": along, "in": against})


def topology(ends: Ends, build: Callable[[Ends], Topology] | None = None) -> Topology:
    """The topology of these exact versions, made if need be; `build` makes and keeps one that has no predecessor."""
    held = cached_topology(ends)
    return held or ends.artifact.cache.get_or_build(ends.key, lambda: _make(ends, build))


def _make(ends: Ends, build: Callable[[Ends], Topology] | None) -> Topology:
    if ends.edges.row_count < least_rows(ends.edges.root, WORTH_KEEPING):
        return build_topology(ends)
    made = _advanced(ends)
    if made is not None or build is None:
        return _settled(ends, made or build_topology(ends))
    made = build(ends)
    ends.artifact.remember()
    return made


def _settled(ends: Ends, made: Topology) -> Topology:
    """A topology that stands alone is kept, and later versions start from it; after an overlay the next version is
    advanced from the same older one again."""
    if made.stands_alone:
        if ends.keep:
            save_lists(ends.place, "out", made.out, ends.artifact.marks)
        ends.artifact.remember()
    return made


def _advanced(ends: Ends) -> Topology | None:
    """An older topology with a small overlay, or with so many changes worked in that it stands alone again."""

    def decoded(place: Place, kept: Kept) -> Topology | None:
        lists = decoded_lists(kept)
        return None if lists is None else Topology({"out": lists}, place, kept.marks, saves=ends.keep)

    found = (advance(older, Origin(*marks), ends) for marks, older in ends.artifact.older(decoded, "out"))
    return next((made for made in found if made is not None), None)
