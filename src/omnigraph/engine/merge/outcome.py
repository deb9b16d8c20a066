"""What a merge may be asked for and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias, get_args

from omnigraph.display import Displayed
from omnigraph.errors import BadRequest, MergeConflict
from omnigraph.policy.external_blobs import ExternalBlobPolicy
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.note import RowCounts

Strategy = Literal["fail", "ours", "theirs"]
PropertyMode = Literal["whole", "disjoint"]
Resolution: TypeAlias = Literal["ours", "theirs"] | Mapping[str, Any]


class MergeOutcome(StrEnum):
    """How two branches came together."""

    ALREADY_UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """How contradictions between the two sides are settled; by default they are reported.

    `resolve` decides single entities, named `Type/id`: our row, their row, or values to set. `strategy` settles every
    other contradiction between two rows. With `properties="disjoint"` two updates of one row that set different
    properties are combined. `external_blobs` is that of the handle: what values to set may refer to.
    """

    strategy: Strategy = "fail"
    properties: PropertyMode = "whole"
    resolve: Mapping[str, Resolution] = field(default_factory=dict)
    external_blobs: ExternalBlobPolicy | None = None

    def __post_init__(self) -> None:
        if self.strategy not in get_args(Strategy):
            raise BadRequest(f"unknown merge strategy '{self.strategy}' (expected fail, ours or theirs)")
        if self.properties not in get_args(PropertyMode):
            raise BadRequest(f"unknown property mode '{self.properties}' (expected whole or disjoint)")
        for name, choice in self.resolve.items():
            if not (isinstance(choice, Mapping) or choice in ("ours", "theirs")):
                raise BadRequest(f"resolve: '{name}' must be 'ours', 'theirs' or a mapping of values, not {choice!r}")


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class MergeResult(Displayed):
    """What a merge did or, for a preview, would do: then `commit` is None and `conflicts` may have entries.

    `changes` counts entities of the target by type name.
    """

    source: str
    target: str
    outcome: MergeOutcome
    base_commit_id: str | None = None
    source_commit_id: str | None = None
    commit: GraphCommit | None = None
    actor_id: str | None = None
    changes: Mapping[str, RowCounts] = field(default_factory=dict)
    conflicts: tuple[MergeConflict, ...] = ()
    preview: bool = False
    branch_deleted: bool | None = None
    branch_delete_error: str | None = None

    @property
    def commit_id(self) -> str | None:
        """The id of the commit."""
        return None if self.commit is None else self.commit.graph_commit_id

    def __str__(self) -> str:
        """One line for people: what came together, how, and how much it moved."""
        what = f"{self.source} into {self.target}: {self.outcome.value.replace('_', ' ')}"
        counts = [
            f"{total:,} {verb}"
            for verb in ("inserted", "updated", "deleted")
            if (total := sum(getattr(rows, verb) for rows in self.changes.values()))
        ]
        lines = [", ".join([what, *counts]) + (" (a preview, nothing was written)" if self.preview else "")]
        return "\n".join([*lines, *(f"  conflict: {conflict.message}" for conflict in self.conflicts)])
