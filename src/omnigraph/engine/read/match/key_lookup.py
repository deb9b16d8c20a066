"""Nodes named by their keys: an equality or a list of keys leads to row ids directly."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import NodeScan
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
    # Null equals nothing; anything but text cannot be an id, and the evaluator says what it is instead.
    present = [value for value in values if value is not None]
    return [str(value) for value in present] if all(isinstance(value, str) for value in present) else None


def _is_id(run: Run, op: NodeScan, column: ir.Property) -> bool:
    """Whether the property is the id of its node: by name, or because a key of one text is the id."""
    if column.name == "id":
        return True
    if op.kind == "edge":
        return False
    info = run.view.catalog.nodes[op.type_name]
    return info.key == (column.name,) and column.type.scalar == "String"
