"""Data frames into typed rows: Arrow tables, and pandas, Polars or anything else that exports an Arrow stream."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.catalog.expand import PHYSICAL
from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.compiler.types import PropType
from omnigraph.engine.intake.columns.property_columns import column_from_arrow
from omnigraph.engine.intake.columns.views import without_views
from omnigraph.engine.intake.records import (
    PLAIN,
    Decoded,
    Intake,
    RawRows,
    TypeRows,
    concat_rows,
    place_order,
    type_rows,
)
from omnigraph.engine.intake.violations import Violation, unknown_field
from omnigraph.engine.values.arrow import TableType
from omnigraph.errors import BadRequest, ValueViolation

_BATCH_ROWS = 65_536
_TEXT = PropType("String", nullable=True)
# Edge tables call their endpoints src and dst, records call them from and to; a frame may use either.
_ENDPOINTS = {"from": "from", "src": "from", "to": "to", "dst": "to"}
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def decode_frame(
    frame: Any,
    catalog: Catalog,
    *,
    type: str | None = None,
    edge: str | None = None,
    columns: Mapping[str, str] | None = None,
    intake: Intake = PLAIN,
    first_row: int = 1,
    lines: np.ndarray | None = None,
    file: str | None = None,
    mapping: str | None = None,
    optional_ends: bool = False,
) -> Decoded:
    """Rows of one node type or one edge type; `columns` maps property names, `id`, `from` and `to` to frame columns.

    Without a mapping every column must be a field of the type. With one, further columns are used when they are
    called like a field and ignored otherwise. Row numbers stand in for lines; a piece of a larger frame says which
    is its first, or on which ascending `lines` its rows begin, and `file` which file it was read from.
    `mapping` is the file the mapping was read from. With `optional_ends`, a row that lacks one is not an edge.
    """
    info = named_type(catalog, type, edge, mapping)
    table = _selected(arrow_table(frame), info, columns, file=file, described_in=mapping)
    parts: list[TypeRows] = []
    violations: list[Violation] = []
    if lines is None:
        lines = np.arange(first_row, first_row + table.num_rows, dtype=np.int64)
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        rows, found = _decode_batch(info, batch, _Context(lines[: batch.num_rows], file, intake, optional_ends))
        parts.append(rows)
        violations += found
        lines = lines[batch.num_rows :]
    types = {info.table_key: concat_rows(parts)} if parts else {}
    return Decoded(types, tuple(violations))


def arrow_table(frame: Any) -> pa.Table:
    """The frame as an Arrow table; BadRequest when it is nothing of the kind."""
    if isinstance(frame, pa.Table):
        return without_views(frame)
    if isinstance(frame, pa.RecordBatch):
        return without_views(pa.Table.from_batches([frame]))
    if hasattr(frame, "__arrow_c_stream__"):
        return without_views(pa.table(frame))
    name = f"{frame.__class__.__module__}.{frame.__class__.__qualname__}"
    raise BadRequest(f"cannot load an object of type {name}; give an Arrow table, or a pandas or Polars data frame")


def named_type(catalog: Catalog, type_name: str | None, edge: str | None, mapping: str | None = None) -> TableType:
    """The type whose rows a frame holds; `mapping` is the file that names it."""
    if (type_name is None) == (edge is None):
        raise BadRequest("loading a frame needs exactly one of type= (nodes) or edge= (edges)")
    info: TableType | None = catalog.nodes.get(type_name) if type_name is not None else catalog.edge(edge or "")
    if info is None:
        kind, name = ("node", type_name) if type_name is not None else ("edge", edge)
        known = catalog.nodes if type_name is not None else catalog.edges
        place = f" in {mapping}" if mapping is not None else ""
        hint = did_you_mean(name or "", (each.name for each in known.values()))
        message = f"unknown {kind} type '{name}'{place}" + (f"; {hint}" if hint else "")
        raise ValueViolation("W019", message, type_name=name)
    return info


def _selected(
    table: pa.Table,
    info: TableType,
    mapping: Mapping[str, str] | None,
    *,
    file: str | None,
    described_in: str | None,
) -> pa.Table:
    """The columns to use, under their field names."""
    table = _without_index(table, info)
    names = table.column_names
    require_one_of_each(f"'{file}'" if file else "the frame", names)
    chosen: dict[str, str] = {}
    for target, source in (mapping or {}).items():
        if source not in names:
            place = file or "the frame"
            raise missing_column(place, source, target, type_name=info.name, mapping=described_in, names=names)
        chosen[_field(info, target)] = source
    mapped = set(chosen.values())
    for name in names:
        if name in mapped or (mapping is not None and not _is_field(info, name)):
            continue
        if not _is_field(info, name) and name not in PHYSICAL:
            found = unknown_field(info.name, name, info.properties)
            advice = "drop the column, or name those to read in columns={…} or in a mapping, which leaves out the rest"
            raise ValueViolation("W017", f"{found}; {advice}", type_name=info.name, property_name=name)
        chosen.setdefault(_field(info, name), name)
    for end in ("from", "to") if isinstance(info, EdgeType) else ():
        if end not in chosen:
            raise ValueViolation("W019", f"an edge frame requires field '{end}'", type_name=info.name)
    return table.select(list(chosen.values())).rename_columns(list(chosen))


def missing_column(
    file: str, column: str, field: str, *, type_name: str, mapping: str | None, names: Sequence[str]
) -> BadRequest:
    """The error of a column that a mapping names and a file does not have."""
    entry = f"the mapping of '{type_name}'" + (f" in {mapping}" if mapping is not None else "")
    return BadRequest(f"{file} has no column '{column}', which {entry} names for '{field}' (it has {', '.join(names)})")


def require_one_of_each(place: str, names: Sequence[str], needed: Container[str] | None = None) -> None:
    """BadRequest when several columns, or several of those that are needed, have one name."""
    for name, times in Counter(names).items():
        if times > 1 and (needed is None or name in needed):
            at = " and ".join(str(position) for position, each in enumerate(names, 1) if each == name)
            raise BadRequest(
                f"{place} has {times} columns called '{name}' (columns {at}), and nothing says which one is meant:"
                " rename all but one of them"
            )


def require_field(info: TableType, name: str) -> None:
    """W017 or W018 when a name is not a field of a type."""
    _field(info, name)


def _without_index(table: pa.Table, info: TableType) -> pa.Table:
    """The table without the columns that pandas makes of an index that has no name; the type may have such a name."""
    indexes = (table.schema.pandas_metadata or {}).get("index_columns", ())
    found = [name for name in table.column_names if _PANDAS_INDEX.fullmatch(name)]
    return table.drop_columns([name for name in found if name not in info.properties or name in indexes])


def _field(info: TableType, name: str) -> str:
    """The record field a name stands for; W017 or W018 when there is none."""
    if _is_field(info, name):
        return name if name in info.properties else _ENDPOINTS.get(name, name)
    if name in PHYSICAL:
        code, message = "W018", f"field '{name}' is reserved physical state"
    else:
        code, message = "W017", unknown_field(info.name, name, info.properties)
    raise ValueViolation(code, message, type_name=info.name, property_name=name)


def _is_field(info: TableType, name: str) -> bool:
    return name in info.properties or name == "id" or (isinstance(info, EdgeType) and name in _ENDPOINTS)


@dataclass(frozen=True, slots=True)
class _Context:
    """What a batch does not say about itself."""

    lines: np.ndarray
    file: str | None
    intake: Intake
    optional_ends: bool


def _decode_batch(info: TableType, batch: pa.RecordBatch, context: _Context) -> tuple[TypeRows, list[Violation]]:
    checkpoint()
    lines, file = context.lines, context.file
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    violations: list[Violation] = []
    identity = {
        name: columns.pop(name) for name in ("id", "from", "to") if name in columns and name not in info.properties
    }
    keep, refused = np.ones(batch.num_rows, bool), np.zeros(batch.num_rows, bool)
    for name, values in identity.items():
        required = name != "id" and not context.optional_ends
        identity[name], found = _id_texts(info, name, values, lines, required=required)
        if name != "id" and context.optional_ends:
            keep &= values.is_valid().to_numpy(zero_copy_only=False)
        violations += [replace(violation, file=file) for violation in found]
        refused[np.searchsorted(lines, [violation.line for violation in found if violation.line is not None])] = True
    if not keep.all():
        mask = pa.array(keep)
        columns, identity = ({k: v.filter(mask) for k, v in part.items()} for part in (columns, identity))
        lines, refused = lines[keep], refused[keep]
    ids = identity.get("id", pa.nulls(len(lines), pa.utf8()))
    endpoints = (identity["from"], identity["to"]) if isinstance(info, EdgeType) else None
    raw = RawRows(info, ids, endpoints, columns, lines, file, frozenset(np.flatnonzero(refused).tolist()))
    rows, found = type_rows(raw, context.intake)
    violations.sort(key=lambda violation: (violation.line or 0, violation.property_name or ""))
    return rows, sorted([*violations, *found], key=place_order)


def _id_texts(
    info: TableType, name: str, values: pa.Array, lines: np.ndarray, *, required: bool
) -> tuple[pa.Array, list[Violation]]:
    """Ids as text; whole numbers are taken in decimal, which is the id of an integer key."""
    if pa.types.is_integer(values.type):
        values = values.cast(pa.utf8())
    texts, offences = column_from_arrow(name, _TEXT, values)
    wrong = {offence.row: f"field '{name}' must be a string" for offence in offences}
    if required and texts.null_count:
        for row in np.flatnonzero(pc.is_null(texts).to_numpy(zero_copy_only=False)).tolist():
            wrong.setdefault(row, f"an edge record requires field '{name}'")
    return texts, [
        Violation("W019", f"{info.name}: {message}", info.table_key, name, (), int(lines[row]))
        for row, message in sorted(wrong.items())
    ]
