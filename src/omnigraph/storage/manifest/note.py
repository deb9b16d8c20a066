"""What a commit says about itself beside its place in the history: kind, message, query and counts per type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from omnigraph.display import Displayed

CommitKind = Literal[
    "init", "load", "mutate", "merge", "revert", "cherry-pick", "schema", "index", "compact", "recovery"
]
KINDS: tuple[str, ...] = get_args(CommitKind)
# They change how rows are stored, never which rows there are: a history leaves them out unless asked.
MAINTENANCE_KINDS = frozenset({"index", "compact"})


@dataclass(frozen=True, slots=True, repr=False)
class RowCounts(Displayed):
    """How many entities of one type a commit changes."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def __bool__(self) -> bool:
        return bool(self.inserted or self.updated or self.deleted)

    def _brief(self) -> str:
        signs = (("+", self.inserted), ("~", self.updated), ("-", self.deleted))
        return " ".join(f"{sign}{count:,}" for sign, count in signs if count)

    def document(self) -> dict[str, int]:
        """The counts as JSON spells them everywhere."""
        return {"inserted": self.inserted, "updated": self.updated, "deleted": self.deleted}


@dataclass(frozen=True, slots=True, repr=False)
class Epoch(Displayed):
    """The batch of a stream that a commit brings: the stream's name, what numbers its batches, and its number."""

    stream: str
    checkpoint: str
    batch: int


@dataclass(frozen=True, slots=True)
class Note:
    """The note of one commit; a commit of an older release has none of it.

    `kind` is one of KINDS, or what a newer release calls its own; `query` names the query that ran; `recovered_by` is
    the actor that published the commit in the place of an interrupted writer; `epoch` is there where a stream writes.
    """

    kind: str | None = None
    message: str | None = None
    query: str | None = None
    counts: Mapping[str, RowCounts] = field(default_factory=dict, hash=False)
    recovered_by: str | None = None
    epoch: Epoch | None = None

    def stored(self) -> dict[str, Any]:
        """The members that the note adds to the JSON of its commit; a note that says nothing adds none."""
        texts = {"kind": self.kind, "message": self.message, "query": self.query, "recovered_by": self.recovered_by}
        found: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
        if self.counts:
            found["counts"] = {name: [each.inserted, each.updated, each.deleted] for name, each in self.counts.items()}
        if self.epoch is not None:
            found["epoch"] = [self.epoch.stream, self.epoch.checkpoint, self.epoch.batch]
        return found

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Note:
        """The note among the members of a commit's JSON; ValueError or TypeError where it is damaged."""
        if not _MEMBERS & stored.keys():
            return _NOTHING
        kind, message, query, recovered = (_text(stored.get(name)) for name in _TEXTS)
        counts = {name: RowCounts(*map(_count, each)) for name, each in stored.get("counts", {}).items()}
        return cls(kind, message, query, counts, recovered, _epoch(stored.get("epoch")))


_TEXTS = ("kind", "message", "query", "recovered_by")
_MEMBERS = frozenset({*_TEXTS, "counts", "epoch"})
_NOTHING = Note()


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value


def _epoch(value: Any) -> Epoch | None:
    if value is None:
        return None
    stream, checkpoint, batch = value
    return Epoch(_text(stream) or "", _text(checkpoint) or "", _count(batch))


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"expected a count, found {value!r}")
    return value
