"""What a match found for the write it drives: distinct assignments, in the order of their ids, and values over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir.optimize import optimize
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.plan import MutationPlan
from omnigraph.compiler.ir.walk import variables
from omnigraph.compiler.ir.write_ops import ForEach, written_outputs
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.execute import match
from omnigraph.engine.read.frames.budget import Budget, limits_from
from omnigraph.engine.read.frames.frame import START, Frame, first_places
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.expand import traversal_mode
from omnigraph.engine.read.match.leaves import frame_leaf
from omnigraph.engine.read.match.optional import present
from omnigraph.engine.read.plan.estimates import SnapshotEstimates
from omnigraph.engine.read.shape.numbering import number
from omnigraph.engine.read.shape.order import order
from omnigraph.engine.values.arrow import TableType, row_schema
from omnigraph.engine.values.predicate import Bindings, Evaluator
from omnigraph.engine.values.rowset import one_array
from omnigraph.engine.views.view import View
from omnigraph.engine.write.pending import stored_rows
from omnigraph.errors import ValueViolation
from omnigraph.storage.lance.tables import quote

# So many ids fit into one filter without its text becoming the cost.
_IDS_IN_A_FILTER = 1_000


@dataclass(frozen=True, slots=True)
class Matched:
    """The assignments a write is done for; `var` is the entity it updates or deletes, if it does."""

    run: Run
    frame: Frame
    var: str | None

    @property
    def count(self) -> int:
        """How many there are."""
        return self.frame.length

    @property
    def evaluator(self) -> Evaluator:
        """Computes the values of the write."""
        return self.run.evaluator(self.frame)

    @property
    def ids(self) -> pa.Array:
        """The ids of the entities to update or delete."""
        assert self.var is not None
        if not self.count:
            return pa.array([], pa.utf8())
        bound = self.frame.bound[self.var]
        return self.run.columns(bound.table_key).values("id", bound.rows)

    def targets(self) -> Rows:
        """For each different entity the first assignment that has it."""
        assert self.var is not None
        code, count = self.frame.codes((self.var,))
        return np.sort(first_places(code, count if self.count else 0))

    def refuse_ambiguity(self, info: TableType, name: str, values: pa.Array) -> None:
        """An entity that occurs with different values of a property cannot take one of them (W023)."""
        assert self.var is not None
        code, count = self.frame.codes((self.var,))
        given, _ = number(values)
        first = np.zeros(count, np.int64)
        first[code[::-1]] = given[::-1]
        differs = np.flatnonzero(first[code] != given)
        if len(differs):
            entity = self.ids[int(differs[0])].as_py()
            message = f"{info.name} '{entity}': the match gives '{name}' more than one value"
            raise ValueViolation("W023", message, type_name=info.name, property_name=name, entity_id=entity)


def find(view: View, op: ForEach, bindings: Bindings) -> Matched:
    """Run the match on the view; only variables that the write reads tell assignments apart."""
    planned = optimize(MutationPlan((op,)), Context(SnapshotEstimates(view)))
    (op,) = cast("tuple[ForEach, ...]", cast("MutationPlan", planned).ops)
    budget = Budget(limits_from(), memory=view.tables.memory)
    run = Run(view, bindings, budget, frame_leaf, match, traversal=traversal_mode())
    target = frozenset({op.var} if op.var is not None else ())
    read = target.union(*(variables(output) for output in written_outputs(op.write)))
    frame = match(run, START, op.match, read, exists=True).only(read)
    frame = present(frame, (op.var,)) if op.var is not None else frame
    if not read:
        return Matched(run, replace(frame, length=min(frame.length, 1)), None)
    frame = frame.unique() if frame.length else frame
    return Matched(run, frame.take(order(run, frame, (), sorted(read))), op.var)


def whole_rows(view: View, info: TableType, matched: Matched, places: Rows) -> pa.Table:
    """The stored rows of the entities at these places, in that order."""
    assert matched.var is not None
    schema = row_schema(info)
    if not info.blobs:
        # Asked for by row id, which costs the same however many rows the table has.
        wanted = matched.frame.rows(matched.var)[places]
        return view.table(info).take_rows(pa.array(wanted), schema.names).cast(schema)
    ids = matched.ids.take(pa.array(places))
    parts = [schema.empty_table()]
    for begin in range(0, len(ids), _IDS_IN_A_FILTER):
        some = ids.slice(begin, _IDS_IN_A_FILTER).to_pylist()
        parts.append(stored_rows(view, info, schema.names, f"id IN ({', '.join(quote(each) for each in some)})"))
    found = pa.concat_tables(parts)
    return found.take(pc.index_in(ids, value_set=one_array(found["id"])))
