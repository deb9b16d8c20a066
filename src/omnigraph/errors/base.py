"""The root of the tree."""

from __future__ import annotations

from typing import Any, ClassVar


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

    def at(self, place: str) -> OmnigraphError:
        """This error, with the place in front of its message."""
        self.message = f"{place}: {self.message}"
        self.args = (self.message,)
        return self

    def details(self) -> dict[str, Any]:
        """The machine-readable fields beside code and message."""
        return {}
