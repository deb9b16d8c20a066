"""What is derived from exact versions of tables: kept in memory and beside the graph, and a start for later versions.

Key indexes, topologies and text corpora are kinds of it. Each kind says how it is built and brought up to date and of
which arrays it consists; where they lie, what they were made from and which ones go is the same for all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.table_mark import Mark, marks_text, parse_marks
from omnigraph.memory.cache import Cache, CacheKind
from omnigraph.storage.base.derived import Arrays, drop_arrays, load_arrays, names_under, save_arrays
from omnigraph.storage.base.layout import Root

Marks = tuple[Mark, ...]
ValueT = TypeVar("ValueT")
_ORIGIN = "origin"
# On an object store making one means to fetch whole columns.
_LEAST_THERE = 10_000


def least_rows(root: Root, here: int) -> int:
    """From how many rows on artifacts are worth keeping, when it is from `here` on for a graph on this machine."""
    return here if root.is_local else min(here, _LEAST_THERE)


@dataclass(frozen=True, slots=True, eq=False)
class ArtifactKind(Generic[ValueT]):
    """One kind: its cache, its directory beside the graph, the version of its files, and how many stay per lineage."""

    cache: CacheKind[ValueT]
    directory: str
    format: int
    kept: int


@dataclass(frozen=True, slots=True)
class Kept:
    """Arrays that lie beside the graph, and the table versions they were made from."""

    arrays: Arrays
    marks: Marks


@dataclass(frozen=True, slots=True)
class Place:
    """Where one artifact lies: `prefix` names its lineage, `digest` the exact content it was made from.

    An artifact may consist of several parts that are made at different times.
    """

    root: Root
    prefix: str
    digest: str

    def load(self, part: str = "") -> Kept | None:
        """What was kept, or None when it is absent or says nothing about its origin."""
        found = load_arrays(self.root, self.name(part))
        origin = None if found is None else found.pop(_ORIGIN, None)
        if found is None or origin is None:
            return None
        # Parts that were derived from another one said nothing about their origin in earlier releases.
        marks = parse_marks(origin.tobytes().decode(errors="replace")) if len(origin) else ()
        return None if marks is None else Kept(found, marks)

    def save(self, arrays: Arrays, marks: Marks, *, kept: int, part: str = "") -> None:
        """Keep arrays; older ones of the same lineage make room. A failure is not an error."""
        origin = np.frombuffer(marks_text(marks).encode(), np.uint8)
        save_arrays(self.root, self.name(part), {**arrays, _ORIGIN: origin})
        if self.root.read_only:
            return  # what lies beside the graph is not ours to remove
        for name in names_under(self.root, self.prefix)[:-kept]:
            drop_arrays(self.root, name)

    def others(self, part: str = "") -> Iterator[Place]:
        """Where artifacts of the same lineage from other content lie, newest first."""
        for name in reversed(names_under(self.root, self.prefix)):
            digest, _, found = name.removeprefix(f"{self.prefix}/").partition(".")
            if found == part and digest != self.digest:
                yield Place(self.root, self.prefix, digest)

    def name(self, part: str = "") -> str:
        """Under which name a part lies."""
        return f"{self.prefix}/{self.digest}.{part}" if part else f"{self.prefix}/{self.digest}"


@dataclass(frozen=True, slots=True)
class Artifact(Generic[ValueT]):
    """The artifact of one kind for exact versions of some tables, the first of which names its lineage.

    `detail` tells artifacts of the same tables apart, and `label` does so in the name of their directory.
    """

    kind: ArtifactKind[ValueT]
    tables: tuple[Entities, ...]
    detail: tuple[str, ...] = ()
    label: str = ""

    @property
    def key(self) -> Hashable:
        """Names the exact content among all graphs of the process."""
        return (*(table.version_key for table in self.tables), *self.detail)

    @property
    def place(self) -> Place:
        """Where it lies beside the graph."""
        first, contents = self.tables[0], tuple(table.content_key for table in self.tables)
        content = (self.kind.format, contents[0] if len(contents) == 1 else contents, *self.detail)
        digest = hashlib.sha256(repr(content).encode()).hexdigest()[:32]
        prefix = f"{self.kind.directory}/{first.entry.location.replace('/', '-')}"
        return Place(first.root, f"{prefix}.{self.label}" if self.label else prefix, digest)

    @property
    def marks(self) -> Marks:
        """The versions of the tables, as they are remembered beside what was derived from them."""
        return tuple(Mark.of(table) for table in self.tables)

    @property
    def cache(self) -> Cache[ValueT]:
        """All artifacts of the kind that the graph holds in memory."""
        return self.tables[0].memory.cache(self.kind.cache)

    def hold(self, value: ValueT) -> None:
        """Hold a value in memory, and start later versions from it."""
        self.cache.put(self.key, value)
        self.remember()

    def remember(self) -> None:
        """Start later versions from what is held under this key."""
        self.tables[0].memory.cache(_NEWEST).put(self._lineage, (self.key, self.marks))

    def save(self, arrays: Arrays, *, part: str = "") -> None:
        """Keep arrays beside the graph."""
        self.place.save(arrays, self.marks, kept=self.kind.kept, part=part)

    def older(self, decode: Callable[[Place, Kept], ValueT | None], part: str = "") -> Iterator[tuple[Marks, ValueT]]:
        """Artifacts of versions that these descend from: the one held in memory, then those beside the graph."""
        known = self.tables[0].memory.cache(_NEWEST).get(self._lineage)
        held = None if known is None else self.cache.get(known[0])
        if known is not None and held is not None and self._descends_from(known[1]):
            yield known[1], held
        for place, kept in self.older_places(part):
            value = decode(place, kept)
            if value is not None:
                yield kept.marks, value

    def older_places(self, part: str = "") -> Iterator[tuple[Place, Kept]]:
        """What lies beside the graph of versions that these descend from, newest first."""
        for place in self.place.others(part):
            kept = place.load(part)
            if kept is not None and self._descends_from(kept.marks):
                yield place, kept

    @property
    def _lineage(self) -> Hashable:
        return (self.kind.directory, self.tables[0].lineage_key, *self.detail)

    def _descends_from(self, marks: Marks) -> bool:
        if len(marks) != len(self.tables):
            return False
        return all(mark.precedes(table) for mark, table in zip(marks, self.tables, strict=True))


# For each lineage of each kind the artifact that was made last.
_NEWEST: CacheKind[tuple[Hashable, Marks]] = CacheKind("newest artifacts", lambda known: 2_048, entries=1_024)
