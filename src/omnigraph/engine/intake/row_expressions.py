"""Expressions of the query language over the rows of a source: `$row.column` is a cell, by the name of its column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.compiler.catalog.accepted import compile_schema
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Project
from omnigraph.compiler.temporal import DateTime
from omnigraph.compiler.types import PropType
from omnigraph.engine.intake.columns.property_columns import column_from_arrow
from omnigraph.engine.values.arithmetic import Failed
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.predicate import Bindings, Evaluator
from omnigraph.engine.values.rowset import one_array
from omnigraph.errors import BadRequest
from omnigraph.ids import now_micros

_CELL = re.compile(r"\$row\.([A-Za-z_][A-Za-z0-9_]*)")
_PLAIN_NAME = re.compile(r"[a-z_][A-Za-z0-9_]*")


def spoken_names(columns: Sequence[str]) -> dict[str, str]:
    """How expressions call each column: by its name, or in lower case with underscores where that is not a word.

    >>> spoken_names(["age", "Full Name", "2nd"])
    {'age': 'age', 'Full Name': 'full_name', '2nd': '_2nd'}
    """
    found: dict[str, str] = {}
    for column in columns:
        name = column
        if not _PLAIN_NAME.fullmatch(column):
            name = re.sub(r"[^a-z0-9_]+", "_", column.lower()).strip("_") or "value"
            name = f"_{name}" if name[0].isdigit() else name
        # The language keeps these for itself.
        name = f"{name}_" if name in ("id", "src", "dst") else name
        if name not in found.values():
            found[column] = name
    return found


def columns_named(columns: Sequence[str], texts: Iterable[str]) -> set[str]:
    """The columns that some expressions mention."""
    mentioned = {name for text in texts for name in _CELL.findall(text)}
    return {column for column, name in spoken_names(columns).items() if name in mentioned} if mentioned else set()


@dataclass(frozen=True, slots=True)
class RowExpressions:
    """Checked expressions over the columns of one source."""

    outputs: Mapping[str, ir.Expr]
    columns: Mapping[str, tuple[str, PropType]]  # spoken name → column, and what it holds

    @classmethod
    def of(cls, schema: pa.Schema, texts: Mapping[str, str], where: str) -> RowExpressions:
        """Check some expressions; an unknown column or a wrong type is refused with what there is."""
        columns = {
            name: (column, kind)
            for column, name in spoken_names(schema.names).items()
            if (kind := _kind(schema.field(column).type)) is not None
        }
        declared = "\n".join(f"  {name}: {kind}?" for name, (_, kind) in columns.items())
        catalog = compile_schema(f"node Row {{\n{declared}\n}}\n")
        outputs: dict[str, ir.Expr] = {}
        for field, text in texts.items():
            query = f"query q() {{\n  match {{ $row: Row }}\n  return {{ {text} as value }}\n}}"
            try:
                plan = compile_query(query, catalog, mutation=False).plan
            except CompileError as error:
                known = ", ".join(f"$row.{name}" for name in columns)
                raise BadRequest(f"'{text}' in {where}: {error.diagnostic.message} (columns: {known})") from error
            project = next((op for op in getattr(plan, "result", ()) if isinstance(op, Project)), None)
            if project is None:
                raise BadRequest(f"'{text}' in {where} is not a value of one row")
            outputs[field] = project.columns[0].expr
        return cls(outputs, columns)

    def values(self, table: pa.Table) -> dict[str, tuple[pa.Array, Failed | None]]:
        """Each expression for every row, and the rows for which it has no value."""
        stored = {
            name: column_from_arrow(name, kind, one_array(table.column(column)))[0]
            for name, (column, kind) in self.columns.items()
        }
        evaluator = Evaluator.over(pa.table(stored), Bindings({}, DateTime(now_micros() // 1_000)))
        evaluator.length = table.num_rows
        found: dict[str, tuple[pa.Array, Failed | None]] = {}
        for field, expr in self.outputs.items():
            operand, failed = evaluator.attempt(expr)
            kind = arrow_type(expr.type) if isinstance(expr.type, PropType) and expr.type != ir.NULL else pa.utf8()
            found[field] = (evaluator.full(operand, kind), failed)
        return found


def _kind(given: pa.DataType) -> PropType | None:
    """What a column holds, for the checker; None for what no expression takes."""
    if pa.types.is_dictionary(given):
        given = given.value_type
    if pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_null(given):
        return PropType("String")
    if pa.types.is_boolean(given):
        return PropType("Bool")
    if pa.types.is_integer(given):
        return PropType("U64" if pa.types.is_uint64(given) else "I64")
    if pa.types.is_floating(given):
        return PropType("F64")
    if pa.types.is_date32(given):
        return PropType("Date")
    if pa.types.is_timestamp(given) or pa.types.is_date64(given):
        return PropType("DateTime")
    return None
