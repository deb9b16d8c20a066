"""How values show themselves at a prompt and in a notebook: what is set, cut where it is long."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import MISSING, fields
from typing import Any

_LONGEST = 60
_LONGEST_CELL = 200


class Displayed:
    """Gives a class a repr that fits a line or two, and HTML for notebooks; one with a repr of its own keeps that."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not hasattr(self, "__dataclass_fields__"):
            return f"<{type(self).__name__}>"
        parts = (f"{name}={_cut(repr(value), _LONGEST)}" for name, value in _set(self))
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        import html  # slow to import: it has a table of all HTML entities

        if not hasattr(self, "__dataclass_fields__"):
            return f"<pre>{html.escape(str(self))}</pre>"
        rows = (
            f'<tr><th style="text-align: left">{html.escape(name)}</th>'
            f'<td style="text-align: left">{html.escape(_cut(_text(value), _LONGEST_CELL))}</td></tr>'
            for name, value in _set(self)
        )
        return f"<table><caption>{type(self).__name__}</caption><tbody>{''.join(rows)}</tbody></table>"


def _set(value: Any) -> list[tuple[str, Any]]:
    """The fields that say something: not their defaults, not None, not empty."""
    found = []
    for each in fields(value):
        held = getattr(value, each.name)
        usual = each.default if each.default is not MISSING else None
        if each.repr and held is not None and held != usual and not (isinstance(held, Sized) and len(held) == 0):
            found.append((each.name, held))
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _cut(text: str, longest: int) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
