"""Failures that wait for an interrupted operation to be resolved."""

from __future__ import annotations

from typing import Any

from omnigraph.errors.base import OmnigraphError


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
