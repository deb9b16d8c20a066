"""Every failure a user can see: one tree, grouped by what the caller does next.

OmnigraphError
├── InputError                   fix what you sent
│   ├── BadRequest               the request makes no sense as it stands
│   ├── CompileError             schema or query text (omnigraph.compiler.diagnostics)
│   ├── ParameterError           P001–P007, a query parameter
│   ├── ValueViolation           W…, a value or constraint rejected at write time
│   ├── EmbeddingMismatch        R003, EmbedderMissing (R004): text cannot be turned into this vector
│   ├── QueryCancelled           the caller stopped the query
│   ├── ChangeCursorRejected     a page token or cursor that does not belong here
│   ├── PolicyInvalid            a policy bundle that cannot be enforced as written
│   ├── StartRefused             settings under which a server must not start
│   │   └── BootRefused          a cluster that cannot be served
│   └── ResourceLimitExceeded    send less at once
├── NotFound                     name something that exists
│   ├── BranchNotFound, CommitNotFound, QueryNotFound (R001)
│   └── HistoricalVersionReclaimed, ChangeFeedGap
├── Retry                        the world moved; start again from fresh state
│   ├── ReadSetChanged, ExpectedVersionMismatch, RowLevelCasContention
│   └── TooManyRequests          wait a little first
├── Conflict                     decide between two things that cannot both hold
│   ├── KeyConflict, PreconditionFailed, MergeConflicts
│   ├── CommitHasNoParent, ChangeSchemaBoundary
│   └── AlreadyInitialized, InitializationClaimed
├── RecoveryNeeded               an interrupted operation must be resolved first
│   ├── RecoveryRequired, OperationAborted
│   └── InitializationCommitted, InitializationIndeterminate
├── PermissionDenied             ask for permission
│   └── Unauthenticated          say who you are first
├── PolicyFailed                 a policy that could not be evaluated: neither yes nor no
├── EmbeddingError               look at the embedding provider
├── ServerFailed                 look at the server, or at the way to it
└── StorageError                 look at the storage
    ├── FormatRefused            another release wrote this graph
    └── Corrupt                  the stored state contradicts itself

`code` is stable and append-only. Exit codes and HTTP statuses are tables keyed by class below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal


class OmnigraphError(Exception):
    """Root of every error this package raises on purpose."""

    code: str = "internal"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code

    def details(self) -> dict[str, Any]:
        """The machine-readable fields beside code and message."""
        return {}


# --- fix the input ---------------------------------------------------------------------------


class InputError(OmnigraphError):
    """What was sent is wrong; sending it again gives the same answer."""

    code = "bad_request"
    http_status = 400


class BadRequest(InputError):
    """The request makes no sense as it stands."""


class ParameterError(InputError):
    """A query parameter is missing, null or ill-typed (P001–P007)."""

    def __init__(self, code: str, message: str, *, parameter: str | None = None) -> None:
        super().__init__(f"{code}: {message}", code=code)
        self.parameter = parameter

    def details(self) -> dict[str, Any]:
        return {"parameter": self.parameter}


class ValueViolation(InputError):
    """A value or a constraint was rejected at write time (W001–W023)."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        type_name: str | None = None,
        property_name: str | None = None,
        entity_id: str | None = None,
        line: int | None = None,
        file: str | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}", code=code)
        self.type_name = type_name
        self.property_name = property_name
        self.entity_id = entity_id
        self.line = line
        self.file = file

    def details(self) -> dict[str, Any]:
        return {
            "type": self.type_name,
            "property": self.property_name,
            "id": self.entity_id,
            "line": self.line,
            "file": self.file,
        }


class ResourceLimitExceeded(InputError):
    """One request asks for more than a transport limit allows."""

    code = "resource_limit"
    http_status = 413

    def __init__(self, resource: str, *, limit: int, actual: int) -> None:
        super().__init__(f"resource limit exceeded for {resource}: actual {actual}, limit {limit}")
        self.resource = resource
        self.limit = limit
        self.actual = actual

    def details(self) -> dict[str, Any]:
        return {"resource": self.resource, "limit": self.limit, "actual": self.actual}


class EmbeddingMismatch(InputError):
    """The active embedding model is not the one that filled the vector property (R003)."""

    code = "R003"

    def __init__(self, property_name: str, *, recorded: str, active: str) -> None:
        super().__init__(f"R003: '{property_name}' was embedded with '{recorded}', the active model is '{active}'")
        self.property_name = property_name
        self.recorded = recorded
        self.active = active

    def details(self) -> dict[str, Any]:
        return {"property": self.property_name, "recorded": self.recorded, "active": self.active}


class EmbedderMissing(InputError):
    """A text query needs an embedding provider and none is configured (R004)."""

    code = "R004"

    def __init__(self, property_name: str) -> None:
        super().__init__(
            f"R004: searching '{property_name}' by text needs an embedding provider; configure one or pass a vector"
        )
        self.property_name = property_name

    def details(self) -> dict[str, Any]:
        return {"property": self.property_name}


class QueryCancelled(InputError):
    """The caller stopped the query; nothing was changed."""

    code = "query_cancelled"
    http_status = 499

    def __init__(self) -> None:
        super().__init__("the query was cancelled")


