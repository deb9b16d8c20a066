"""The error that a server's refusal stands for: the same classes as an embedded graph raises."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from omnigraph import errors
from omnigraph.errors import ConflictKind, MergeConflict, OmnigraphError

_KINDS: dict[int, type[OmnigraphError]] = {
    401: errors.Unauthenticated,
    403: errors.PermissionDenied,
    404: errors.NotFound,
    409: errors.Conflict,
    410: errors.NotFound,
    412: errors.Conflict,
    429: errors.TooManyRequests,
}
# What is wrong with a row, by its code.
_ROW_PROBLEM = re.compile(r"(W\d{3}): (.*)", re.DOTALL)
# The place of a conflict in the input; the detail of the envelope has no member for it.
_LINE = re.compile(r" \(line (\d+)\)$")


def failure(status: int, content: bytes) -> OmnigraphError:
    """What to raise for a response that is not a success."""
    try:
        body = json.loads(content)
        message = body["error"]
    except (ValueError, TypeError, KeyError):
        if not content and status in _KINDS:
            return _KINDS[status](f"the server refused with status {status} and said nothing")
        return errors.ServerFailed(f"the server answered with status {status} and no error in the known form")
    error = _detailed(status, message, body) or _plain(status, message)
    match error, body:
        case errors.KeyConflict() | errors.ValueViolation(), {"refused_rows": rows}:
            error.among(rows["counts"], rows["others"])
    return error


def _detailed(status: int, message: str, body: Mapping[str, Any]) -> OmnigraphError | None:
    match body:
        case {"merge_conflicts": [_, *_] as conflicts}:
            return errors.MergeConflicts([merge_conflict(each) for each in conflicts])
        case {"precondition_failure": detail}:
            branch = message.split("'")[1] if message.count("'") >= 2 else "main"
            return errors.PreconditionFailed(branch, expected=detail["expected"], actual=detail.get("actual"))
        case {"key_conflict": detail}:
            table = f"{detail['entity_kind']}:{detail['type_name']}"
            line = _LINE.search(message)
            return errors.KeyConflict(table, detail.get("entity_id"), line=None if line is None else int(line[1]))
        case {"read_set_conflict": detail}:
            return _read_set(detail)
        case {"published_dataset_version_conflict": detail}:
            return errors.ExpectedVersionMismatch(
                f"{detail['entity_kind']}:{detail['type_name']}",
                expected=detail["expected_published_dataset_version"],
                actual=detail["actual_published_dataset_version"],
            )
        case {"external_blob_source": detail}:
            return errors.ExternalBlobSource(detail["uri"], detail["reason"])
        case {"resource_limit": detail}:
            return errors.ResourceLimitExceeded(detail["resource"], limit=detail["limit"], actual=detail["actual"])
        case {"change_feed_gap": detail}:
            return errors.ChangeFeedGap(detail["first_unreadable_commit_id"], detail.get("cursor"))
        case {"recovery_required": detail}:
            return errors.RecoveryRequired(detail["operation_id"], message)
        case {"change_diff_refusal": {"reason": "parentless_commit", "graph_commit_id": commit}}:
            return errors.CommitHasNoParent(commit)
    return None


def _read_set(detail: Mapping[str, Any]) -> OmnigraphError:
    change = detail.get("change")
    return errors.ReadSetChanged(
        detail["member"],
        expected=detail["expected"],
        actual=detail["actual"],
        change=None
        if change is None
        else errors.OtherChange(
            f"{change['entity_kind']}:{change['type_name']}",
            tuple(change["entity_ids"]),
            change["graph_commit_id"],
            change["actor_id"],
        ),
        attempts=detail.get("attempts", 0),
    )


def _plain(status: int, message: str) -> OmnigraphError:
    if message.startswith("change cursor rejected: "):
        return errors.ChangeCursorRejected(message.removeprefix("change cursor rejected: "))
    if status == 404 and message.startswith("branch '"):
        return errors.BranchNotFound(message.split("'")[1])
    if status == 503 and message.startswith("branch '"):
        return errors.BranchBusy(message.split("'")[1], message)
    if status >= 500:
        return errors.ServerFailed(f"the server failed: {message}")
    if status == 400 and (row := _ROW_PROBLEM.fullmatch(message)) is not None:
        return errors.ValueViolation(row[1], row[2])
    return _KINDS.get(status, errors.BadRequest)(message)


def merge_conflict(detail: Mapping[str, Any]) -> MergeConflict:
    """One conflict, as an embedded graph reports it."""
    kind = "".join(word.capitalize() for word in detail["kind"].split("_"))
    return MergeConflict(
        f"{detail['entity_kind']}:{detail['type_name']}",
        detail.get("entity_id"),
        cast("ConflictKind", kind),
        detail["message"],
        tuple(detail.get("properties", ())),
        detail.get("ours"),
        detail.get("theirs"),
        detail.get("base"),
    )
