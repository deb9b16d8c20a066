"""`clone`: a consistent, independent copy of a live graph at another place."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from omnigraph.display import Displayed
from omnigraph.errors import BadRequest, Conflict, HistoricalVersionReclaimed, StorageError
from omnigraph.storage.base.layout import MANIFEST, Root, normalize_root
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.storage.base.store import Store
from omnigraph.storage.manifest import manifest
from omnigraph.storage.transfer.copy import Item, Report, copy_items
from omnigraph.storage.transfer.listing import CLONE_RECORD, Listing, capture_listing, copy_stage

_ATTEMPTS = 5
DoneT = TypeVar("DoneT")


@dataclass(frozen=True, slots=True, repr=False)
class CopyReport(Displayed):
    """What a clone, a backup or a restore consists of, how much of it was sent, and the commits it stands at."""

    target: str
    files: int
    bytes: int
    copied_files: int
    copied_bytes: int
    seconds: float
    heads: Mapping[str, str | None]


def clone_files(
    source: Store,
    target: Root,
    *,
    branches: list[str] | None = None,
    resume: bool = False,
    verify: bool = True,
    report: Report | None = None,
) -> CopyReport:
    """Copy main and the given branches (all by default) to a place where nothing is yet.

    The graph may be written to meanwhile. A clone that broke off is continued with `resume`.
    """
    refuse_same_place(source.root, target)
    place = Place(target, resume=resume)
    place.begin({"source": source.root.uri, "branches": branches})

    def copy() -> CopyReport:
        listing = capture_listing(source, branches)
        items = [Item(name, name, listing.files[name]) for name in listing.ordered()]
        return place.fill(source.objects, listing, items, verify=verify, report=report)

    return unless_reclaimed(copy)


def unless_reclaimed(work: Callable[[], DoneT]) -> DoneT:
    """Run the work again from a fresh state when a cleanup removed files of the one it was copying."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return work()
        except HistoricalVersionReclaimed:
            continue
        except StorageError as error:
            if error.kind != "NotFound":
                raise
    return work()


class Place:
    """Where a copy appears: gathered under another name on a disk and renamed at the end, in place on other stores."""

    def __init__(self, target: Root, *, resume: bool) -> None:
        self._target = target
        self._staged = normalize_root(f"{target.uri}.cloning") if target.is_local else target
        self._objects = open_objects(self._staged)
        self._started = perf_counter()
        self._require_free(resume=resume)

    def begin(self, record: Mapping[str, object]) -> None:
        """Leave a note that this place is being filled."""
        self._objects.write(CLONE_RECORD, json.dumps(record))

    def fill(
        self, source: Objects, listing: Listing, items: Sequence[Item], *, verify: bool, report: Report | None
    ) -> CopyReport:
        """Bring the items and texts of a listing, nothing else, and prove that the copy opens at its heads."""
        present = self._objects.list_sizes("")
        for name, text in listing.texts.items():
            self._objects.write(name, text)
        copy_items(source, self._objects, items, present=present, verify=verify, report=report, stage=_stage)
        for name in present.keys() - listing.files.keys() - listing.texts.keys() - {CLONE_RECORD}:
            self._objects.delete(name)  # from an earlier attempt that captured another state
        self._objects.delete(CLONE_RECORD)
        if self._staged != self._target:
            place = Path(self._target.uri)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(self._staged.uri, place)
        self._require_heads(listing.heads)
        sent = [item.size for item in items if present.get(item.target) != item.size]
        seconds = perf_counter() - self._started
        return CopyReport(
            self._target.uri, len(items), listing.total, len(sent), sum(sent), seconds, dict(listing.heads)
        )

    def _require_free(self, *, resume: bool) -> None:
        begun = self._objects.exists(CLONE_RECORD)
        place = Path(self._target.uri)
        if self._target.is_local and place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise Conflict(f"'{place}' exists and is not empty; a copy needs a place of its own")
        if begun and not resume:
            raise Conflict(f"a copy to '{self._target.uri}' broke off; go on with --resume, or remove what it left")
        if not begun and not self._target.is_local and self._objects.exists(MANIFEST):
            raise Conflict(f"'{self._target.uri}' holds a graph already; a copy needs a place of its own")

    def _require_heads(self, heads: Mapping[str, str | None]) -> None:
        for branch, expected in heads.items():
            found = manifest.load(self._target, None if branch == "main" else branch).state.effective_head
            if found != expected:
                raise StorageError(f"'{self._target.uri}' opens branch '{branch}' at {found}, expected {expected}")


def refuse_same_place(source: Root, target: Root) -> None:
    """BadRequest when one place lies inside the other."""
    one, other = f"{source.canonical}/", f"{target.canonical}/"
    if one.startswith(other) or other.startswith(one):
        raise BadRequest(f"'{target.uri}' and '{source.uri}' lie inside each other; choose another place for the copy")


def _stage(item: Item) -> object:
    return copy_stage(item.target)
