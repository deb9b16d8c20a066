"""Failures that sending the same again would repeat: fix what was sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.errors.base import OmnigraphError, RowError


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


class ValueViolation(RowError, InputError):
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
            **super().details(),
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
            f"R004: searching '{property_name}' by text needs an embedding provider: "
            "set OMNIGRAPH_EMBED_PROVIDER (local works offline) or pass a vector"
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
