"""One JSON value against one property type: the rules, and the words for breaking them."""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import Any

import numpy as np

from omnigraph.compiler.temporal import BadTemporal, parse_date, parse_datetime
from omnigraph.compiler.types import FLOATING, INTEGER, INTEGER_RANGE, PropType
from omnigraph.engine.values.json_values import BASE64_PREFIX
from omnigraph.errors import BadRequest, ResourceLimitExceeded
from omnigraph.policy.external_blobs import MAX_URI_BYTES, ExternalBlobPolicy, without_credentials

_ARROW_NAMES = {"I32": "Int32", "I64": "Int64", "U32": "UInt32", "U64": "UInt64", "F32": "Float32", "F64": "Float64"}
_TEMPORAL_WIDTH = {"Date": "I32", "DateTime": "I64"}
_FLOAT32_MAX = float(np.finfo(np.float32).max)
# Halfway between the largest float32 and the next power of two: from here on rounding overflows.
_FLOAT32_OVERFLOW = _FLOAT32_MAX + 2.0**103
_SHOWN = 60


class Rejected(Exception):
    """A value that a property does not take; `code` is W002 to W005."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def storage_value(name: str, kind: PropType, value: Any, allowed: ExternalBlobPolicy | None = None) -> Any:
    """The stored form of a JSON value: dates as integers, blobs as cells, floats at their width; null is null."""
    if value is None:
        return None
    if kind.dim is not None:
        return _vector(name, kind, value)
    if kind.list:
        return _items(name, kind, value)
    return _blob(name, kind, value, allowed) if kind.scalar == "Blob" else _scalar(name, kind, value)


def missing_message(name: str, kind: PropType) -> str:
    """What W001 says about a property without a value."""
    what = "vector " if kind.dim is not None else "blob " if kind.scalar == "Blob" else ""
    return f"missing value for non-nullable {what}property '{name}'"


def _scalar(name: str, kind: PropType, value: Any) -> Any:
    scalar = kind.scalar
    if scalar == "String":
        return _string(name, kind, value)
    if scalar in INTEGER:
        return _integer(name, kind, scalar, value)
    if scalar in FLOATING:
        return _float(name, kind, scalar, value)
    if scalar == "Bool" and isinstance(value, bool):
        return value
    if scalar in _TEMPORAL_WIDTH:
        return _temporal(name, kind, value)
    raise _mismatch(name, kind, value)


def _string(name: str, kind: PropType, value: Any) -> str:
    if not isinstance(value, str):
        raise _mismatch(name, kind, value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Rejected("W002", f"strict property '{name}' expects {kind}, got text that is not valid Unicode") from None
    return value


def _integer(name: str, kind: PropType, scalar: str, value: Any) -> int:
    if type(value) is not int:
        raise _mismatch(name, kind, value)
    low, high = INTEGER_RANGE[scalar]
    if not low <= value <= high:
        raise Rejected("W003", f"property '{name}' value {_shown(value)} exceeds {_ARROW_NAMES[scalar]} range")
    return value


def _float(name: str, kind: PropType, scalar: str, value: Any) -> float:
    if type(value) not in (int, float):
        raise _mismatch(name, kind, value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or (scalar == "F32" and abs(number) >= _FLOAT32_OVERFLOW):
        raise Rejected("W004", f"property '{name}' value {_shown(value)} exceeds {_ARROW_NAMES[scalar]} range")
    return float(np.float32(number)) if scalar == "F32" else number


def _temporal(name: str, kind: PropType, value: Any) -> int:
    if isinstance(value, str):
        try:
            return parse_date(value).days if kind.scalar == "Date" else parse_datetime(value).ms
        except BadTemporal as error:
            raise Rejected("W002", f"strict property '{name}' expects {kind}: {error}") from None
    return _integer(name, kind, _TEMPORAL_WIDTH[kind.scalar], value)


def _blob(name: str, kind: PropType, value: Any, allowed: ExternalBlobPolicy | None) -> dict[str, Any]:
    if isinstance(value, bytes):
        return {"data": value}
    if not isinstance(value, str):
        raise _mismatch(name, kind, value)
    if value.startswith(BASE64_PREFIX):
        return {"data": _decoded(name, value)}
    return {"uri": _reference(name, value, allowed)}


def _reference(name: str, value: str, allowed: ExternalBlobPolicy | None) -> str:
    refused = f"property '{name}': external blob URI '{without_credentials(value)[:_SHOWN]}' is not allowed"
    if allowed is None:
        raise Rejected("W002", refused)
    size = len(value.encode(errors="replace"))
    if size > MAX_URI_BYTES:
        raise ResourceLimitExceeded("external Blob URI bytes", limit=MAX_URI_BYTES, actual=size)
    try:
        return allowed.reference(value)
    except BadRequest as error:
        raise Rejected("W002", f"{refused}: {error.message}") from None


def _decoded(name: str, value: str) -> bytes:
    text = value[len(BASE64_PREFIX) :]
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = None
    # Decoders forgive stray bits after the last byte; a value must have exactly one spelling to round-trip.
    if data is None or base64.b64encode(data).decode() != text:
        raise Rejected("W002", f"property '{name}': invalid base64 blob data")
    return data


def _items(name: str, kind: PropType, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _mismatch(name, kind, value)
    item = PropType(kind.scalar)
    found = []
    for position, element in enumerate(value):
        if element is None:
            raise Rejected("W002", f"strict property '{name}' expects {kind}, item {position} is null")
        try:
            found.append(_scalar(name, item, element))
        except Rejected as error:
            message = f"strict property '{name}' expects {kind}, item {position}: {error.message}"
            raise Rejected(error.code, message) from None
    return found


def _vector(name: str, kind: PropType, value: Any) -> list[float]:
    if not isinstance(value, list):
        raise _mismatch(name, kind, value)
    if len(value) != kind.dim:
        raise Rejected("W005", f"strict vector property '{name}' expects {kind.dim} dimensions, got {len(value)}")
    if any(type(element) not in (int, float) for element in value):
        raise Rejected("W005", f"vector property '{name}' elements must be numeric")
    return [_float(name, kind, "F32", element) for element in value]


def _mismatch(name: str, kind: PropType, value: Any) -> Rejected:
    return Rejected("W002", f"strict property '{name}' expects {kind}, got {_kind_of(value)} {_shown(value)}")


def _kind_of(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return type(value).__name__


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
