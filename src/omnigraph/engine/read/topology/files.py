"""Keeps topologies beside the graph, so that a fresh process maps them instead of building them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.storage.base.derived import drop_arrays, load_arrays, names_under, save_arrays
from omnigraph.storage.base.layout import Root

# Below this many edges building takes less time than looking for files.
WORTH_KEEPING = 100_000
_KEPT_PER_TABLE = 4
_FORMAT = 2
_FACTS = 3


@dataclass(frozen=True, slots=True)
class Shelf:
    """The place of one topology: `prefix` names its edge table, `digest` the exact versions it was built from."""

    root: Root
    prefix: str
    digest: str

    @classmethod
    def of(cls, root: Root, location: str, content: object) -> Shelf:
        """Where the topology of this content belongs."""
        digest = hashlib.sha256(repr((_FORMAT, content)).encode()).hexdigest()[:32]
        return cls(root, f"topology/{location.replace('/', '-')}", digest)

    def load(self, direction: str) -> Adjacency | None:
        """The lists that were kept, or None when they are absent or not what they should be."""
        found = load_arrays(self.root, self._name(direction))
        if found is None or set(found) != {"offsets", "neighbours", "edges", "keys", "facts", "origin"}:
            return None
        offsets, neighbours, edges, keys = (found[part] for part in ("offsets", "neighbours", "edges", "keys"))
        whole = len(offsets) >= 2 and int(offsets[-1]) == len(neighbours) == len(edges)
        if not whole or (keys.ndim and len(keys) != len(offsets) - 1) or len(found["facts"]) != _FACTS:
            return None
        return Adjacency(offsets, neighbours, edges, keys if keys.ndim else int(keys)).knowing(found["facts"])

    def origin(self) -> str:
        """What was said about the origin of the lists along the edges."""
        found = load_arrays(self.root, self._name("out")) or {}
        return found["origin"].tobytes().decode(errors="replace") if "origin" in found else ""

    def others(self) -> Iterator[Shelf]:
        """Where lists of the same table at other versions are kept, newest first."""
        for name in reversed(names_under(self.root, self.prefix)):
            digest, _, direction = name.removeprefix(f"{self.prefix}/").partition(".")
            if direction == "out" and digest != self.digest:
                yield Shelf(self.root, self.prefix, digest)

    def save(self, direction: str, lists: Adjacency, origin: str = "") -> None:
        """Keep lists that are large enough to be worth it; older ones of the same table make room.

        `origin` says in words what the lists were built from.
        """
        if len(lists) < WORTH_KEEPING:
            return
        arrays = {
            "offsets": lists.offsets,
            "neighbours": lists.neighbours,
            "edges": lists.edges,
            "keys": np.asarray(lists.keys),
            "facts": np.array(lists.facts, np.int64),
            "origin": np.frombuffer(origin.encode(), np.uint8),
        }
        save_arrays(self.root, self._name(direction), arrays)
        for name in names_under(self.root, self.prefix)[:-_KEPT_PER_TABLE]:
            drop_arrays(self.root, name)

    def _name(self, direction: str) -> str:
        return f"{self.prefix}/{self.digest}.{direction}"
