"""Rows of one type out of the rows of a source: columns, ends of several columns, expressions, constants, filters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.compiler.types import PropType
from omnigraph.display import counted
from omnigraph.engine.intake.columns.identity import canonical_text, key_texts
from omnigraph.engine.intake.columns.property_columns import column_from_arrow, column_from_json
from omnigraph.engine.intake.columns.text_cells import from_text, typed_runs
from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.frames import decode_frame, named_type
from omnigraph.engine.intake.records import Decoded, Intake
from omnigraph.engine.intake.row_expressions import RowExpressions, columns_named
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.rowset import one_array
from omnigraph.engine.values.spelling import json_strings
from omnigraph.errors import BadRequest

_ENDS = {"src": "from", "dst": "to", "from": "from", "to": "to"}
# Ids of such keys are not written as cells are: a date is its number of days.
_SPELLED_ANEW = frozenset({"Date", "DateTime", "F32", "F64", "Bool"})
LINE_COLUMN = "@line"  # a column that every source has: the file and the line of a row
# What a refused date or instant is told to be, where no mapping says otherwise.
_ISO = re.compile(r"; (?:write it as YYYY\S+|after the day comes THH:MM:SS, a fraction and a zone)$")
_MADE = "\x00"  # before the names of columns that no file has


@dataclass(frozen=True, slots=True)
class ShapeReader:
    """One type that the rows of a source fill."""

    info: TableType
    shape: FrameShape
    ends: Mapping[str, NodeType]

    @classmethod
    def of(cls, catalog: Catalog, shape: FrameShape) -> ShapeReader:
        """The reader of a shape; the errors of unknown types and ill-fitting keys."""
        info = named_type(catalog, shape.type, shape.edge, shape.mapping)
        ends: dict[str, NodeType] = {}
        if isinstance(info, EdgeType):
            ends = {"from": catalog.nodes[info.from_type], "to": catalog.nodes[info.to_type]}
        reader = cls(info, shape, ends)
        for field, columns in shape.composite.items():
            reader._require_parts(field, columns)
        return reader

    @property
    def sources(self) -> dict[str, str]:
        """The columns that the mapping names, with the field that each fills."""
        return {source: target for target, source in (self.shape.columns or {}).items()}

    def kind_of(self, column: str) -> PropType | None:
        """The property type that a column is read as."""
        return self.info.properties.get(self.sources.get(column, column))

    def needed(self, names: Sequence[str]) -> list[str] | None:
        """With a mapping, the columns it names or that are called like a field; None for all of them."""
        if self.shape.columns is None:
            return None
        fields = {"id", *self.info.properties} | (set(_ENDS) if isinstance(self.info, EdgeType) else set())
        fields |= {*self.shape.columns.values(), *(part for parts in self.shape.composite.values() for part in parts)}
        fields |= columns_named(names, [*self.shape.computed.values(), self.shape.where or ""])
        return [name for name in names if name in fields]

    def named(self) -> dict[str, str]:
        """Every column that the mapping names, with what it names it for."""
        found = dict(self.sources)
        for field, columns in self.shape.composite.items():
            found |= dict.fromkeys(columns, field)
        return found

    def read_loosely(self) -> set[str]:
        """Columns of a JSON file that are not read as their property: cells with rules, and operands of expressions."""
        cells = self.shape.form.cells
        if cells.are_plain and not self.shape.computed and self.shape.where is None:
            return set()
        return {*self.sources, *self.info.properties}

    def decoded(
        self,
        batch: pa.RecordBatch | pa.Table,
        lines: np.ndarray,
        catalog: Catalog,
        *,
        file: str | None,
        intake: Intake,
        text: bool,
    ) -> Iterator[Decoded]:
        """The rows of this type in some rows of the source, whose cells may be `text` that stands for values."""
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        table, lines, violations = self._made(table, lines, file)
        shape = self.shape
        fields = shape.columns
        if shape.composite or shape.computed or shape.constants or self._spelled():
            made = {name[len(_MADE) :]: name for name in table.column_names if name.startswith(_MADE)}
            fields = {**(shape.columns or {}), **made}
        kinds = {name: self.kind_of(name) for name in table.column_names}
        for run in typed_runs(table, kinds, shape.form.cells) if text else [table]:
            decoded = decode_frame(
                run,
                catalog,
                type=shape.type,
                edge=shape.edge,
                columns=fields,
                intake=intake,
                lines=lines[: run.num_rows],
                file=file,
                mapping=shape.mapping,
                optional_ends=shape.optional,
            )
            yield replace(decoded, violations=tuple(map(self._with_its_format, decoded.violations)))
            lines = lines[run.num_rows :]
        if violations:
            yield Decoded({}, tuple(violations))

    def _with_its_format(self, violation: Violation) -> Violation:
        """A refused date with the format that the mapping gives for its column."""
        field = violation.property_name or ""
        form = self.shape.form.cells.dates.get((self.shape.columns or {}).get(field, field))
        if form is None:
            return violation
        return replace(violation, message=_ISO.sub(lambda _: f"; the mapping reads it as {form}", violation.message))

    # --- what is not simply a column -------------------------------------------------------------

    def _made(
        self, table: pa.Table, lines: np.ndarray, file: str | None
    ) -> tuple[pa.Table, np.ndarray, list[Violation]]:
        """The rows that are wanted, with a column for each field that is made of others."""
        shape, violations = self.shape, list[Violation]()
        if LINE_COLUMN in (shape.columns or {}).values() and LINE_COLUMN not in table.column_names:
            place = "row" if file is None else file.rstrip("/").rpartition("/")[2]
            names = pc.binary_join_element_wise(pa.scalar(place), pa.array(lines).cast(pa.utf8()), ":")
            table = table.append_column(LINE_COLUMN, names)
        if shape.where is not None or shape.computed:
            table, lines, violations = self._computed(table, lines, file)
        for field, columns in shape.composite.items():
            table = table.append_column(_MADE + field, self._joined(table, field, columns))
        for field, column in self._spelled().items():
            if column in table.column_names:
                table = table.append_column(_MADE + field, self._spelled_end(table, field, column))
        for field, value in shape.constants.items():
            kind = self.info.properties.get(field, PropType("String"))
            one, offences = column_from_json(field, kind, [value])
            if offences:
                raise BadRequest(f"the constant of '{field}' in the mapping of '{shape.name}': {offences[0].message}")
            table = table.append_column(_MADE + field, one.take(pa.array(np.zeros(table.num_rows, np.int64))))
        return table, lines, violations

    def _computed(
        self, table: pa.Table, lines: np.ndarray, file: str | None
    ) -> tuple[pa.Table, np.ndarray, list[Violation]]:
        shape = self.shape
        texts = {**shape.computed, **({} if shape.where is None else {_MADE: shape.where})}
        found = RowExpressions.of(table.schema, texts, f"the mapping of '{shape.name}'").values(table)
        keep = np.ones(table.num_rows, bool)
        if shape.where is not None:
            keep = pc.fill_null(found.pop(_MADE)[0], False).to_numpy(zero_copy_only=False)
        violations: list[Violation] = []
        for field, (values, failed) in found.items():
            if failed is not None:
                wrong = pc.fill_null(failed.rows, False).to_numpy(zero_copy_only=False) & keep
                told = f"{shape.name}: field '{field}' cannot be computed: {failed.why}"
                violations += [
                    Violation("W019", told, self.info.table_key, field, (), int(lines[row]), file)
                    for row in np.flatnonzero(wrong).tolist()
                ]
                keep = keep & ~wrong
            table = table.append_column(_MADE + field, values)
        if not keep.all():
            table, lines = table.filter(pa.array(keep)), lines[keep]
        return table, lines, violations

    def _spelled(self) -> dict[str, str]:
        """Ends whose column is not written as the ids of its nodes are."""
        found: dict[str, str] = {}
        for field, column in (self.shape.columns or {}).items():
            target = self.ends.get(_ENDS.get(field, ""))
            key = () if target is None or field in self.info.properties else target.key or ()
            if target is not None and len(key) == 1 and target.properties[key[0]].scalar in _SPELLED_ANEW:
                found[field] = column
        return found

    def _spelled_end(self, table: pa.Table, field: str, column: str) -> pa.Array:
        target = self.ends[_ENDS[field]]
        assert target.key is not None
        texts = one_array(table.column(column))
        typed = self._part(target, target.key[0], column, texts)
        return texts if typed is None else canonical_text(typed)

    def _joined(self, table: pa.Table, field: str, columns: tuple[str, ...]) -> pa.Array:
        """The id that a key of several parts has."""
        for column in columns:
            if column not in table.column_names:
                raise BadRequest(
                    f"the source has no column '{column}', which the mapping of '{self.shape.name}' names for '{field}'"
                    f" (it has {', '.join(table.column_names)})"
                )
        values = [one_array(table.column(column)) for column in columns]
        target = self.ends.get(_ENDS.get(field, ""))
        if target is None:
            texts = [json_strings(canonical_text(each)) for each in values]
            return pc.binary_join_element_wise("[", pc.binary_join_element_wise(*texts, ","), "]", "")
        parts: dict[str, pa.Array] = {}
        for name, column, each in zip(target.declared_key, columns, values, strict=True):
            typed = self._part(target, name, column, each)
            parts[name] = pa.nulls(len(each), pa.utf8()) if typed is None else typed
        return key_texts(target, parts)

    def _part(self, target: NodeType, name: str, column: str, values: pa.Array) -> pa.Array | None:
        """One part of a key as its property stores it; null where it is not such a value."""
        kind = target.properties[name]
        typed: pa.Array | None = values
        if pa.types.is_string(values.type):
            typed = from_text(kind, values, self.shape.form.cells, column)
        if typed is None:
            runs = typed_runs(pa.table({column: values}), {column: kind}, self.shape.form.cells)
            found = [column_from_arrow(name, kind, one_array(run.column(0)))[0] for run in runs]
            return pa.concat_arrays(found)
        return column_from_arrow(name, kind, typed)[0]

    def _require_parts(self, field: str, columns: tuple[str, ...]) -> None:
        target = self.ends.get(_ENDS.get(field, ""))
        if target is None:
            return
        key = target.declared_key
        if len(key) != len(columns):
            have = f"has {len(key)}: {', '.join(key)}" if key else "has no key"
            raise BadRequest(
                f"'{field}' of '{self.shape.name}' in the mapping names {counted(len(columns), 'column')}, but the key"
                f" of '{target.name}' {have}"
            )
