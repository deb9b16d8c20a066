"""Kernels of numbers and of geography."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.functions.numbers import EARTH_RADIUS
from omnigraph.engine.values.fixed import Fixed
from omnigraph.engine.values.functions.kernel import Answer, Call, Kernel, Numbers, masked, numpy_of, refused, valid

_OVERFLOW = "integer overflow: integers are 64 bits wide and signed"
_LEAST = np.iinfo(np.int64).min


def _floats(compute: Callable[..., Numbers]) -> Kernel:
    """A function of doubles; what is not finite is null."""

    def kernel(call: Call) -> pa.Array:
        columns = call.columns()
        with np.errstate(all="ignore"):
            found = np.asarray(compute(*(numpy_of(column, 0.0) for column in columns)), np.float64)
        known, finite = valid(columns), np.isfinite(found)
        if known is None and finite.all():
            return pa.array(found)
        return masked(found, finite if known is None else known & finite, pa.float64())

    return kernel


def _whole(compute: Callable[[Any], pa.Array]) -> Kernel:
    return lambda call: call.column(0) if pa.types.is_integer(call.kind) else compute(call.column(0))


def _abs(call: Call) -> Answer:
    column = call.column(0)
    if not pa.types.is_integer(call.kind):
        return pc.abs(column)
    least = numpy_of(pc.fill_null(pc.equal(column, _LEAST), False))
    return refused(pc.abs(column), least, _OVERFLOW)


def _round(call: Call) -> Answer:
    fixed = call.args[1].value if len(call.args) > 1 and isinstance(call.args[1], Fixed) else None
    if (len(call.args) == 1 or fixed == 0) and not pa.types.is_integer(call.kind):
        return pc.round(call.column(0), ndigits=0, round_mode="half_towards_infinity")
    if fixed is not None:
        return _rounded(call.column(0), fixed, valid([call.column(0)]), call.kind)
    column, digits = call.column(0), call.column(1) if len(call.args) > 1 else None
    places: Any = 0 if digits is None else numpy_of(digits)
    return _rounded(column, places, valid([column] if digits is None else [column, digits]), call.kind)


def _rounded(column: pa.Array, places: Any, known: Numbers | None, kind: pa.DataType) -> Answer:
    if pa.types.is_integer(kind):
        return _round_integers(numpy_of(column), np.asarray(places), known)
    values = numpy_of(column, 0.0)
    with np.errstate(all="ignore"):
        scale = np.power(10.0, np.clip(np.abs(places), 0, 300))
        scaled = np.where(np.greater_equal(places, 0), values * scale, values / scale)
        whole = np.trunc(np.abs(scaled))
        whole = np.copysign(whole + (np.abs(scaled) - whole >= 0.5), scaled)
        found = np.where(np.greater_equal(places, 0), whole / scale, whole * scale)
        found = np.where(np.isfinite(scaled), found, values)
    found = np.where(np.greater(places, 300), values, np.where(np.less(places, -300), 0.0, found))
    return masked(found, known, pa.float64())


def _round_integers(values: Numbers, places: Numbers, known: Numbers | None) -> Answer:
    tens = np.where(places < 0, np.clip(-places, 0, 18), 0)
    unit = np.power(np.int64(10), tens.astype(np.int64))
    least = values == _LEAST
    size = np.abs(np.where(least, values + 1, values))  # off by one, which only the unit 1 could show
    whole, rest = size // unit, size % unit
    whole = whole + (rest >= unit - rest)
    bad = (whole > np.iinfo(np.int64).max // unit) & (unit > 1)
    found = np.where(values < 0, -1, 1) * np.where(bad, 0, whole) * unit
    found = np.where(places >= 0, values, np.where(places < -18, 0, found))
    bad &= (places < 0) & (places >= -18)
    if known is not None:
        bad &= known
    return refused(masked(found, known, pa.int64()), np.broadcast_to(bad, values.shape), _OVERFLOW)


def _sign(call: Call) -> pa.Array:
    column = call.column(0)
    return masked(np.sign(numpy_of(column)).astype(np.int64), valid([column]), pa.int64())


def _great_circle(lat1: Numbers, lon1: Numbers, lat2: Numbers, lon2: Numbers) -> Numbers:
    a, b = np.radians(lat1), np.radians(lat2)
    half = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(np.radians(lon2 - lon1) / 2) ** 2
    found: Numbers = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(1.0, half)))
    return found


def _extreme(pick: Callable[..., pa.Array], test: Callable[[pa.Array, pa.Array], pa.Array]) -> Kernel:
    def kernel(call: Call) -> pa.Array:
        columns = call.columns()
        if not pa.types.is_string(call.kind) and not pa.types.is_boolean(call.kind):
            return pick(*columns, skip_nulls=False)
        best = columns[0]
        for column in columns[1:]:
            best = pc.if_else(test(column, best), column, pc.if_else(column.is_valid(), best, None))
        return best

    return kernel


NUMBER_KERNELS: dict[str, Kernel] = {
    "abs": _abs,
    "sign": _sign,
    "round": _round,
    "floor": _whole(pc.floor),
    "ceil": _whole(pc.ceil),
    "trunc": _whole(pc.trunc),
    "sqrt": _floats(np.sqrt),
    "exp": _floats(np.exp),
    "ln": _floats(np.log),
    "log10": _floats(np.log10),
    "log2": _floats(np.log2),
    "pow": _floats(np.power),
    "sin": _floats(np.sin),
    "cos": _floats(np.cos),
    "tan": _floats(np.tan),
    "asin": _floats(np.arcsin),
    "acos": _floats(np.arccos),
    "atan": _floats(np.arctan),
    "atan2": _floats(np.arctan2),
    "degrees": _floats(np.degrees),
    "radians": _floats(np.radians),
    "pi": lambda call: pa.repeat(pa.scalar(np.pi), call.length),
    "greatest": _extreme(pc.max_element_wise, pc.greater),
    "least": _extreme(pc.min_element_wise, pc.less),
    "geo_distance": _floats(_great_circle),
}
