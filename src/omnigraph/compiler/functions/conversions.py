"""Functions that convert between types, choose between values, and tell about entities."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from omnigraph.compiler.functions.calendar import DAY
from omnigraph.compiler.functions.model import Failure, define
from omnigraph.compiler.functions.moments import day_of
from omnigraph.compiler.temporal import BadTemporal, Date, DateTime, parse_date, parse_datetime

INTEGER_TEXT = r"\s*[+-]?[0-9]{1,25}\s*"
FLOAT_TEXT = r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?\s*"
_INT64 = (-(2**63), 2**63 - 1)


def _shown(value: Any) -> str:
    return repr(value if not isinstance(value, str) or len(value) <= 40 else value[:37] + "…")


def _to_int(value: Any) -> int:
    if isinstance(value, str):
        if not re.fullmatch(INTEGER_TEXT, value, re.ASCII):
            raise Failure(f"{_shown(value)} is not a whole number")
        value = int(value)
    whole = int(value)  # a fraction is cut off
    if not _INT64[0] <= whole <= _INT64[1]:
        raise Failure(f"{_shown(value)} does not fit into 64 bits")
    return whole


def _to_float(value: Any) -> float:
    if isinstance(value, str) and not re.fullmatch(FLOAT_TEXT, value, re.ASCII):
        raise Failure(f"{_shown(value)} is not a number")
    found = float(value)
    if abs(found) == float("inf"):
        raise Failure(f"{_shown(value)} is larger than any double")
    return found


def _to_bool(value: str) -> bool:
    if value not in ("true", "false"):
        raise Failure(f"{_shown(value)} is neither 'true' nor 'false'")
    return value == "true"


def _to_string(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _to_date(value: Any) -> Date:
    try:
        return parse_date(value) if isinstance(value, str) else Date(day_of(value))
    except BadTemporal as bad:
        raise Failure(str(bad)) from None


def _to_datetime(value: Any) -> DateTime:
    try:
        return (
            parse_datetime(value)
            if isinstance(value, str)
            else DateTime(day_of(value) * DAY if isinstance(value, Date) else value.ms)
        )
    except BadTemporal as bad:
        raise Failure(str(bad)) from None


def _trying(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def tried(value: Any) -> Any:
        try:
            return convert(value)
        except Failure:
            return None

    return tried


def _pair(  # noqa: PLR0917
    name: str, kind: str, result: str, summary: str, example: str, answer: str, bad: str, convert: Any
) -> Any:
    signature = f"{name}(value: {kind}) -> {result}"
    yield define(
        "Conversions", signature, f"{summary}; any other value fails the query.", example, answer, convert, fails=True
    )
    yield define(
        "Conversions",
        f"try_{signature}?",
        "The same with null for any other value.",
        f"try_{name}({bad}) is null",
        "true",
        _trying(convert),
    )


def _unreachable(*_: Any) -> Any:
    raise AssertionError("the type checker turns this function into something else")


CONVERSIONS = (
    *_pair(
        "to_int",
        "NumberOrText",
        "I64",
        "A number without its fraction, or the whole number that a text spells",
        'to_int(" 42 ")',
        "42",
        '"4x"',
        _to_int,
    ),
    *_pair(
        "to_float",
        "NumberOrText",
        "F64",
        "A number, or the number that a text spells",
        'to_float("2.5e1")',
        "25.0",
        '"two"',
        _to_float,
    ),
    *_pair("to_bool", "String", "Bool", "`true` or `false`", 'to_bool("true")', "true", '"yes"', _to_bool),
    *_pair(
        "to_date",
        "MomentOrText",
        "Date",
        "The day of a moment, or the one that a text spells",
        'to_date("2026-08-15")',
        '"2026-08-15"',
        '"soon"',
        _to_date,
    ),
    *_pair(
        "to_datetime",
        "MomentOrText",
        "DateTime",
        "An instant, the midnight of a day, or what a text spells",
        'to_datetime("2026-08-15T14:30:00Z")',
        '"2026-08-15T14:30:00.000Z"',
        '"soon"',
        _to_datetime,
    ),
    define(
        "Conversions",
        "to_string(value: Scalar) -> String",
        "The value as a text.",
        "to_string(2.5)",
        '"2.5"',
        _to_string,
    ),
    define(
        "Conditions",
        "if(condition: Bool, then: T, else: T) -> T",
        "`then` where the condition is true, `else` where it is false or null.",
        'if(1 < 2, "a", "b")',
        '"a"',
        _unreachable,
        own_nulls=True,
    ),
    define(
        "Conditions",
        "coalesce(value: T, …) -> T",
        "The first value that is not null.",
        "coalesce(null, 7, 8)",
        "7",
        lambda *values: next((value for value in values if value is not None), None),
        own_nulls=True,
    ),
    define(
        "Conditions",
        "nullif(value: T, other: T) -> T?",
        "Null where both are equal, else the value.",
        "nullif(3, 4)",
        "3",
        lambda value, other: None if value is not None and value == other else value,
        own_nulls=True,
    ),
    define(
        "Entities",
        "id(entity: Entity) -> String",
        "The id of a node or an edge, like `$x.id`.",
        "id($h)",
        '"h1"',
        _unreachable,
    ),
    define(
        "Entities",
        "type(entity: Entity) -> String",
        "The name of the type of a node or an edge.",
        "type($h)",
        '"Hut"',
        _unreachable,
    ),
)
