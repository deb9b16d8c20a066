"""Frames of `graph.spark` that read no more than is asked: columns, conditions and limits reach Lance.

Spark does not tell a Python source which columns a query needs, and keeps the filters that it has handed to one for the
next query on the same frame. So each of `select`, `where` and `limit` makes a new frame over a source of its own, as
long as it can be understood here; what cannot is an ordinary step of Spark, and so is everything after it. Conditions
stay in Spark's plan as well: what Lance is told can only leave out rows that Spark would leave out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
)

from omnigraph.pipeline.spark.filters import lance_predicate

_SIGNS: dict[str, Any] = {
    "=": EqualTo, "==": EqualTo, ">": GreaterThan, ">=": GreaterThanOrEqual, "<": LessThan, "<=": LessThanOrEqual,
}  # fmt: skip
_COMPARED = re.compile(r"`?(\w+)`?\s*(==|=|>=|<=|>|<)\s*('[^'\\]*'|-?\d+(?:\.\d+)?|true|false)", re.IGNORECASE)
_NULL = re.compile(r"`?(\w+)`?\s+IS\s+(NOT\s+)?NULL", re.IGNORECASE)
_AND = re.compile(r"\s+AND\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in Spark's words, and its parts as far as they were understood."""

    spark: str
    parts: tuple[Filter, ...]

    @property
    def columns(self) -> set[str]:
        return {part.attribute[0] for part in self.parts}  # type: ignore[attr-defined]


def understood(text: str) -> Condition | None:
    """A conjunction of comparisons of columns with literals; None for anything else.

    >>> understood("age > 40 and name = 'ada'").columns == {"age", "name"}
    True
    >>> understood("age > 40 or age < 3") is None
    True
    """
    parts: list[Filter] = []
    for piece in _AND.split(text.strip()):
        if found := _COMPARED.fullmatch(piece):
            name, sign, literal = found.groups()
            parts.append(_SIGNS[sign]((name,), _value(literal)))
        elif found := _NULL.fullmatch(piece):
            parts.append((IsNotNull if found.group(2) else IsNull)((found.group(1),)))
        else:
            return None
    return Condition(text, tuple(parts))


def _value(literal: str) -> Any:
    if literal.startswith("'"):
        return literal[1:-1]
    if literal.lower() in ("true", "false"):
        return literal.lower() == "true"
    return float(literal) if "." in literal else int(literal)


Load = Callable[[Sequence[str] | None, Sequence[str], int | None], Any]
"""A fresh frame over some columns, some predicates of Lance, and at most so many rows per partition."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a frame reads: its columns, the conditions on them, a limit; `schema` and `stored` are those of the type."""

    load: Load
    schema: pa.Schema
    stored: dict[str, str | None]
    columns: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    limit: int | None = None

    def frame(self) -> Any:
        """The frame, over a source of its own."""
        needed = [name for name in self.schema.names if name in {*self.columns, *self._filtered}]
        parts = [part for condition in self.conditions for part in condition.parts]
        pushed = [found for part in parts if (found := self._pushed(part)) is not None]
        found = self.load(needed, pushed, None if self.conditions else self.limit)
        for condition in self.conditions:
            found = found.where(condition.spark)
        if tuple(needed) != self.columns:
            found = found.select(*(f"`{name}`" for name in self.columns))
        if self.limit is not None:
            found = found.limit(self.limit)
        kind: Any = type(found)
        found.__class__ = _pushing(kind)
        found._asked = self
        return found

    def _pushed(self, part: Filter) -> str | None:
        """A condition for Lance; None where Spark has to look itself."""
        return lance_predicate(part, self.stored, self.schema)

    @property
    def _filtered(self) -> set[str]:
        return {name for condition in self.conditions for name in condition.columns}


@cache
def _pushing(kind: Any) -> Any:
    """A subclass of the session's own class of frames."""

    class GraphFrame(kind):  # type: ignore[misc]
        """A frame of a graph; see the module."""

        _asked: Asked

        def select(self, *cols: Any) -> Any:
            names = list(cols[0]) if len(cols) == 1 and isinstance(cols[0], list) else list(cols)
            known = all(isinstance(name, str) and name in self._asked.columns for name in names)
            if not names or not known or len(set(names)) != len(names):
                return super().select(*cols)
            return replace(self._asked, columns=tuple(names)).frame()

        def filter(self, condition: Any) -> Any:
            found = understood(condition) if isinstance(condition, str) else None
            if found is None or self._asked.limit is not None or not found.columns <= set(self._asked.columns):
                return super().filter(condition)
            return replace(self._asked, conditions=(*self._asked.conditions, found)).frame()

        where = filter

        def limit(self, num: int) -> Any:
            least = num if self._asked.limit is None else min(num, self._asked.limit)
            return replace(self._asked, limit=least).frame()

        def count(self) -> int:
            one = replace(self._asked, columns=self._asked.columns[:1]).frame()
            return int(kind.count(one))

    GraphFrame.__name__ = GraphFrame.__qualname__ = kind.__name__
    return GraphFrame
