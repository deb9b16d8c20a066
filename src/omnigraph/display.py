"""How values show themselves at a prompt and in a notebook: what is set, cut where it is long, and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

ItemT = TypeVar("ItemT")

_LONGEST = 60
_LONGEST_CELL = 200
_MOST_ROWS = 20
_MOST_ITEMS = 50


class Displayed:
    """Gives a class a repr that fits a line or two, and HTML for notebooks; one with a repr of its own keeps that."""

    __slots__ = ()

    def _displayed(self) -> Sequence[tuple[str, Any]]:
        """What a notebook shows of it, by name."""
        return _set(self)

    def _brief(self) -> str:
        """What stands for it in the cell of a table."""
        return repr(self)

    def __repr__(self) -> str:
        if not _has_fields(self):
            return f"<{type(self).__name__}>"
        parts = (f"{name}={_cut(repr(value), _LONGEST)}" for name, value in _set(self))
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        if not _has_fields(self):
            return preformatted(str(self))
        left = ' style="text-align: left"'
        rows = "".join(
            f"<tr><th{left}>{_escape(name)}</th><td{left}>{_html(name, value)}</td></tr>"
            for name, value in self._displayed()
            if not _says_nothing(value)
        )
        return f"<table><caption>{type(self).__name__}</caption><tbody>{rows}</tbody></table>"


class DisplayedOptions(Displayed):
    """For options: at a prompt what differs from the defaults, None included; in a notebook all that have a value."""

    __slots__ = ()

    def _displayed(self) -> Sequence[tuple[str, Any]]:
        return [(name, value) for name, value, _ in _members(self)]

    def __repr__(self) -> str:
        parts = (f"{name}={value!r}" for name, value, usual in _members(self) if value != usual)
        return f"{type(self).__name__}({', '.join(parts)})"


class DisplayedText(Displayed):
    """For what is best shown as its text, such as a plan."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return preformatted(str(self))


class ShownList(list[ItemT]):
    """A list that shows itself as a table in a notebook, and one line per item at a prompt."""

    __slots__ = ()

    def __repr__(self) -> str:
        if len(self) < 2 or isinstance(self[0], str):
            return super().__repr__()
        lines = [f"  {item!r}," for item in self[:_MOST_ITEMS]]
        return "\n".join(["[", *lines, *_rest(len(self), _MOST_ITEMS, "  "), "]"])

    def _repr_html_(self) -> str:
        return _records(self, _MOST_ITEMS) if self else "<p>none</p>"


def counted(count: int, noun: str, *, grouped: bool = False) -> str:
    """A number of things, in the singular or the plural; `grouped` separates thousands.

    >>> counted(1, "entity"), counted(2, "entity"), counted(0, "node type"), counted(3, "branch")
    ('1 entity', '2 entities', '0 node types', '3 branches')
    >>> counted(12000, "row", grouped=True)
    '12,000 rows'
    """
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith(("ch", "x")) else f"{noun}s"
    return f"{count:{',' if grouped else ''}} {noun if count == 1 else several}"


def preformatted(text: str) -> str:
    """Text as HTML that keeps its lines."""
    return f"<pre>{_escape(text)}</pre>"


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[bool], cell: Callable[[str, Any], str]
) -> str:
    """A table whose numbers are to the right; `cell` gives the HTML of a value of a column."""
    sides = ["right" if each else "left" for each in numeric]
    top = "".join(
        f'<th style="text-align: {side}">{_escape(name)}</th>' for name, side in zip(head, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align: {side}">{cell(name, value)}</td>'
            for name, value, side in zip(head, row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def text_cell(_name: str, value: Any) -> str:
    """The HTML of a text, cut where it is long."""
    return _escape(_cut(str(value), _LONGEST_CELL))


def instant_text(micros: int) -> str:
    """Microseconds since 1970 as people write them."""
    return f"{datetime.fromtimestamp(micros // 1_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _has_fields(value: object) -> bool:
    return is_dataclass(value)


def _set(value: Any) -> list[tuple[str, Any]]:
    """The fields that say something: not their defaults, not None, not empty."""
    return [(name, held) for name, held, usual in _members(value) if held != usual and not _says_nothing(held)]


def _members(value: Any) -> list[tuple[str, Any, Any]]:
    """The fields that may be shown, each with its value and its default."""
    return [
        (each.name, getattr(value, each.name), None if each.default is MISSING else each.default)
        for each in fields(value)
        if each.repr
    ]


def _says_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, Sized) and len(value) == 0)


def _html(name: str, value: Any) -> str:
    """A value in a cell: records as a table of their own, everything else as text."""
    if isinstance(value, list | tuple) and value and isinstance(value[0], Displayed | Mapping):
        return _records(value, _MOST_ROWS)
    return text_cell(name, _text(name, value))


def _records(items: Sequence[Any], most: int) -> str:
    """Some records as a table: a column for everything that one of them says."""
    rows = [dict(_row(each)) for each in items[:most]]
    head = list(dict.fromkeys(name for row in rows for name, value in row.items() if not _says_nothing(value)))
    values = [[row.get(name) for name in head] for row in rows]
    numeric = [all(type(row.get(name)) in (int, float, type(None)) for row in rows) for name in head]
    numeric = [each and not name.endswith("_at") for each, name in zip(numeric, head, strict=True)]
    notes = "".join(f"<p>{_escape(note)}</p>" for note in _rest(len(items), most))
    return html_table(head, values, numeric, lambda name, value: text_cell(name, _text(name, value))) + notes


def _row(item: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return zip(getattr(item, "_fields", ()), item, strict=True)
    if isinstance(item, Mapping):
        return [(str(name), value) for name, value in item.items()]
    if isinstance(item, Displayed) and _has_fields(item):
        return item._displayed()
    return [("", item)]


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name.endswith("_at") and type(value) is int:
        return instant_text(value)
    if isinstance(value, Displayed):
        return value._brief()
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text('', each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text("", each) for each in value)
    return value if isinstance(value, str) else repr(value)


def _rest(count: int, most: int, indent: str = "") -> list[str]:
    return [f"{indent}… and {count - most:,} more"] if count > most else []


def _cut(text: str, longest: int) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _escape(text: str) -> str:
    import html  # slow to import: it has a table of all HTML entities

    return html.escape(text)
