"""Binding of parameters: what a caller sent becomes one canonical value per declared parameter."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NoReturn, TypeAlias, TypeVar

from omnigraph.compiler.diagnostics import nearest_name
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.host_values import json_value
from omnigraph.compiler.temporal import BadTemporal, Date, DateTime, parse_date, parse_datetime
from omnigraph.compiler.types import FLOATING, INTEGER, INTEGER_RANGE, PropType
from omnigraph.display import counted
from omnigraph.errors import ParameterError

Scalar: TypeAlias = str | int | float | bool | Date | DateTime
ParamValue: TypeAlias = Scalar | list[Scalar] | None

_Temporal = TypeVar("_Temporal", Date, DateTime)
_DECIMAL = re.compile(r"-?[0-9]+", re.ASCII)


def bind_params(query: ast.Query, given: object) -> dict[str, ParamValue]:
    """Every declared parameter with its value (None for an absent optional one); undeclared keys are ignored."""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise ParameterError("P001", f"parameters must be a JSON object, not {_json_kind(given)}")
    return {param.name: _bind(param, given, query.params) for param in query.params}


def _bind(param: ast.Param, given: Mapping[object, object], declared: Sequence[ast.Param]) -> ParamValue:
    if param.name in given:
        value = given[param.name]
        if value is not None:
            return _convert(param.name, param.type, value)
        if param.type.nullable:
            return None
        raise ParameterError("P002", f"parameter '{param.name}' cannot be null", parameter=param.name)
    if param.default is not None:
        return _default(param, param.default)
    if param.type.nullable:
        return None
    message = f"parameter '{param.name}' ({param.type}) is missing"
    # An undeclared name is ignored, unless it is what the missing one was meant to be.
    spare = [str(name) for name in given.keys() - {each.name for each in declared}]
    if (typed := nearest_name(param.name, spare)) is not None:
        message += f"; '{typed[:64]}' was given"
    raise ParameterError("P006", message, parameter=param.name)


def _default(param: ast.Param, default: ast.Expr) -> ParamValue:
    value = _literal_json(default)
    if value is not None:
        return _convert(param.name, param.type, value)
    if param.type.nullable:
        return None
    raise ParameterError("P002", f"parameter '{param.name}' cannot be null", parameter=param.name)


def _literal_json(expr: ast.Expr) -> object:
    # A default is written as a literal and obeys the rules for what a caller may send; date("…") is its text.
    if isinstance(expr, ast.ListLiteral):
        if isinstance(expr.items, ast.Literals):
            return list(expr.items.values)
        return [_literal_json(item) for item in expr.items]
    assert isinstance(expr, ast.Literal)
    return expr.value


def _convert(name: str, kind: PropType, value: object) -> ParamValue:
    if not isinstance(value, bytes | bytearray) or kind.scalar == "Blob":
        value = json_value(value)
    if kind.is_vector:
        return _vector(name, kind, value)
    convert = _SCALARS[kind.scalar]
    if not kind.list:
        return convert(name, kind, value)
    if not isinstance(value, list | tuple):
        _mismatch(name, kind, value)
    if _is_plain(kind.scalar, value):
        return list(value)
    item = PropType(kind.scalar)
    return [convert(f"{name}[{at}]", item, each) for at, each in enumerate(value)]


def _is_plain(scalar: str, values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether every item is fine as it is, found out about all of them at once."""
    kinds = set(map(type, values))
    if scalar == "String" and kinds == {str}:
        try:
            return "".join(values).encode() is not None
        except UnicodeEncodeError:
            return False
    if scalar in INTEGER and kinds == {int}:
        low, high = INTEGER_RANGE[scalar]
        return bool(low <= min(values) and max(values) <= high)
    return scalar == "F64" and kinds == {float} and all(map(isfinite, values))


def _string(name: str, kind: PropType, value: object) -> str:
    if not isinstance(value, str):
        _mismatch(name, kind, value)
    if kind.enum is not None and value not in kind.enum:
        allowed = ", ".join(kind.enum)
        raise ParameterError("P003", f"parameter '{name}' must be one of {allowed}", parameter=_base(name))
    try:
        value.encode()
    except UnicodeEncodeError:
        message = f"parameter '{name}' holds half of a surrogate pair, which is not text"
        raise ParameterError("P003", message, parameter=_base(name)) from None
    return value


