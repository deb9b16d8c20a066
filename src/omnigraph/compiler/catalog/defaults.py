"""Default values: what `@default(literal)` may say about a property, and the value that it stands for."""

from __future__ import annotations

import math
import struct

from omnigraph.compiler.catalog.model import Annotation
from omnigraph.compiler.temporal import BadTemporal, parse_date, parse_datetime
from omnigraph.compiler.types import FLOATING, INTEGER, INTEGER_RANGE, PropType

NAME = "default"
Default = str | int | float | bool

# How values of each type are spelled in schema text; everything else is a number.
_SPELLINGS = {"Bool": ("bool",), "String": ("string", "word"), "Date": ("string",), "DateTime": ("string",)}


def takes_default(kind: PropType) -> bool:
    """Whether a property may have one: what is absent from a nullable property is null already."""
    return kind.is_plain_scalar and not kind.nullable


def spelled_for(kind: PropType, spelling: str) -> bool:
    """Whether a literal spelled as a string, number, bool or word can be a value of this type at all."""
    return spelling in _SPELLINGS.get(kind.scalar, ("number",))


def default_of(kind: PropType, annotations: tuple[Annotation, ...]) -> Default | None:
    """The default that a property's annotations declare, as JSON would write it."""
    if not takes_default(kind):
        return None
    return next((parse_default(kind, each.value or "") for each in annotations if each.name == NAME), None)


def parse_default(kind: PropType, text: str) -> Default:
    """The value of a default's text; ValueError says why it is none of this type."""
    if kind.enum is not None and text not in kind.enum:
        raise ValueError(f"'{text}' is not one of {', '.join(kind.enum)}")
    if kind.scalar == "Bool":
        return text == "true"
    if kind.scalar in INTEGER:
        return _integer(kind.scalar, text)
    if kind.scalar in FLOATING:
        return _float(kind.scalar, text)
    if kind.scalar in ("Date", "DateTime"):
        _require_instant(kind.scalar, text)
    return text


def _integer(scalar: str, text: str) -> int:
    low, high = INTEGER_RANGE[scalar]
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{text} is not a whole number") from None
    if not low <= value <= high:
        raise ValueError(f"{text} is outside the range of {scalar}")
    return value


def _float(scalar: str, text: str) -> float:
    value = float(text)
    try:
        struct.pack("<f" if scalar == "F32" else "<d", value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ValueError(f"{text} is outside the range of {scalar}")
    return value


def _require_instant(scalar: str, text: str) -> None:
    try:
        parse_date(text) if scalar == "Date" else parse_datetime(text)
    except BadTemporal as error:
        raise ValueError(str(error)) from error
