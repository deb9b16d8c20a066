"""Nodes and edges as Spark frames of one variable; those of a union carry their type and a key of their own.

Ids are distinct within a type only. So a variable over several types has two more columns, `@type` and `@key`, and
whatever compares entities compares keys; a variable over one type has its ids for keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.types import PropType, union_members
from omnigraph.engine.read.frames.unions import TYPE, of_member
from omnigraph.engine.values.arrow import TableType, row_schema
from omnigraph.engine.views.view import View
from omnigraph.pipeline.gq import few
from omnigraph.pipeline.gq.frame import Frame, Lowering, Rows, Unread
from omnigraph.pipeline.gq.scan import Among, Scan, kind_of, not_on_spark, scan_frame
from omnigraph.pipeline.gq.values import KEY, ROW, Keys, qualifier

Conditions = tuple[ir.Condition, ...]


class Entities:
    """Makes the frames of one query; `needed` says which columns of each variable something reads.

    The variables in `numbered` have row ids as well.
    """

    def __init__(
        self, low: Lowering, view: View, needed: Mapping[str, frozenset[str]], numbered: Collection[str] = ()
    ) -> None:
        self.low = low
        self.view = view
        self.needed = needed
        self.numbered = numbered

    def nodes(self, type_name: str, var: str, conditions: Conditions, among: Keys | None = None) -> Rows:
        """The nodes of a type, or of a union, as bindings of one variable; with `among` only those of these keys."""
        members = union_members(type_name)
        if not members:
            raise not_on_spark("a variable of an interface that no type implements")
        found = []
        for name in members:
            own = tuple(of_member(each, name) for each in conditions)
            known = None if among is None else Among(("id",), among.of(name))
            found.append(self._of_type(self.view.catalog.nodes[name], var, ("id",), own, known))
        if len(members) == 1:
            return found[0]
        return self.united([self._typed(rows, var, name) for rows, name in zip(found, members, strict=True)])

    def unread(self, type_name: str, var: str) -> Rows:
        """All nodes of one type by their row ids."""
        rows = self._table(self.view.catalog.nodes[type_name], var, [ROW], ())
        return replace(rows, unread={var: Unread(type_name)})

    def read(
        self, rows: Rows, wanted: Iterable[str] | None = None, conditions: Mapping[str, Conditions] | None = None
    ) -> Rows:
        """The rows with what is needed of some unread variables, or of all, where these satisfy their conditions."""
        for var in list(rows.unread if wanted is None else wanted):
            what, own = rows.unread[var], (conditions or {}).get(var, ())
            if what.link is None:
                found = self.nodes(what.type_name, var, own)
            else:
                found = self.edges(what.type_name, what.link, own)
            same = F.col(rows.columns[var, ROW]) == F.col(found.columns[var, ROW])
            columns = {**{key: column for key, column in rows.columns.items() if key != (var, ROW)}, **found.columns}
            rows = replace(
                rows,
                frame=rows.frame.join(found.frame, same).drop(rows.columns[var, ROW]),
                columns=columns,
                kinds={**rows.kinds, **found.kinds},
                unread={name: each for name, each in rows.unread.items() if name != var},
            )
        return rows

    def scanned_edges(self, type_name: str, var: str, conditions: Conditions) -> Rows:
        """The edges of a type, or of a union, as bindings of one variable."""
        members, found = union_members(type_name), []
        for name in members:
            own = tuple(of_member(each, name) for each in conditions)
            rows = self._of_type(self.view.catalog.edges[name], var, ("id",), own)
            found.append(rows if len(members) == 1 else self._typed(rows, var, name))
        return self.united(found)

    def needs_id_only(self, type_name: str, var: str) -> bool:
        """Whether nothing reads more of a variable of one type than its id, which the ends of edges tell."""
        return len(union_members(type_name)) == 1 and self.needed.get(var, frozenset()) <= {"id"}

    def edges(self, edge: str, link: Link, conditions: Conditions, among: Among | None = None) -> Rows:
        """The edges of one type, as bindings of the link's edge variable; without one only their ends are read."""
        info, var = self.view.catalog.edges[edge], link.edge_var
        if var is None:
            return self._table(info, "", ["dst", "src"], (), among)
        own = tuple(of_member(each, edge) for each in conditions)
        found = self._of_type(info, var, ("id", "src", "dst"), own, among)
        return found if link.edge in self.view.catalog.edges else self._typed(found, var, edge)

    def united(self, parts: Sequence[Rows]) -> Rows:
        """Rows of the same variables, one after the other, under the columns of the first."""
        first = parts[0]
        frames = [
            part.frame.select(*(as_(part.columns[key], name) for key, name in first.columns.items())) for part in parts
        ]
        return first.with_frame(reduce(lambda one, other: one.unionByName(other), frames))

    def identity(self, rows: Rows, var: str, link: Link) -> Frame:
        """What a link between unions knows the node of a variable by."""
        if (var, KEY) in rows.columns:
            return F.col(rows.key(var))
        return qualified(link.type_of(var), F.col(rows.id(var)))

    def _of_type(
        self, info: TableType, var: str, always: Iterable[str], conditions: Conditions, among: Among | None = None
    ) -> Rows:
        wanted = sorted({*always, *self.needed.get(var, ())} & set(row_schema(info).names))
        return self._table(info, var, [*wanted, ROW] if var in self.numbered else wanted, conditions, among)

    def _table(
        self, info: TableType, var: str, names: Iterable[str], conditions: Conditions, among: Among | None = None
    ) -> Rows:
        columns = {name: self.low.names.fresh() for name in names}
        early = tuple(condition for condition in conditions if not _ranks(condition))
        scan = Scan(info, var, columns, early, among)
        frame = scan_frame(self.low.spark, self.view, self.low.bindings, scan)
        entry = self.view.find(info)
        many = not conditions and among is None and entry is not None and entry.row_count > few.MOST
        if not many and not any(_is_wide(kind_of(info, name)) for name in columns):
            self.low.few.may_be(frame, partial(scan_frame, self.low.spark, self.view, self.low.bindings, scan))
        rows = Rows(
            frame,
            {(var, name): column for name, column in columns.items()},
            {column: kind_of(info, name) for name, column in columns.items()},
        )
        return self.low.keep(rows, tuple(condition for condition in conditions if _ranks(condition)))

    def _typed(self, rows: Rows, var: str, type_name: str) -> Rows:
        kind, key = self.low.names.fresh(), self.low.names.fresh()
        own = {kind: F.lit(type_name), key: qualified(type_name, F.col(rows.id(var)))}
        return replace(
            rows,
            frame=rows.frame.withColumns(own),
            columns={**rows.columns, (var, TYPE): kind, (var, KEY): key},
            kinds={**rows.kinds, kind: ir.STRING, key: ir.STRING},
        )


def qualified(type_name: str, ids: Frame) -> Frame:
    """The keys of ids of one type; null stays null."""
    return F.concat(F.lit(qualifier(type_name)), ids)


def as_(column: str, name: str) -> Frame:
    """A column under another name."""
    return F.col(column).alias(name)


def _is_wide(kind: PropType) -> bool:
    """Whether few values may be many bytes."""
    return kind.dim is not None or kind.scalar == "Blob"


def _ranks(condition: ir.Condition) -> bool:
    return any(isinstance(part, ir.RankCall) for part in expressions(condition))
