"""Every refusal as the error envelope: which status, which code and which detail member an error becomes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from omnigraph.errors import (
    AmbiguousCommit,
    BranchBusy,
    ChangeFeedGap,
    ChangeSchemaBoundary,
    CommitHasNoParent,
    EmbeddingError,
    ExpectedVersionMismatch,
    ExternalBlobSource,
    KeyConflict,
    MergeConflict,
    MergeConflicts,
    OmnigraphError,
    OperationAborted,
    Overloaded,
    PolicyFailed,
    PreconditionFailed,
    QueryNotFound,
    ReadSetChanged,
    RecoveryNeeded,
    RecoveryRequired,
    ResourceLimitExceeded,
    TooManyRequests,
    ValueViolation,
)

INTERNAL = "the server failed to answer; its log says why"
RETRY_AFTER = "60"
SOON = "1"
CHALLENGE = {"WWW-Authenticate": "Bearer"}

# The set is closed: newer meanings ride in a detail member, and the code is left out.
_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "bad_request",
    409: "conflict",
    413: "bad_request",
    415: "bad_request",
    416: "bad_request",
    429: "too_many_requests",
    500: "internal",
    501: "bad_request",
}
_CLIENT_GONE = 499
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


class Refusal(Exception):
    """An answer that is not what was asked for; raised anywhere in a request, rendered in one place."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.details = details or {}
        self.headers = headers or {}

    def envelope(self) -> dict[str, Any]:
        """The body: `{error, code?, detail?}`."""
        code = {} if self.code is None else {"code": self.code}
        return {"error": self.message, **code, **self.details}


def refuse(status: int, message: str, **headers: str) -> Refusal:
    """A plain refusal with the code that its status has."""
    return Refusal(status, message, _CODES.get(status), headers={k.replace("_", "-"): v for k, v in headers.items()})


def bad_request(message: str) -> Refusal:
    """400: the request makes no sense as it stands."""
    return refuse(400, message)


def resource_limit(resource: str, *, limit: int, actual: int) -> Refusal:
    """413: more than a transport limit allows."""
    return refusal_of(ResourceLimitExceeded(resource, limit=limit, actual=actual))


def refusal_of(error: OmnigraphError) -> Refusal:
    """The refusal that an engine error becomes."""
    status = _status(error)
    details = {**_details(error), **_refused_rows(error)}
    code = None if details.keys() & _WITHOUT_CODE else _CODES.get(status)
    headers = CHALLENGE if status == 401 else {"Retry-After": SOON} if isinstance(error, _SOON) else {}
    return Refusal(status, _message(error, status), code, details, headers)


_SOON = (BranchBusy, Overloaded, TooManyRequests)

# Findings about a row together with stored ones; all others are about the input alone.
_ABOUT_STORED_ROWS = frozenset({"W012", "W013", "W014", "W015", "W021", "W023"})
_CONTRADICTIONS = (KeyConflict, MergeConflicts, ReadSetChanged, ExpectedVersionMismatch, PreconditionFailed)


def withheld(error: OmnigraphError) -> Refusal | None:
    """The refusal of a write to one who may not read what it contradicts; None when the error is about the input."""
    stored = isinstance(error, ValueViolation) and error.code in _ABOUT_STORED_ROWS
    if not stored and not isinstance(error, _CONTRADICTIONS):
        return None
    return refuse(_status(error), "the write contradicts rows that this actor may not read; nothing was written")


def alone(error: OmnigraphError) -> OmnigraphError:
    """The error without the other rows that the load refuses: some of them may contradict stored ones."""
    if isinstance(error, KeyConflict | ValueViolation):
        error.among({}, ())
    return error


# Details that came after the set of codes was closed.
_WITHOUT_CODE = frozenset({"external_blob_source", "recovery_required", "precondition_failure", "change_feed_gap"})


def _status(error: OmnigraphError) -> int:
    if isinstance(error, QueryNotFound):
        return 400  # the text was sent along, so it is the request that is wrong
    if isinstance(error, EmbeddingError):
        return 500
    return error.http_status if error.http_status != _CLIENT_GONE else 408


