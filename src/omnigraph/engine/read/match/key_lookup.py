"""Nodes named by their keys: an equality or a list of keys leads to row ids directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import NodeScan
from omnigraph.compiler.types import INTEGER, PropType
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.entities import SMALL_TABLE, Entities
from omnigraph.engine.read.columns.key_index_store import rows_with_ids
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.values.predicate import fixed

# A longer list is a filter like any other.
_MOST_IDS = 8_192


def rows_by_key(run: Run, op: NodeScan, entities: Entities) -> tuple[Rows, tuple[ir.Condition, ...]] | None:
    """The rows that the scan's key predicate names, and the predicates that are left; None without such a predicate."""
    if entities.row_count <= SMALL_TABLE or not entities.as_named:
        return None  # looking at every row is as fast; under another schema the key may have been another one
    for predicate in op.predicates:
        ids = _ids(run, op, predicate)
        if ids is not None and len(ids) <= _MOST_IDS:
            rest = tuple(other for other in op.predicates if other is not predicate)
            return rows_with_ids(entities, ids, keep=run.keep_derived), rest
    return None


def _ids(run: Run, op: NodeScan, predicate: ir.Condition) -> Sequence[str] | None:
    """The ids that a predicate asks for, when it asks for nothing else."""
    match predicate:
        case ir.Compare("=", ir.Property() as column, other) | ir.Compare("=", other, ir.Property() as column):
            pass
        case ir.In(ir.Property() as column, other, negated=False):
            pass
        case _:
            return None
    known = fixed(other, run.bindings)
    if known is None or not _is_id(run, op, column):
        return None
    values = known.value if isinstance(predicate, ir.In) else (known.value,)
    if values is None:
        return ()
    if not isinstance(values, list | tuple):
        return None
    # Null equals nothing; what cannot be an id is left to the evaluator, which says what it is instead.
    present = [value for value in values if value is not None]
    ids = [id_text(column.type, value) for value in present]
    return [each for each in ids if each is not None] if None not in ids else None


def id_text(kind: PropType, value: Any) -> str | None:
    """The id of the node whose key of this type, or whose id, is this value; None where that is not known.

    The id of a key of one text is the text, and that of a key of one integer its digits.
    """
    if kind.scalar in INTEGER:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
    return str(value) if isinstance(value, str) else None


def names_node(info: NodeType, column: ir.Property) -> bool:
    """Whether a property tells the id of its node: it is the id, or the only part of a key of text or integers."""
    if column.name == "id":
        return True
    return info.key == (column.name,) and (column.type.scalar == "String" or column.type.scalar in INTEGER)


def _is_id(run: Run, op: NodeScan, column: ir.Property) -> bool:
    return column.name == "id" if op.kind == "edge" else names_node(run.view.catalog.nodes[op.type_name], column)
