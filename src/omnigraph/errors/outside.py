"""Failures of permission, and of what lies outside: policies, providers, servers, storage."""

from __future__ import annotations

from typing import Any

from omnigraph.errors.base import OmnigraphError


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


class ExternalBlobSource(OmnigraphError):
    """An object outside the graph that a blob may refer to is not to be found; nothing was written."""

    code = "external_blob_source"
    http_status = 424

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(f"external blob '{uri}' cannot be referred to: {reason}")
        self.uri = uri
        self.reason = reason

    def details(self) -> dict[str, Any]:
        return {"uri": self.uri, "reason": self.reason}


class ServerFailed(OmnigraphError):
    """A server cannot be reached, or failed to answer as it should."""

    code = "server_failed"
    http_status = 502


class TimedOut(OmnigraphError):
    """Work took longer than it was allowed to, and was ended."""

    code = "timed_out"
    http_status = 504


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