class ChangeCursorRejected(InputError):
    """A page token or cursor is damaged, or was made for something else."""

    code = "change_cursor_rejected"

    def __init__(self, reason: str) -> None:
        super().__init__(f"change cursor rejected: {reason}")
        self.reason = reason

    def details(self) -> dict[str, Any]:
        return {"reason": self.reason}


class PolicyInvalid(InputError):
    """A policy bundle that cannot be enforced as written; `where` is the rule, group or key at fault."""

    code = "policy_invalid"

    def __init__(self, source_name: str, where: str, reason: str) -> None:
        super().__init__(f"policy '{source_name}': {where}: {reason}" if where else f"policy '{source_name}': {reason}")
        self.source_name = source_name
        self.where = where
        self.reason = reason

    def details(self) -> dict[str, Any]:
        return {"source": self.source_name, "where": self.where, "reason": self.reason}


class StartRefused(InputError):
    """A server must not start with these settings; the message says which one to change."""

    code = "start_refused"


class BootRefused(StartRefused):
    """A cluster cannot be served; `diagnostics` holds everything that was found."""

    code = "boot_refused"

    def __init__(self, root: str, diagnostics: Sequence[Any]) -> None:
        lines = "\n".join(str(item) for item in diagnostics)
        super().__init__(f"the cluster '{root}' is not servable:\n{lines}")
        self.root = root
        self.diagnostics = tuple(diagnostics)

    def details(self) -> dict[str, Any]:
        return {"root": self.root, "diagnostics": [item.to_json() for item in self.diagnostics]}


# --- name something real ---------------------------------------------------------------------


class NotFound(OmnigraphError):
    """The thing named does not exist."""

    code = "not_found"
    http_status = 404


class BranchNotFound(NotFound):
    """No live branch has this name."""

    code = "branch_not_found"

    def __init__(self, branch: str) -> None:
        super().__init__(f"branch '{branch}' not found")
        self.branch = branch

    def details(self) -> dict[str, Any]:
        return {"branch": self.branch}


class CommitNotFound(NotFound):
    """No live branch knows this commit or version."""

    code = "commit_not_found"

    def __init__(self, reference: str) -> None:
        super().__init__(f"commit '{reference}' not found on any live branch")
        self.reference = reference


class QueryNotFound(NotFound):
    """The file holds no query of this name (R001)."""

    code = "R001"

    def __init__(self, name: str | None, available: Sequence[str]) -> None:
        known = ", ".join(available) if available else "none"
        asked = f"query '{name}' not found" if name else "name a query: the file does not hold exactly one"
        super().__init__(f"R001: {asked} (available: {known})")
        self.name = name
        self.available = tuple(available)


class HistoricalVersionReclaimed(NotFound):
    """The version existed and was removed by cleanup."""

    code = "historical_version_reclaimed"
    http_status = 410

    def __init__(self, version: int, *, table: str | None = None) -> None:
        where = f" of {table}" if table else ""
        super().__init__(f"historical published dataset version {version}{where} was reclaimed")
        self.version = version
        self.table = table


class ChangeFeedGap(NotFound):
    """Cleanup removed history that a reader of changes still needed; start over from a baseline."""

    code = "change_feed_gap"
    http_status = 410

    def __init__(self, first_unreadable_commit_id: str, cursor: str | None = None) -> None:
        super().__init__(
            f"the changes of commit {first_unreadable_commit_id} were reclaimed by cleanup; capture a new baseline"
        )
        self.first_unreadable_commit_id = first_unreadable_commit_id
        self.cursor = cursor

    def details(self) -> dict[str, Any]:
        return {"cursor": self.cursor, "first_unreadable_commit_id": self.first_unreadable_commit_id}


# --- try again from fresh state --------------------------------------------------------------


class Retry(OmnigraphError):
    """Someone else committed first; nothing of this attempt is visible."""

    code = "retry"
    http_status = 409


class ReadSetChanged(Retry):
    """The state this write was prepared on is no longer the current one."""

    code = "read_set_changed"

    def __init__(self, member: str, *, expected: object = None, actual: object = None) -> None:
        super().__init__(f"read set changed: {member} (expected {expected!r}, actual {actual!r}); retry the operation")
        self.member = member
        self.expected = expected
        self.actual = actual

    def details(self) -> dict[str, Any]:
        return {"member": self.member, "expected": self.expected, "actual": self.actual}


class ExpectedVersionMismatch(Retry):
    """A table's published version is not the one this write expected."""

    code = "expected_version_mismatch"

    def __init__(self, table_key: str, *, expected: int, actual: int) -> None:
        super().__init__(f"{table_key} is published at version {actual}, expected {expected}")
        self.table_key = table_key
        self.expected = expected
        self.actual = actual

    def details(self) -> dict[str, Any]:
        return {"table_key": self.table_key, "expected": self.expected, "actual": self.actual}


class RowLevelCasContention(Retry):
    """The manifest stayed contended for the whole retry budget."""

    code = "row_level_cas_contention"

    def __init__(self, attempts: int) -> None:
        super().__init__(f"the manifest was contended in {attempts} consecutive attempts; retry later")
        self.attempts = attempts