def _bool(name: str, kind: PropType, value: object) -> bool:
    return value if isinstance(value, bool) else _mismatch(name, kind, value)


def _integer(name: str, kind: PropType, value: object) -> int:
    low, high = INTEGER_RANGE[kind.scalar]
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        # Judged by length first: int() of very many digits is slow, and refused by Python.
        value = int(value) if len(value.lstrip("-").lstrip("0")) <= 20 else high + 1
    if not isinstance(value, int) or isinstance(value, bool):
        _mismatch(name, kind, value)
    if not low <= value <= high:
        message = f"parameter '{name}' exceeds {kind.scalar} ({low} to {high})"
        raise ParameterError("P004", message, parameter=_base(name))
    return value


def _float(name: str, kind: PropType, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _mismatch(name, kind, value)
    number = _finite(value, single=kind.scalar == "F32")
    if number is None:
        message = f"parameter '{name}' is not a finite {kind.scalar}"
        raise ParameterError("P004", message, parameter=_base(name))
    return number


def _date(name: str, kind: PropType, value: object) -> Date:
    return _temporal(name, kind, value, parse_date)


def _datetime(name: str, kind: PropType, value: object) -> DateTime:
    return _temporal(name, kind, value, parse_datetime)


def _temporal(name: str, kind: PropType, value: object, parse: Callable[[str], _Temporal]) -> _Temporal:
    if not isinstance(value, str):
        _mismatch(name, kind, value)
    try:
        return parse(value)
    except BadTemporal as bad:
        raise ParameterError("P007", f"parameter '{name}': {bad}", parameter=_base(name)) from None


def _vector(name: str, kind: PropType, value: object) -> list[Scalar]:
    if not isinstance(value, list | tuple):
        raise ParameterError("P005", f"parameter '{name}' must be an array of {kind.dim} numbers", parameter=name)
    if len(value) != kind.dim:
        message = f"parameter '{name}' has {counted(len(value), 'element')}, {kind} needs {kind.dim}"
        raise ParameterError("P005", message, parameter=name)
    if _are_singles(value):
        return list(value)
    vector: list[Scalar] = []
    for at, each in enumerate(value):
        number = None if isinstance(each, bool) or not isinstance(each, int | float) else _finite(each, single=True)
        if number is None:
            raise ParameterError("P005", f"element {at} of parameter '{name}' is not a finite F32", parameter=name)
        vector.append(number)
    return vector


def _are_singles(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether every one of them is a finite number of single precision, found out about all at once."""
    if not {float}.issuperset(map(type, values)):
        return False
    try:
        struct.pack(f"<{len(values)}f", *values)
    except OverflowError:
        return False
    return all(map(isfinite, values))


def _finite(value: int | float, *, single: bool) -> float | None:
    """The number as a double, or None when it is not finite at this width."""
    try:
        number = float(value)
        if single:
            struct.pack("<f", number)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _mismatch(name: str, kind: PropType, value: object) -> NoReturn:
    expected = f"{_EXPECTED.get(kind.scalar, 'a number')} for {kind}"
    if kind.list:
        expected = f"an array for {kind}"
    message = f"parameter '{name}' must be {expected}, not {_json_kind(value)}"
    raise ParameterError("P003", message, parameter=_base(name))


def _json_kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a fractional number"
        case str():
            return "a string"
        case list() | tuple():
            return "an array"
        case Mapping():
            return "an object"
        case _:
            return f"a value of type {type(value).__name__}"


def _base(name: str) -> str:
    return name.partition("[")[0]


_SCALARS: dict[str, Callable[[str, PropType, object], Scalar]] = {
    "String": _string,
    "Blob": _string,
    "Bool": _bool,
    "Date": _date,
    "DateTime": _datetime,
    **dict.fromkeys(INTEGER, _integer),
    **dict.fromkeys(FLOATING, _float),
}
_EXPECTED = {
    "String": "a string",
    "Blob": "a string",
    "Bool": "a boolean",
    "Date": "a string",
    "DateTime": "a string",
    **dict.fromkeys(INTEGER, "an integer or a decimal string"),
}
