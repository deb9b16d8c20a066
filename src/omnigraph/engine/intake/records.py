"""Decoded input on its way into tables: raw columns of one type in, typed rows and violations out.

Nothing here touches storage: bytes or Arrow come in, Arrow and data about what was wrong go out, so the same
functions run in this process and inside Spark executors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.engine.intake.columns.identity import assign_ids, key_texts
from omnigraph.engine.intake.columns.json_value import missing_message
from omnigraph.engine.intake.columns.property_columns import Offence, column_from_arrow, column_from_json
from omnigraph.engine.intake.value_checks import value_findings
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.arrow import TableType, property_names, row_schema
from omnigraph.policy.external_blobs import ExternalBlobPolicy

LINE = "line"
FILE = "file"
_OF_RECORDS = frozenset({"W017", "W018", "W019"})
_OF_RULES = frozenset({"W006", "W010", "W011"})
# Says of up to so many rows that all have the same file: made for each piece of ten million rows, it took 40 MB.
_SAME = pa.array(np.zeros(1 << 20, np.int32))

# Given a node type and its typed columns, computes the ones that are absent (embeddings); runs before W001 is checked.
Fill: TypeAlias = Callable[[NodeType, dict[str, pa.Array]], dict[str, pa.Array]]
# Given a type and ids, the committed rows that have one of them, in the row schema.
Existing: TypeAlias = Callable[[TableType, pa.Array], pa.Table]


@dataclass(frozen=True, slots=True)
class Intake:
    """What an operation does for its values, and lets in: absent ones are filled; a Blob may refer to what is allowed.

    Without `external` no reference comes in. `existing` finds rows that are in the graph, by id: what a row leaves out
    is then taken from the row of the same id.
    """

    fill: Fill | None = None
    external: ExternalBlobPolicy | None = None
    existing: Existing | None = None


PLAIN = Intake()


@dataclass(frozen=True, slots=True)
class RawRows:
    """Undecided values of one type: ids as given (null when absent), endpoints, columns by property.

    A column is an Arrow array, or a sequence of decoded JSON values; a property without one is absent in every row.
    `lines` are physical line numbers, or row numbers of a frame.
    """

    info: TableType
    ids: pa.Array
    endpoints: tuple[pa.Array, pa.Array] | None
    columns: Mapping[str, pa.Array | Sequence[Any]]
    lines: np.ndarray
    file: str | None = None
    # Rows that are refused for something else than their values, which are looked at nevertheless.
    refused: frozenset[int] = frozenset()
    # Which rows say something about a property, null included; without it, all rows about each property with a column.
    given: Mapping[str, np.ndarray] | None = None

    def says(self, name: str) -> np.ndarray:
        """Which rows say something about a property."""
        if self.given is not None:
            return self.given[name]
        return np.full(len(self.lines), name in self.columns)


@dataclass(frozen=True, slots=True)
class TypeRows:
    """Typed rows of one type in the row schema, and where each came from (columns `line` and `file`).

    `fresh` says that every id was generated while decoding, so none of them can be held by another row.
    """

    info: TableType
    rows: pa.Table
    places: pa.Table
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Decoded:
    """Everything one input holds: rows by table key (good rows only) and what was wrong, in line order.

    `lines` is how many lines a text had, blank ones included.
    """

    types: Mapping[str, TypeRows] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()
    lines: int = 0


def type_rows(raw: RawRows, intake: Intake = PLAIN) -> tuple[TypeRows, list[Violation]]:
    """Convert, complete and identify the rows of one type; a row with any violation is left out."""
    columns, offences = _typed_columns(raw, intake.external)
    if intake.existing is not None:
        columns = _with_existing(raw, columns, intake.existing)
    columns = {name: _completed(raw.info, name, column) for name, column in columns.items()}
    if intake.fill is not None and isinstance(raw.info, NodeType):
        columns = intake.fill(raw.info, columns)
    missing = _missing(raw.info, columns, offences)
    offences += missing if intake.existing is None else [_new_row(raw, *each) for each in missing]
    ids, mismatches = assign_ids(raw.info, raw.ids, columns)
    offences += [(None, offence) for offence in mismatches]
    rows = _table(raw, ids, columns)
    if not offences and not raw.refused:
        return rows, []
    found = [_violation(raw, name, offence, ids) for name, offence in offences]
    dropped = {*raw.refused, *(offence.row for _, offence in offences)}
    found += _further(raw, rows.rows, sorted(dropped), ids)
    return _without(rows, dropped), sorted(found, key=place_order)


def merge_decoded(parts: Sequence[Decoded]) -> Decoded:
    """Several inputs as one, in the order given."""
    grouped: dict[str, list[TypeRows]] = {}
    for part in parts:
        for key, rows in part.types.items():
            grouped.setdefault(key, []).append(rows)
    types = {key: concat_rows(grouped[key]) for key in sorted(grouped)}
    violations = tuple(violation for part in parts for violation in part.violations)
    return Decoded(types, violations, sum(part.lines for part in parts))


def concat_rows(parts: Sequence[TypeRows]) -> TypeRows:
    """Rows of one type, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    rows = pa.concat_tables([part.rows for part in parts])
    places = pa.concat_tables([part.places for part in parts])
    return TypeRows(parts[0].info, rows, places, fresh=all(part.fresh for part in parts))