def _message(error: OmnigraphError, status: int) -> str:
    if isinstance(error, AmbiguousCommit):
        # Its candidates may be commits of branches that the caller must not see.
        return f"commit '{error.reference}' not found: several commits begin like this; write more of the id"
    return error.message if status != 500 else _internal(error)


def _internal(error: OmnigraphError) -> str:
    """Storage failures name files and versions; callers get the class of the failure, the log gets the rest."""
    return error.message if isinstance(error, PolicyFailed) else f"{error.code}: {INTERNAL}"


def _refused_rows(error: OmnigraphError) -> dict[str, Any]:
    """What a load refuses beside its first row."""
    if not isinstance(error, KeyConflict | ValueViolation) or not error.refused:
        return {}
    return {"refused_rows": {"counts": dict(error.refused), "others": list(error.others)}}


def _details(error: OmnigraphError) -> dict[str, Any]:
    match error:
        case MergeConflicts():
            return {"merge_conflicts": [merge_conflict(each) for each in error.conflicts]}
        case ExpectedVersionMismatch():
            versions = {
                "expected_published_dataset_version": error.expected,
                "actual_published_dataset_version": error.actual,
            }
            return {"published_dataset_version_conflict": {**_typed(error.table_key), **versions}}
        case ReadSetChanged():
            return {"read_set_conflict": _read_set(error)}
        case KeyConflict():
            named = {} if error.entity_id is None else {"entity_id": error.entity_id}
            return {"key_conflict": {**_typed(error.type_key), **named}}
        case CommitHasNoParent():
            return {
                "change_diff_refusal": {"reason": "parentless_commit", "graph_commit_id": error.graph_commit_id},
            }
        case ChangeSchemaBoundary():
            boundary = {"reason": "schema_boundary", **error.details()}
            return {"change_diff_refusal": boundary}
        case ExternalBlobSource():
            return {"external_blob_source": error.details()}
        case ResourceLimitExceeded():
            return {"resource_limit": error.details()}
        case PreconditionFailed():
            actual = {} if error.actual is None else {"actual": error.actual}
            return {"precondition_failure": {"expected": error.expected, **actual}}
        case ChangeFeedGap():
            cursor = {} if error.cursor is None else {"cursor": error.cursor}
            return {"change_feed_gap": {**cursor, "first_unreadable_commit_id": error.first_unreadable_commit_id}}
        case RecoveryRequired() | OperationAborted():
            return {"recovery_required": {"operation_id": error.operation_id}}
        case RecoveryNeeded():
            return {"recovery_required": {"operation_id": ""}}
    return {}


def merge_conflict(conflict: MergeConflict) -> dict[str, Any]:
    """One conflict as the wire spells it."""
    kind, _, name = conflict.table_key.partition(":")
    return {
        "entity_kind": kind,
        "type_name": name,
        "entity_id": conflict.entity_id,
        "kind": _WORD.sub("_", conflict.kind).lower(),
        "message": conflict.message,
        **({"properties": list(conflict.properties)} if conflict.properties else {}),
        **_sides(conflict),
    }


def _sides(conflict: MergeConflict) -> dict[str, Any]:
    sides = {"base": conflict.base, "ours": conflict.ours, "theirs": conflict.theirs}
    return {name: dict(values) for name, values in sides.items() if values is not None}


def _typed(table_key: str) -> dict[str, str]:
    kind, _, name = table_key.partition(":")
    return {"entity_kind": kind, "type_name": name}


def _read_set(error: ReadSetChanged) -> dict[str, Any]:
    def text(value: object) -> str | None:
        return None if value is None else str(value)

    found: dict[str, Any] = {"member": error.member, "expected": text(error.expected), "actual": text(error.actual)}
    if error.attempts:
        found["attempts"] = error.attempts
    if (change := error.change) is not None and change.table_key:
        named = {"entity_ids": list(change.ids), "graph_commit_id": change.graph_commit_id, "actor_id": change.actor_id}
        found["change"] = {**_typed(change.table_key), **named}
    return found
