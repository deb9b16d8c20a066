"""One execution of one plan: the pinned tables it may open, the values it was given and what it may spend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir import expr as ir
from omnigraph.engine.predicate import Bindings, Evaluator
from omnigraph.engine.read.adjacency import Mask, Rows
from omnigraph.engine.read.budget import Budget
from omnigraph.engine.read.entities import Entities
from omnigraph.engine.read.frame import Bound, Frame, numpy_of
from omnigraph.engine.read.rowindex import distinct
from omnigraph.storage.snapshot import Snapshot
from omnigraph.storage.tables import TableHandle


class Embedder(Protocol):
    """Turns query text into a vector."""

    @property
    def model(self) -> str:
        """The name of the active model."""

    def embed(self, text: str, dim: int) -> list[float]:
        """The vector of a text, `dim` numbers long."""


class PinnedView(Protocol):
    """What execution needs of a view: its catalog, its snapshot and the tables at the versions it pins."""

    @property
    def catalog(self) -> Catalog: ...

    @property
    def snapshot(self) -> Snapshot: ...

    def table(self, table_key: str) -> TableHandle: ...


@dataclass
class Run:
    """State of one execution; used by one thread."""

    view: PinnedView
    bindings: Bindings
    budget: Budget
    embedder: Embedder | None = None
    traversal: str = "auto"
    _tables: dict[str, Entities] = field(default_factory=dict)

    def entities(self, table_key: str) -> Entities:
        """The table's values as this execution has read them so far."""
        if table_key not in self._tables:
            entry = self.view.snapshot.entry(table_key)
            self._tables[table_key] = Entities(lambda: self.view.table(table_key), entry.row_count)
        return self._tables[table_key]

    @property
    def opened(self) -> dict[str, Entities]:
        """The tables this execution has touched."""
        return dict(self._tables)

    def evaluator(self, frame: Frame, leaf: Callable[[ir.Expr], pa.Array] | None = None) -> Evaluator:
        """Evaluates expressions over the rows of a frame."""
        from omnigraph.engine.read.leaves import frame_leaf

        return Evaluator(leaf or frame_leaf(self, frame), frame.length, self.bindings)

    def matching(self, var: str, table_key: str, rows: Rows, predicates: tuple[ir.Condition, ...]) -> Mask:
        """Which rows satisfy conditions on this one variable; each distinct entity is looked at once."""
        wanted, inverse = distinct(rows)
        frame = Frame(len(wanted), {var: Bound(table_key, wanted)})
        keep = np.ones(len(wanted), np.bool_)
        for predicate in predicates:
            keep &= numpy_of(self.evaluator(frame).keep(predicate))
        return keep[inverse]

    def constant(self, expr: ir.Const | ir.Param) -> ir.ConstValue:
        """The value of a constant or parameter."""
        return expr.value if isinstance(expr, ir.Const) else self.bindings.params.get(expr.name)
