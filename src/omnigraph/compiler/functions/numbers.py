"""Functions of numbers; where the result is not a finite number it is null."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from omnigraph.compiler.functions.model import Failure, define

_INT64 = (-(2**63), 2**63 - 1)
EARTH_RADIUS = 6_371_008.8


def finite(compute: Callable[..., float]) -> Callable[..., float | None]:
    """The same with null where the result is not a finite number."""

    def guarded(*args: Any) -> float | None:
        try:
            found = compute(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None
        return found if not isinstance(found, complex) and math.isfinite(found) else None

    return guarded


def integer(value: int) -> int:
    """A result that fits, or Failure."""
    if not _INT64[0] <= value <= _INT64[1]:
        raise Failure("integer overflow: integers are 64 bits wide and signed")
    return value


def rounded(value: float, digits: int = 0) -> float:
    """Half goes away from zero; digits below zero round to tens, hundreds and so on."""
    if isinstance(value, int):
        return value if digits >= 0 else _rounded_integer(value, digits)
    if not -300 <= digits <= 300:
        return value if digits > 0 else 0.0
    scale = 10.0 ** abs(digits)
    scaled = value * scale if digits >= 0 else value / scale
    if not math.isfinite(scaled):
        return value
    whole = math.trunc(abs(scaled))
    whole += abs(scaled) - whole >= 0.5
    result = math.copysign(whole, scaled)
    return result / scale if digits >= 0 else result * scale


def _rounded_integer(value: int, digits: int) -> int:
    if digits < -18:
        return 0
    unit: int = 10**-digits
    whole, rest = divmod(abs(value), unit)
    return integer((1 if value >= 0 else -1) * (whole + (2 * rest >= unit)) * unit)


def _power(base: float, exponent: float) -> float:
    return math.pow(base, exponent)


def great_circle(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """The haversine formula on a sphere of the mean radius of the Earth, in metres."""
    a, b = math.radians(lat1), math.radians(lat2)
    half = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS * math.asin(math.sqrt(min(1.0, half)))


def _whole(value: float, way: Callable[[float], int]) -> float:
    return value if isinstance(value, int) else float(way(value))


def _ordered(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _number(signature: str, summary: str, example: str, answer: str, compute: Any, **more: Any) -> Any:
    return define("Numbers", signature, summary, example, answer, compute, **more)


def _plain(name: str, summary: str, example: str, answer: str, compute: Any) -> Any:
    return _number(f"{name}(x: Float) -> F64?", summary, example, answer, finite(compute))


NUMBERS = (
    _number(
        "abs(x: Number) -> Numeric",
        "Without its sign.",
        "abs(-3)",
        "3",
        lambda x: integer(abs(x)) if isinstance(x, int) else abs(x),
        fails=True,
    ),
    _number("sign(x: Number) -> I64", "-1, 0 or 1.", "sign(-2.5)", "-1", lambda x: (x > 0) - (x < 0)),
    _number(
        "round(x: Number, digits?: Integer) -> Numeric",
        "To so many digits behind the point, half away from zero.",
        "round(2.345, 1)",
        "2.3",
        rounded,
        fails=True,
    ),
    _number(
        "floor(x: Number) -> Numeric",
        "The next whole number below.",
        "floor(-2.5)",
        "-3.0",
        lambda x: _whole(x, math.floor),
    ),
    _number(
        "ceil(x: Number) -> Numeric", "The next whole number above.", "ceil(2.1)", "3.0", lambda x: _whole(x, math.ceil)
    ),
    _number(
        "trunc(x: Number) -> Numeric", "Without the fraction.", "trunc(-2.7)", "-2.0", lambda x: _whole(x, math.trunc)
    ),
    _plain("sqrt", "The square root; null below 0.", "sqrt(9)", "3.0", math.sqrt),
    _plain("exp", "e to the power of x.", "exp(0)", "1.0", math.exp),
    _plain("ln", "The natural logarithm; null at 0 and below.", "ln(1)", "0.0", math.log),
    _plain("log10", "The logarithm to base 10.", "log10(1000)", "3.0", math.log10),
    _plain("log2", "The logarithm to base 2.", "log2(8)", "3.0", math.log2),
    _number("pow(x: Float, y: Float) -> F64?", "x to the power of y.", "pow(2, 10)", "1024.0", finite(_power)),
    _plain("sin", "Of an angle in radians.", "sin(0)", "0.0", math.sin),
    _plain("cos", "Of an angle in radians.", "cos(0)", "1.0", math.cos),
    _plain("tan", "Of an angle in radians.", "tan(0)", "0.0", math.tan),
    _plain("asin", "The angle of a sine.", "asin(0)", "0.0", math.asin),
    _plain("acos", "The angle of a cosine.", "acos(1)", "0.0", math.acos),
    _plain("atan", "The angle of a tangent.", "atan(0)", "0.0", math.atan),
    _number("atan2(y: Float, x: Float) -> F64?", "The angle of a point.", "atan2(0, 1)", "0.0", finite(math.atan2)),
    _plain("degrees", "Radians as degrees.", "degrees(0)", "0.0", math.degrees),
    _plain("radians", "Degrees as radians.", "round(radians(180), 4)", "3.1416", math.radians),
    _number(
        "pi() -> F64",
        "The ratio of a circle's circumference to its diameter.",
        "round(pi(), 4)",
        "3.1416",
        lambda: math.pi,
    ),
    _number(
        "greatest(x: T, …) -> T",
        "The largest of several values of one type; null if one is null.",
        "greatest(3, 7, 5)",
        "7",
        lambda *values: max(values, key=_ordered),
    ),
    _number(
        "least(x: T, …) -> T",
        "The smallest of several values of one type; null if one is null.",
        'least("b", "a")',
        '"a"',
        lambda *values: min(values, key=_ordered),
    ),
    define(
        "Geography",
        "geo_distance(lat1: Float, lon1: Float, lat2: Float, lon2: Float) -> F64?",
        "Metres along the great circle between two points given in degrees.",
        "round(geo_distance(47.3769, 8.5417, 46.9480, 7.4474), -3)",
        "95000.0",
        finite(great_circle),
    ),
)
