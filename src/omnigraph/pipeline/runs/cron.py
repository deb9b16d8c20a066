"""Cron expressions: whether what runs by the clock would understand one."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.errors import BadRequest

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True, slots=True)
class _Field:
    """What one of the five fields may contain; `names` stand for numbers from `low` on."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def accepts(self, text: str) -> bool:
        """Whether a text is a list of *, values and ranges, each with a step behind if need be."""
        return all(self._is_entry(entry) for entry in text.split(","))

    def _is_entry(self, entry: str) -> bool:
        values, slash, step = entry.partition("/")
        if slash and ((number := _number(step)) is None or number < 1):
            return False
        if values == "*":
            return True
        first, dash, last = values.partition("-")
        begin, end = self._value(first), self._value(last if dash else first)
        return begin is not None and end is not None and begin <= end

    def _value(self, text: str) -> int | None:
        if text.lower() in self.names:
            return self.low + self.names.index(text.lower())
        number = _number(text)
        return number if number is not None and self.low <= number <= self.high else None

    def __str__(self) -> str:
        named = f" or {self.names[0]}-{self.names[-1]}" if self.names else ""
        return f"{self.low}-{self.high}{named}"


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("weekday", 0, 7, _DAYS),  # cron takes 0 and 7 for Sunday
)


def require_cron(text: str) -> None:
    """Refuse what is not five fields within their bounds; BadRequest names the first field that is wrong.

    >>> require_cron("*/15 8-18 1,15 jan-mar mon-fri")
    """
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise BadRequest(f"'{text}' is not a cron expression of five fields")
    for field, part in zip(_FIELDS, parts, strict=True):
        if not field.accepts(part):
            raise BadRequest(
                f"the {field.name} '{part}' of '{text}' is not a list of *, numbers and ranges within {field}, "
                "each with /step if need be"
            )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
