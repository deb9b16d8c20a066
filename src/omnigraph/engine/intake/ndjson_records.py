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
    ends: list[list[str | None]] = field(default_factory=list)  # of an edge: from and to
    data: list[dict[str, Any]] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)  # which of them are not records of the type


def read_lines(
    lines: Iterable[tuple[int, bytes]], catalog: Catalog, file: str | None
) -> tuple[list[RawRows], list[Violation]]:
    """Parse numbered lines; records come back as raw rows per type, refused lines as violations."""
    gathered: dict[str, _Gathered] = {}
    violations: list[Violation] = []
    for number, text in lines:
        try:
            told = _gather(_parse(text, number), catalog, number, gathered)
        except _Refused as error:
            told = [error]
        violations += [
            Violation(each.code, f"line {number}: {each.message}", each.table_key, each.name, (), number, file)
            for each in told
        ]
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


def _gather(record: Any, catalog: Catalog, number: int, gathered: dict[str, _Gathered]) -> list[_Refused]:
    """Keep what a record says of its type, and say all that is wrong with it but for its values."""
    if not isinstance(record, dict):
        return [_Refused("W019", "a record must be one JSON object")]
    told = _reserved(record, None)
    if ("type" in record) == ("edge" in record):
        return [*told, _Refused("W019", "a record has exactly one of 'type' or 'edge'")]
    kind = "type" if "type" in record else "edge"
    unknown = [member for member in record if member not in _MEMBERS[kind] and member not in PHYSICAL]
    told += [_Refused("W019", f"unknown top-level graph batch field '{member}'") for member in unknown]
    name, *ends = (_text(record, member, told) for member in ((kind, "from", "to") if kind == "edge" else (kind,)))
    data = record.get("data", {})
    if not isinstance(data, dict):
        told.append(_Refused("W019", "field 'data' must be an object"))
    if name is None or not isinstance(data, dict):
        return told
    info: TableType | None = catalog.nodes.get(name) if kind == "type" else catalog.edge(name)
    if info is None:
        return [*told, _unknown_type(catalog, kind, name)]
    told += _wrong_members(info, data)
    part = gathered.setdefault(info.table_key, _Gathered(info))
    if told:
        part.refused.append(len(part.lines))
    part.lines.append(number)
    part.data.append(data)
    part.ends.append(ends)
    return told


def _text(record: dict[str, Any], member: str, told: list[_Refused]) -> str | None:
    value = record.get(member)
    if isinstance(value, str):
        return value
    wrong = f"field '{member}' must be a string" if member in record else f"an edge record requires field '{member}'"
    told.append(_Refused("W019", wrong))
    return None


def _unknown_type(catalog: Catalog, kind: str, name: str) -> _Refused:
    near = did_you_mean(name, catalog.nodes if kind == "type" else catalog.edges)
    found = f"unknown {'node' if kind == 'type' else 'edge'} type '{name}'"
    return _Refused("W019", f"{found}; {near}" if near else found)


def _reserved(members: dict[str, Any], table_key: str | None) -> list[_Refused]:
    return [
        _Refused("W018", f"field '{member}' is reserved physical state", table_key=table_key, name=member)
        for member in members
        if member in PHYSICAL
    ]


def _wrong_members(info: TableType, data: dict[str, Any]) -> list[_Refused]:
    told = _reserved(data, info.table_key)
    for member in data:
        if member in info.properties or member == "id" or member in PHYSICAL:
            continue
        if isinstance(info, EdgeType) and member in ("src", "dst"):
            message = f"field '{member}' of edge '{info.name}' is reserved structural state; use 'from' and 'to'"
            told.append(_Refused("W018", message, table_key=info.table_key, name=member))
        else:
            message = unknown_field(info.name, member, info.properties)
            told.append(_Refused("W017", message, table_key=info.table_key, name=member))
    if "id" in data and not isinstance(data["id"], str):
        told.append(_Refused("W019", "field 'id' must be a string", table_key=info.table_key, name="id"))
    return told


def _raw(part: _Gathered, file: str | None) -> RawRows:
    endpoints = None
    if isinstance(part.info, EdgeType):
        sources, targets = ([ends[at] for ends in part.ends] for at in (0, 1))
        endpoints = (pa.array(sources, pa.utf8()), pa.array(targets, pa.utf8()))
    ids = [data.get("id") for data in part.data]
    for at in part.refused:
        ids[at] = ids[at] if isinstance(ids[at], str) else None
    return RawRows(
        part.info,
        pa.array(ids, pa.utf8()),
        endpoints,
        {name: [data.get(name) for data in part.data] for name in part.info.properties},
        np.array(part.lines, np.int64),
        file,
        frozenset(part.refused),
        {name: np.array([name in data for data in part.data], bool) for name in part.info.properties},
    )