def in_line_order(rows: TypeRows) -> TypeRows:
    """The same rows by ascending line."""
    lines = rows.places[LINE].to_numpy()
    if len(lines) < 2 or (np.diff(lines) >= 0).all():
        return rows
    order = pa.array(np.argsort(lines, kind="stable"))
    return TypeRows(rows.info, rows.rows.take(order), rows.places.take(order), rows.fresh)


def place_order(violation: Violation) -> tuple[int, int, str]:
    """Sort key: where in the input, then what the record is, as it was found, then values and rules by property."""
    rank = 0 if violation.code in _OF_RECORDS else 2 if violation.code in _OF_RULES else 1
    return (violation.line or 0, rank, (violation.property_name or "") if rank else "")


Named: TypeAlias = tuple[str | None, Offence]


def _typed_columns(raw: RawRows, allowed: ExternalBlobPolicy | None) -> tuple[dict[str, pa.Array], list[Named]]:
    columns: dict[str, pa.Array] = {}
    offences: list[Named] = []
    for name in property_names(raw.info):
        kind = raw.info.properties[name]
        values = raw.columns.get(name)
        if values is None:
            values = pa.nulls(len(raw.lines))
        convert = column_from_arrow if isinstance(values, pa.Array) else column_from_json
        column, found = convert(name, kind, values, allowed)
        columns[name] = column
        offences += [(name, offence) for offence in found]
    return columns, offences


def _with_existing(raw: RawRows, columns: dict[str, pa.Array], existing: Existing) -> dict[str, pa.Array]:
    """The columns with values of committed rows where a row says nothing.

    A vector is made anew when a row says something about the text that it stands for.
    """
    info = raw.info
    ids = key_texts(info, columns) if isinstance(info, NodeType) and info.key is not None else raw.ids
    found = existing(info, pc.unique(ids).drop_null())
    if not found.num_rows:
        return columns
    places = pc.index_in(ids, value_set=found["id"].combine_chunks())
    known = places.is_valid().to_numpy(zero_copy_only=False)
    at = pc.fill_null(places, 0).to_numpy(zero_copy_only=False)
    sources = {name: embed.source for name, embed in info.embeds.items()} if isinstance(info, NodeType) else {}
    completed = dict(columns)
    for name, column in columns.items():
        silent = known & ~raw.says(name)
        if name in sources:
            silent &= ~raw.says(sources[name])
        if silent.any():
            pool = pa.concat_arrays([column, found[name].combine_chunks().cast(column.type)])
            completed[name] = pool.take(pa.array(np.where(silent, len(column) + at, np.arange(len(column)))))
    return completed


