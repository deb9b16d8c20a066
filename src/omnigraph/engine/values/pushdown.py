"""The part of a condition that storage can answer exactly, as a filter text, and the part that is left.

Only forms that keep the same rows are translated; everything else stays behind for the evaluator. A filter and a
condition agree on which rows are *kept*, which is all that matters below `and`, `or` and `NotTrue`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.temporal import format_date
from omnigraph.compiler.types import FLOATING, PropType
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.compare import MIRRORED, Always, Bound, Constant, equal_values, fit
from omnigraph.engine.values.predicate import Bindings, fixed
from omnigraph.storage.lance.tables import quote

NOTHING = "false"
_CALENDAR = range(-719_162, 2_932_897)  # days of the years 1 to 9999, which a date literal can spell
_LONGEST_LIST = 4_096  # storage parses the text of a filter; a longer list is looked up in values that were read
_LEAST_INT64 = -(2**63)  # its digits do not parse as a negated literal


@dataclass(frozen=True, slots=True)
class Pushed:
    """`filter` and then `rest` keep exactly the rows of the original condition; None: there is no such part."""

    filter: str | None
    rest: ir.Condition | None

    @property
    def keeps_nothing(self) -> bool:
        """Whether no row can match, so that nothing needs to be read."""
        return self.filter == NOTHING


def push(condition: ir.Condition, bindings: Bindings) -> Pushed:
    """Split a condition about one entity's stored columns."""
    parts = condition.parts if isinstance(condition, ir.And) else (condition,)
    filters: list[str] = []
    rest: list[ir.Condition] = []
    for part in parts:
        text = _translate(part, bindings)
        if text is None:
            rest.append(part)
        else:
            filters.append(text)
    if NOTHING in filters:
        return Pushed(NOTHING, None)
    left = None if not rest else rest[0] if len(rest) == 1 else ir.And(tuple(rest))
    return Pushed(_all(filters), left)


def column_name(name: str) -> str:
    """A column in a filter; quoted, because a property may be called like a keyword."""
    return f"`{name}`"


def _translate(condition: ir.Condition, bindings: Bindings) -> str | None:
    match condition:
        case ir.Compare(op, ir.Property() as column, other) if (known := fixed(other, bindings)) is not None:
            return _comparison(op, column, known.value)
        case ir.Compare(op, other, ir.Property() as column) if (known := fixed(other, bindings)) is not None:
            return _comparison(MIRRORED[op], column, known.value)
        case ir.TextTest(op, ir.Property() as column, other) if (known := fixed(other, bindings)) is not None:
            return _text_test(op, column, known.value)
        case ir.In(ir.Property() as column, options, negated) if (known := fixed(options, bindings)) is not None:
            return _among(column, known.value, negated=negated)
        case ir.In(value, ir.Property() as column, False) if (known := fixed(value, bindings)) is not None:
            return _has_item(column, known.value)
        case ir.IsNull(ir.Property() as column, negated) if column.type.scalar != "Blob":
            return f"{column_name(column.name)} IS {'NOT ' if negated else ''}NULL"
        case ir.IsTrue(operand):
            return _truth(operand, bindings)
        case ir.And(parts):
            return _whole(parts, bindings, "AND")
        case ir.Or(parts):
            return _whole(parts, bindings, "OR")
        case ir.NotTrue(part):
            inner = _translate(part, bindings)
            return None if inner is None else f"({inner}) IS NOT TRUE"
        case _:
            return None


def _comparison(op: str, column: ir.Property, value: object) -> str | None:
    if value is None:
        return NOTHING
    if not isinstance(value, bool | int | float | str) or not column.type.is_plain_scalar:
        return None
    match fit(op, value, arrow_type(column.type)):
        case Always(answer):
            return f"{column_name(column.name)} IS NOT NULL" if answer else NOTHING
        case Bound(fitted, bound):
            # Two zeros: whether storage tells them apart must not matter.
            if column.type.scalar in FLOATING and bound == 0 and fitted not in (">", "<="):
                return None
            text = _literal(column.type, bound)
            return None if text is None else f"{column_name(column.name)} {fitted} {text}"


def _text_test(op: str, column: ir.Property, value: object) -> str | None:
    if value is None:
        return NOTHING
    if not isinstance(value, str) or not value or op not in ("contains", "starts_with"):
        return None
    return f"{op}({column_name(column.name)}, {quote(value)})"


def _among(column: ir.Property, options: object, *, negated: bool) -> str | None:
    if options is None:
        return NOTHING
    if not isinstance(options, tuple) or not column.type.is_plain_scalar:
        return None
    bounds = equal_values(options, arrow_type(column.type))
    if len(bounds) > _LONGEST_LIST:
        return None
    if column.type.scalar in FLOATING and 0 in bounds:
        return None
    texts = [_literal(column.type, bound) for bound in bounds]
    if None in texts:
        return None
    if not texts:
        return f"{column_name(column.name)} IS NOT NULL" if negated else NOTHING
    return f"{column_name(column.name)} {'NOT ' if negated else ''}IN ({', '.join(filter(None, texts))})"


def _has_item(column: ir.Property, value: object) -> str | None:
    if value is None:
        return NOTHING
    if column.type.scalar != "String" or not isinstance(value, str):
        return None
    return f"array_has({column_name(column.name)}, {quote(value)})"


def _truth(operand: ir.Expr, bindings: Bindings) -> str | None:
    if isinstance(operand, ir.Property):
        return f"{column_name(operand.name)} = true"
    known = fixed(operand, bindings)
    if known is None:
        return None
    return "true" if known.value is True else NOTHING


def _whole(parts: Iterable[ir.Condition], bindings: Bindings, word: str) -> str | None:
    texts = [_translate(part, bindings) for part in parts]
    if None in texts:
        return None
    if not texts:
        return "true" if word == "AND" else NOTHING
    return f" {word} ".join(f"({text})" for text in texts)


def _literal(kind: PropType, value: Constant) -> str | None:
    match kind.scalar, value:
        case "String", str():
            return quote(value)
        case "Bool", bool():
            return "true" if value else "false"
        case "Date", int():
            return f"date '{format_date(value)}'" if value in _CALENDAR else None
        case "DateTime", int():
            # A timestamp literal would turn the column into nanoseconds, which hold no more than 292 years.
            return f"arrow_cast({value}, 'Date64')" if value != _LEAST_INT64 else None
        case (("I32" | "I64" | "U32" | "U64"), int()):
            return str(value) if value != _LEAST_INT64 else None
        case (("F32" | "F64"), (float() | int())):
            return repr(float(value)) if math.isfinite(value) else None
        case _:
            return None


def _all(filters: list[str]) -> str | None:
    if not filters:
        return None
    return filters[0] if len(filters) == 1 else " AND ".join(f"({text})" for text in filters)
