"""A commit graph as text: the commits, and the lanes beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.engine.changes.log import LogEntry


def drawn(entries: Sequence[LogEntry], blocks: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each commit's lines behind the lanes of the histories that run past it.

    A lane waits for the commit that continues it. A merge opens a lane for its second parent; lanes that wait for the
    same commit join there.
    """
    known = {entry.commit.graph_commit_id for entry in entries}
    lanes: list[str] = []
    for entry, block in zip(entries, blocks, strict=True):
        name = entry.commit.graph_commit_id
        if name not in lanes:
            lanes.append(name)
        column = lanes.index(name)
        joining = {place for place, wanted in enumerate(lanes) if wanted == name and place != column}
        if joining:
            yield _turn(len(lanes), column, joining, "╯")
            lanes = [wanted for place, wanted in enumerate(lanes) if place not in joining]
        marks = ["●" if place == column else "│" for place in range(len(lanes))]
        parents = [parent for parent in entry.parents if parent in known]
        lanes[column : column + 1] = parents[:1]
        before = len(lanes)
        yield f"{' '.join(marks)}  {block[0]}"
        if parents[1:]:
            lanes += parents[1:]
            yield _turn(len(lanes), column, {before}, "╮")
        passing = "│ " * len(lanes) or "  "
        yield from (f"{passing} {text}".rstrip() for text in block[1:])


def _turn(count: int, column: int, places: set[int], corner: str) -> str:
    """A line from a commit's lane to lanes on its right that start or end here."""
    last = max(places)
    pieces = []
    for place in range(count):
        if place in places:
            mark = corner if place == last else "┴"
        else:
            mark = "├" if place == column else "┼" if column < place < last else "│"
        pieces.append(mark + ("─" if column <= place < last else " "))
    return "".join(pieces).rstrip()