def _completed(info: TableType, name: str, column: pa.Array) -> pa.Array:
    """The column with its declared default in place of what is absent."""
    if not column.null_count or name not in info.defaults:
        return column
    return pc.fill_null(column, default_scalar(info, name))


def default_scalar(info: TableType, name: str) -> pa.Scalar:
    """The declared default of a property as a stored value."""
    return column_from_json(name, info.properties[name], [info.defaults[name]])[0][0]


def _missing(info: TableType, columns: Mapping[str, pa.Array], known: list[Named]) -> list[Named]:
    found: list[Named] = []
    for name, kind in info.properties.items():
        if kind.nullable or not columns[name].null_count:
            continue
        explained = {offence.row for named, offence in known if named == name}
        rows = np.flatnonzero(columns[name].is_null().to_numpy(zero_copy_only=False)).tolist()
        message = missing_message(name, kind)
        found += [(name, Offence(row, "W001", message)) for row in rows if row not in explained]
    return found


def _new_row(raw: RawRows, name: str | None, offence: Offence) -> Named:
    """The offence of a row of a patch, which may leave out what the graph has, but only of rows that it has."""
    if name is None or raw.says(name)[offence.row]:
        return name, offence
    return name, replace(offence, message=f"{offence.message}; a row that is not in the graph yet has to be complete")


def _table(raw: RawRows, ids: pa.Array, columns: Mapping[str, pa.Array]) -> TypeRows:
    schema = row_schema(raw.info)
    structural = [ids, *(raw.endpoints or ())]
    arrays = structural + [columns[name] for name in property_names(raw.info)]
    # Nulls in required columns belong to rows that are about to be left out, so the schema is applied without a check.
    rows = pa.Table.from_arrays(arrays, schema=schema)
    places = pa.table({LINE: pa.array(raw.lines, pa.int64()), FILE: _repeated(raw.file, len(raw.lines))})
    keyed = isinstance(raw.info, NodeType) and raw.info.key is not None
    return TypeRows(raw.info, rows, places, fresh=not keyed and raw.ids.null_count == len(raw.ids))


def _repeated(file: str | None, count: int) -> pa.Array:
    names = pa.array([file], pa.utf8())
    codes = _SAME.slice(0, count) if count <= len(_SAME) else pa.array(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(codes, names)


def _without(rows: TypeRows, dropped: set[int]) -> TypeRows:
    keep = np.ones(rows.rows.num_rows, bool)
    keep[list(dropped)] = False
    mask = pa.array(keep)
    return TypeRows(rows.info, rows.rows.filter(mask), rows.places.filter(mask), rows.fresh)


def _further(raw: RawRows, rows: pa.Table, dropped: list[int], ids: pa.Array) -> list[Violation]:
    """What else is wrong with rows that are left out: rules that their values break, as far as they are values."""
    found: list[Violation] = []
    mine = rows.take(pa.array(dropped))
    for finding in value_findings(raw.info, mine):
        for at in finding.rows.tolist() if finding.code in _OF_RULES else ():
            place = _violation(raw, finding.property_name, Offence(dropped[at], finding.code, ""), ids)
            found.append(replace(place, message=finding.text(mine, at)))
    return found


def _violation(raw: RawRows, name: str | None, offence: Offence, ids: pa.Array) -> Violation:
    known = raw.ids[offence.row].as_py() or (ids[offence.row].as_py() if isinstance(raw.info, NodeType) else None)
    subject = f"{raw.info.name} '{known}'" if known is not None else raw.info.name
    return Violation(
        offence.code,
        f"{subject}: {offence.message}",
        table_key=raw.info.table_key,
        property_name=name,
        ids=(known,) if known is not None else (),
        line=int(raw.lines[offence.row]),
        file=raw.file,
    )


def required_endpoints(info: TableType, sources: pa.Array, targets: pa.Array) -> tuple[pa.Array, pa.Array] | None:
    """The endpoint columns an edge type needs, or None for a node type."""
    if not isinstance(info, EdgeType):
        return None
    return pc.cast(sources, pa.utf8()), pc.cast(targets, pa.utf8())
