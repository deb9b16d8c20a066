"""The root of the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

_NO_ROWS: Mapping[str, int] = MappingProxyType({})


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

    def reword(self, change: Callable[[str], str]) -> None:
        """Say everything that it says in other words."""
        self.message = change(self.message)
        self.args = (self.message,)

    def details(self) -> dict[str, Any]:
        """The machine-readable fields beside code and message."""
        return {}


class RowError(OmnigraphError):
    """The first row that a write refuses; a load also says how many rows it refuses, by code, and names others.

    `refused` counts rows, each once under the first thing that is wrong with it; `others` are further ones in words,
    and `limit` says beyond how many rows the load has given up.
    """

    refused: Mapping[str, int] = _NO_ROWS
    others: tuple[str, ...] = ()
    limit: int | None = None

    def among(self, refused: Mapping[str, int], others: Sequence[str], limit: int | None = None) -> None:
        """Take note of everything that the load refuses; where that is more than one row, it is shown as well.

        With a `limit` the load has given up beyond so many rows, and has not looked at all of them.
        """
        self.refused, self.others, self.limit = dict(sorted(refused.items())), tuple(others), limit
        self.__notes__ = []
        if sum(refused.values()) > 1:
            counts = ", ".join(f"{count} x {code}" for code, count in self.refused.items())
            self.__notes__ = [f"refused: {counts}", *(f"  {other}" for other in self.others)]
        if limit is not None:
            self.__notes__.append(f"gave up with more than {limit} refused rows (max_errors); there may be others")

    def reword(self, change: Callable[[str], str]) -> None:
        super().reword(change)
        self.among(self.refused, [change(other) for other in self.others], self.limit)

    def details(self) -> dict[str, Any]:
        return {"refused": dict(self.refused), "others": list(self.others)} if self.refused else {}
