"""Failures after which the same request may succeed from fresh state."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from omnigraph.errors.base import OmnigraphError


class Retry(OmnigraphError):
    """Someone else committed first; nothing of this attempt is visible."""

    code = "retry"
    http_status = 409


@dataclass(frozen=True, slots=True)
class OtherChange:
    """What somebody else changed under a write: in which table, in which of the rows it depends on, by which commit."""

    table_key: str
    ids: tuple[str, ...] = ()
    graph_commit_id: str | None = None
    actor_id: str | None = None

    def __str__(self) -> str:
        what = self.table_key or "the branch"
        if self.ids:
            what += f" {', '.join(repr(each) for each in self.ids)}"
        by = f" by {self.actor_id}" if self.actor_id is not None else ""
        return f"commit {self.graph_commit_id}{by} changed {what}" if self.graph_commit_id else f"{what} was changed"


class ReadSetChanged(Retry):
    """The state this write was prepared on is no longer the current one.

    `change` says what somebody else did to what it depends on, as far as that is known; `attempts` and `seconds` what
    was tried before giving up.
    """

    code = "read_set_changed"

    def __init__(
        self,
        member: str,
        *,
        expected: object = None,
        actual: object = None,
        change: OtherChange | None = None,
        attempts: int = 0,
        seconds: float = 0.0,
    ) -> None:
        why = "" if change is None else f": {change}"
        tried = f"; gave up after {attempts} attempts in {seconds:.1f} s" if attempts > 1 else ""
        advice = (
            "retry the operation" if not attempts else "retry, or allow more attempts (attempts=, reprepare_budget)"
        )
        super().__init__(f"read set changed: {member} (expected {expected!r}, actual {actual!r}){why}{tried}; {advice}")
        self.member = member
        self.expected = expected
        self.actual = actual
        self.change = change
        self.attempts = attempts
        self.seconds = seconds

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = {"member": self.member, "expected": self.expected, "actual": self.actual}
        if self.change is not None:
            found["change"] = asdict(self.change) | {"ids": list(self.change.ids)}
        if self.attempts:
            found["attempts"] = self.attempts
        return found


class ExpectedVersionMismatch(Retry):
    """A table's published version is not the one this write expected."""

    code = "expected_version_mismatch"

    def __init__(self, table_key: str, *, expected: int, actual: int) -> None:
        super().__init__(f"{table_key} is published at version {actual}, expected {expected}; retry the operation")
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


class BranchBusy(Retry):
    """Others wrote to the branch for as long as this write was allowed to take; nothing of it is visible."""

    code = "branch_busy"
    http_status = 503

    def __init__(self, branch: str, reason: str) -> None:
        advice = "try again, or allow it more time (Settings.reprepare_seconds, Prefer: wait)"
        super().__init__(f"branch '{branch}' is busy: {reason}; {advice}")
        self.branch = branch
        self.reason = reason

    def details(self) -> dict[str, Any]:
        return {"branch": self.branch, "reason": self.reason}


class TooManyRequests(Retry):
    """A server refuses to work on more requests of this actor at once."""

    code = "too_many_requests"
    http_status = 429


class Overloaded(Retry):
    """This process works on so much that it cannot begin this as well; nothing was done."""

    code = "overloaded"
    http_status = 503

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; try again later")
