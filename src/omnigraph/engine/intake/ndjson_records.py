"""Graph records one line at a time: the strict grammar, its order of checks and its words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.expand import PHYSICAL
from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.engine.intake.records import RawRows
from omnigraph.engine.intake.violations import Violation, unknown_field
from omnigraph.engine.values.arrow import TableType

_MEMBERS = {"type": {"type", "data"}, "edge": {"edge", "from", "to", "data"}}


class _Refused(Exception):
    """A line that is not a graph record."""

    def __init__(self, code: str, message: str, *, table_key: str | None = None, name: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.table_key, self.name = code, message, table_key, name


@dataclass(slots=True)
class _Gathered:
    """Records of one type, member by member."""

    info: TableType
    lines: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)


def read_lines(
    lines: Iterable[tuple[int, bytes]], catalog: Catalog, file: str | None
) -> tuple[list[RawRows], list[Violation]]:
    """Parse numbered lines; records come back as raw rows per type, refused lines as violations."""
    gathered: dict[str, _Gathered] = {}
    violations: list[Violation] = []
    for number, text in lines:
        try:
            _gather(_parse(text, number), catalog, number, gathered)
        except _Refused as error:
            message = f"line {number}: {error.message}"
            violations.append(
                Violation(error.code, message, error.table_key, property_name=error.name, line=number, file=file)
            )
    return [_raw(part, file) for part in gathered.values()], violations


def _parse(text: bytes, number: int) -> Any:
    try:
        value = json.loads(text.decode(), object_pairs_hook=_object, parse_constant=_constant)
        if b"\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _invalid(number, "unpaired surrogate escape") from None
    except RecursionError:
        raise _invalid(number, "nested too deeply") from None
    except json.JSONDecodeError as error:
        raise _invalid(number, f"{error.msg} (column {error.colno})") from None
    except ValueError as error:
        raise _invalid(number, str(error)) from None
    return value


def _invalid(number: int, reason: str) -> _Refused:
    return _Refused("W019", f"invalid strict JSON at line {number}: {reason}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for position, name in enumerate(names) if name in names[:position])
        raise ValueError(f"duplicate JSON member '{repeated}'")
    return found


def _constant(text: str) -> NoReturn:
    raise ValueError(f"'{text}' is not a JSON value")


def _gather(record: Any, catalog: Catalog, number: int, gathered: dict[str, _Gathered]) -> None:
    if not isinstance(record, dict):
        raise _Refused("W019", "a record must be one JSON object")
    _check_reserved(record, None)
    kind = _record_kind(record)
    name = _text(record, kind)
    endpoints = (_text(record, "from"), _text(record, "to")) if kind == "edge" else None
    data = record.get("data", {})
    if not isinstance(data, dict):
        raise _Refused("W019", "field 'data' must be an object")
    info = _type(catalog, kind, name)
    _check_data(info, data)
    part = gathered.setdefault(info.table_key, _Gathered(info))
    part.lines.append(number)
    part.data.append(data)
    if endpoints is not None:
        part.sources.append(endpoints[0])
        part.targets.append(endpoints[1])


def _record_kind(record: dict[str, Any]) -> str:
    if ("type" in record) == ("edge" in record):
        raise _Refused("W019", "a record has exactly one of 'type' or 'edge'")
    kind = "type" if "type" in record else "edge"
    for member in record:
        if member not in _MEMBERS[kind]:
            raise _Refused("W019", f"unknown top-level graph batch field '{member}'")
    return kind


def _text(record: dict[str, Any], member: str) -> str:
    if member not in record:
        raise _Refused("W019", f"an edge record requires field '{member}'")
    value = record[member]
    if not isinstance(value, str):
        raise _Refused("W019", f"field '{member}' must be a string")
    return value


def _type(catalog: Catalog, kind: str, name: str) -> TableType:
    info: TableType | None = catalog.nodes.get(name) if kind == "type" else catalog.edge(name)
    if info is None:
        near = did_you_mean(name, catalog.nodes if kind == "type" else catalog.edges)
        found = f"unknown {'node' if kind == 'type' else 'edge'} type '{name}'"
        raise _Refused("W019", f"{found}; {near}" if near else found)
    return info


def _check_reserved(members: dict[str, Any], table_key: str | None) -> None:
    for member in members:
        if member in PHYSICAL:
            message = f"field '{member}' is reserved physical state"
            raise _Refused("W018", message, table_key=table_key, name=member)


def _check_data(info: TableType, data: dict[str, Any]) -> None:
    _check_reserved(data, info.table_key)
    for member in data:
        if member in info.properties or member == "id":
            continue
        if isinstance(info, EdgeType) and member in ("src", "dst"):
            message = f"field '{member}' of edge '{info.name}' is reserved structural state; use 'from' and 'to'"
            raise _Refused("W018", message, table_key=info.table_key, name=member)
        message = unknown_field(info.name, member, info.properties)
        raise _Refused("W017", message, table_key=info.table_key, name=member)
    if "id" in data and not isinstance(data["id"], str):
        raise _Refused("W019", "field 'id' must be a string", table_key=info.table_key, name="id")


def _raw(part: _Gathered, file: str | None) -> RawRows:
    endpoints = None
    if isinstance(part.info, EdgeType):
        endpoints = (pa.array(part.sources, pa.utf8()), pa.array(part.targets, pa.utf8()))
    return RawRows(
        part.info,
        pa.array([data.get("id") for data in part.data], pa.utf8()),
        endpoints,
        {name: [data.get(name) for data in part.data] for name in part.info.properties},
        np.array(part.lines, np.int64),
        file,
        {name: np.array([name in data for data in part.data], bool) for name in part.info.properties},
    )
