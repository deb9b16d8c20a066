"""What a write may get wrong, as data: one violation per finding, made an error only where a caller wants one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.errors import KeyConflict, ValueViolation


@dataclass(frozen=True, slots=True)
class Violation:
    """One rejected value, row or constraint; `ids` are the entities involved, the rejected one first.

    `earlier` is line and file of the row of the same input that it contradicts.
    """

    code: str
    message: str
    table_key: str | None = None
    property_name: str | None = None
    ids: tuple[str, ...] = ()
    line: int | None = None
    file: str | None = None
    earlier: tuple[int | None, str | None] = (None, None)

    @property
    def type_name(self) -> str | None:
        return self.table_key.partition(":")[2] if self.table_key is not None else None

    @property
    def entity_id(self) -> str | None:
        return self.ids[0] if self.ids else None

    def error(self) -> KeyConflict | ValueViolation:
        """The exception a write surface raises for this finding."""
        if self.code == "W015":
            return KeyConflict(self.table_key or "", self.entity_id, line=self.line, file=self.file)
        return ValueViolation(
            self.code,
            self.text(),
            type_name=self.type_name,
            property_name=self.property_name,
            entity_id=self.entity_id,
            line=self.line,
            file=self.file,
        )

    def text(self) -> str:
        """The message with its place: the file in front, the line behind unless the message names it itself."""
        named = self.line is None or self.message.startswith(f"line {self.line}:")
        place = "" if named else f" ({self._lines()})"
        return f"{self.file}: {self.message}{place}" if self.file else f"{self.message}{place}"

    def _lines(self) -> str:
        line, file = self.earlier
        if line is None:
            return f"line {self.line}"
        return f"lines {line} and {self.line}" if file == self.file else f"line {self.line}; {file}: line {line}"


def unknown_field(type_name: str, name: str, known: Iterable[str]) -> str:
    """The sentence of W017."""
    near = _near(name, tuple(known))
    return f"unknown input field '{name}' for '{type_name}'{f'; {near}' if near else ''}"


@lru_cache(256)  # a file that spells a field wrong does so in every line
def _near(name: str, known: tuple[str, ...]) -> str | None:
    return did_you_mean(name, known)


def raise_first(violations: list[Violation]) -> None:
    """Raise the first finding, if there is one."""
    if violations:
        raise violations[0].error()
