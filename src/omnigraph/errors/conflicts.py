"""Failures between two things that cannot both hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from omnigraph.display import Displayed, counted
from omnigraph.errors.base import OmnigraphError, RowError


class Conflict(OmnigraphError):
    """Two things cannot both hold; someone has to decide."""

    code = "conflict"
    http_status = 409


class KeyConflict(RowError, Conflict):
    """A strict insert met an id that exists already; `line` and `file` say where it stands in the input."""

    code = "key_conflict"

    def __init__(
        self, type_key: str, entity_id: str | None, *, line: int | None = None, file: str | None = None
    ) -> None:
        named = f" '{entity_id}'" if entity_id is not None else ""
        message = f"{type_key} already has this id{named}; use merge mode to replace it"
        source, place = "" if file is None else f"{file}: ", "" if line is None else f" (line {line})"
        super().__init__(f"W015: {source}{message}{place}")
        self.type_key = type_key
        self.entity_id = entity_id
        self.line = line
        self.file = file

    def details(self) -> dict[str, Any]:
        named = {"type_key": self.type_key, "id": self.entity_id, "line": self.line, "file": self.file}
        return {**named, **super().details()}


class PreconditionFailed(Conflict):
    """The caller's expected head is not the branch's head."""

    code = "precondition_failed"
    http_status = 412
    exit_code = 4

    def __init__(self, branch: str, *, expected: str, actual: str | None) -> None:
        super().__init__(f"branch '{branch}' is at commit {actual}, not at the expected {expected}")
        self.branch = branch
        self.expected = expected
        self.actual = actual

    def details(self) -> dict[str, Any]:
        return {"branch": self.branch, "expected": self.expected, "actual": self.actual}


ConflictKind = Literal[
    "DivergentInsert",
    "DivergentUpdate",
    "DeleteVsUpdate",
    "OrphanEdge",
    "UniqueViolation",
    "CardinalityViolation",
    "ValueConstraintViolation",
    "SchemaConflict",
]


@dataclass(frozen=True, slots=True, repr=False)
class MergeConflict(Displayed):
    """One reason why two branches do not fit together; `properties` are those in which the two rows differ.

    `ours` (the target) and `theirs` (the source) are the values of those; where one side has deleted the row it is
    None, and the other one shows what it has changed. `base` has the values from before both; None for a new entity.
    """

    table_key: str
    entity_id: str | None
    kind: ConflictKind
    message: str
    properties: tuple[str, ...] = ()
    ours: Mapping[str, Any] | None = None
    theirs: Mapping[str, Any] | None = None
    base: Mapping[str, Any] | None = None

    @property
    def type_name(self) -> str:
        return self.table_key.partition(":")[2]

    @property
    def entity(self) -> str | None:
        """The name under which `resolve` takes a decision about this entity."""
        return None if self.entity_id is None else f"{self.type_name}/{self.entity_id}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class MergeConflicts(Conflict):
    """The two sides contradict each other; nothing was written and `conflicts` says where."""

    code = "merge_conflicts"
    _SHOWN: ClassVar[int] = 3

    def __init__(self, conflicts: Sequence[MergeConflict]) -> None:
        self.conflicts = tuple(conflicts)
        shown = "; ".join(f"{item.table_key}: {item.message}" for item in self.conflicts[: self._SHOWN])
        more = len(self.conflicts) - self._SHOWN
        found = counted(len(self.conflicts), "merge conflict")
        super().__init__(f"{found}: {shown}{f'; and {more} more' if more > 0 else ''}")

    def details(self) -> dict[str, Any]:
        return {"merge_conflicts": [item.to_dict() for item in self.conflicts]}


class CommitHasNoParent(Conflict):
    """The first commit has nothing to be compared with."""

    code = "commit_has_no_parent"

    def __init__(self, graph_commit_id: str) -> None:
        super().__init__(f"commit {graph_commit_id} is the first one and has no parent to be compared with")
        self.graph_commit_id = graph_commit_id

    def details(self) -> dict[str, Any]:
        return {"graph_commit_id": self.graph_commit_id}


class ChangeSchemaBoundary(Conflict):
    """The schema of a type changed, so rows on the two sides cannot be compared."""

    code = "change_schema_boundary"

    def __init__(self, graph_commit_id: str, type_name: str, message: str | None = None) -> None:
        changed = f"commit {graph_commit_id} changed the schema of '{type_name}'; capture a new baseline after it"
        super().__init__(message or changed)
        self.graph_commit_id = graph_commit_id
        self.type_name = type_name

    def details(self) -> dict[str, Any]:
        return {"graph_commit_id": self.graph_commit_id, "type_name": self.type_name}


class AlreadyInitialized(Conflict):
    """The root holds a graph (or part of one) already."""

    code = "already_initialized"

    def __init__(self, uri: str) -> None:
        super().__init__(f"'{uri}' is already initialized; open it, or choose an empty location")
        self.uri = uri


class InitializationClaimed(Conflict):
    """Another process is initializing this root, or died while doing so."""

    code = "initialization_claimed"

    def __init__(self, uri: str) -> None:
        super().__init__(
            f"'{uri}' is claimed by another initialization; if none is running, "
            "delete __init_claim.json and the schema files, then try again"
        )
        self.uri = uri
