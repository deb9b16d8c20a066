"""Failures after which the same request may succeed from fresh state."""

from __future__ import annotations

from typing import Any

from omnigraph.errors.base import OmnigraphError


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