class TooManyRequests(Retry):
    """A server refuses to work on more requests of this actor at once."""

    code = "too_many_requests"
    http_status = 429


# --- resolve a conflict ----------------------------------------------------------------------


class Conflict(OmnigraphError):
    """Two things cannot both hold; someone has to decide."""

    code = "conflict"
    http_status = 409


class KeyConflict(Conflict):
    """A strict insert met an id that exists already."""

    code = "key_conflict"

    def __init__(self, type_key: str, entity_id: str | None) -> None:
        named = f" '{entity_id}'" if entity_id is not None else ""
        super().__init__(f"W015: {type_key} already has this id{named}; use merge mode to replace it")
        self.type_key = type_key
        self.entity_id = entity_id

    def details(self) -> dict[str, Any]:
        return {"type_key": self.type_key, "id": self.entity_id}


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
]


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """One reason why two branches do not fit together; `properties` are those in which the two rows differ.

    `ours` (the target) and `theirs` (the source) are the values of those; where one side has deleted the row it is
    None, and the other one shows what it has changed.
    """

    table_key: str
    entity_id: str | None
    kind: ConflictKind
    message: str
    properties: tuple[str, ...] = ()
    ours: Mapping[str, Any] | None = None
    theirs: Mapping[str, Any] | None = None

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
        plural = "" if len(self.conflicts) == 1 else "s"
        super().__init__(
            f"{len(self.conflicts)} merge conflict{plural}: {shown}{f'; and {more} more' if more > 0 else ''}"
        )

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

    def __init__(self, graph_commit_id: str, type_name: str) -> None:
        super().__init__(
            f"commit {graph_commit_id} changed the schema of '{type_name}'; capture a new baseline after it"
        )
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


# --- recover ---------------------------------------------------------------------------------


class RecoveryNeeded(OmnigraphError):
    """An interrupted operation stands in the way."""

    code = "recovery_needed"
    http_status = 503


class RecoveryRequired(RecoveryNeeded):
    """A foreign or undecided operation outlasted the wait."""

    code = "recovery_required"

    def __init__(self, operation_id: str, reason: str) -> None:
        advice = "open the graph read-write to resolve it"
        super().__init__(f"operation {operation_id} must be recovered first: {reason}; {advice}")
        self.operation_id = operation_id
        self.reason = reason

    def details(self) -> dict[str, Any]:
        return {"operation_id": self.operation_id, "reason": self.reason}


class OperationAborted(RecoveryNeeded):
    """Another process aborted this operation; it can never be published."""

    code = "operation_aborted"

    def __init__(self, operation_id: str) -> None:
        super().__init__(f"operation {operation_id} was aborted by another process")
        self.operation_id = operation_id


class InitializationCommitted(RecoveryNeeded):
    """The graph exists, but the call failed afterwards; open it."""

    code = "initialization_committed"

    def __init__(self, uri: str, source: BaseException) -> None:
        super().__init__(f"'{uri}' was initialized, but a later step failed ({source}); open it")
        self.uri = uri
        self.source = source


class InitializationIndeterminate(RecoveryNeeded):
    """Whether the graph exists cannot be told; nothing was deleted."""

    code = "initialization_indeterminate"

    def __init__(self, uri: str, source: BaseException, probe: str) -> None:
        why = f"{source}; probe: {probe}"
        super().__init__(f"initialization of '{uri}' has an unknown outcome ({why}); nothing was deleted")
        self.uri = uri
        self.source = source
        self.probe = probe


# --- permission and storage ------------------------------------------------------------------


class PermissionDenied(OmnigraphError):
    """Policy says no."""

    code = "permission_denied"
    http_status = 403


class Unauthenticated(PermissionDenied):
    """The request does not say, or does not prove, who sent it."""

    code = "unauthorized"
    http_status = 401


class PolicyFailed(OmnigraphError):
    """The policy could not be evaluated; this is neither a yes nor a no, so nothing happened."""

    code = "policy_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(f"policy: {reason}")
        self.reason = reason


class EmbeddingError(OmnigraphError):
    """The embedding provider failed or answered nonsense."""

    code = "embedding_failed"
    http_status = 502


class ServerFailed(OmnigraphError):
    """A server cannot be reached, or failed to answer as it should."""

    code = "server_failed"
    http_status = 502


class StorageError(OmnigraphError):
    """The storage answered with something other than data."""

    code = "storage"

    def __init__(self, message: str, *, kind: str = "Unknown") -> None:
        super().__init__(message)
        self.kind = kind  # Transient | Configuration | NotFound | Precondition | Permanent | Unknown

    def details(self) -> dict[str, Any]:
        return {"kind": self.kind}


class FormatRefused(StorageError):
    """The stamp says that another release wrote this graph."""

    code = "format_refused"

    def __init__(self, message: str, *, found: str | None) -> None:
        super().__init__(message, kind="Permanent")
        self.found = found


class Corrupt(StorageError):
    """The stored state contradicts itself; fail closed."""

    code = "corrupt"

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="Permanent")
