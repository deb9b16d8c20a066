"""What a cluster command found: errors and warnings with stable codes, collected rather than raised."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding; `path` is a YAML path, a resource address or a stored file."""

    code: str
    severity: Severity
    path: str
    message: str

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "severity": self.severity, "path": self.path, "message": self.message}

    def __str__(self) -> str:
        label = "ERROR" if self.severity == "error" else "WARN "
        return f"{label} {self.code} {self.path}: {self.message}"


class Stopped(Exception):
    """A command cannot go on; the diagnostics say why. Never leaves the package."""


@dataclass(slots=True)
class Diagnostics:
    """The findings of one command, in the order in which they were made."""

    found: list[Diagnostic] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is an error; warnings never fail a command."""
        return all(item.severity != "error" for item in self.found)

    def error(self, code: str, path: str, message: str) -> None:
        self.found.append(Diagnostic(code, "error", path, message))

    def warn(self, code: str, path: str, message: str) -> None:
        self.found.append(Diagnostic(code, "warning", path, message))

    def stop(self, code: str, path: str, message: str) -> Stopped:
        """Note an error that ends the command; the caller raises what it gets."""
        self.error(code, path, message)
        return Stopped(code)

    def has(self, code: str) -> bool:
        return any(item.code == code for item in self.found)

    def to_json(self) -> list[dict[str, str]]:
        return [item.to_json() for item in self.found]
