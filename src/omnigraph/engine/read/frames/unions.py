"""Entities of several tables in one column: a row id carries its type in the high bits.

A variable over one type holds plain row ids; only one over a union holds these. The numbers of the types are the same
everywhere in a query, so two unions compare and join by equality, and a plain row id joins them once its type is added.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import rebuild
from omnigraph.compiler.types import union_members
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.rowindex import ROW_MASK, TYPE_SHIFT
from omnigraph.engine.values.arrow import arrow_type, row_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.compiler.catalog.model import Catalog
    from omnigraph.engine.read.frames.run import Run

TYPE = "@type"
OPTIONAL = "?"
PATH = "path:"
MADE = "row:"
MARKED = "mark:found"  # the row id itself is the answer, 1 for true


class Columns(Protocol):
    """Values by row id: of one table, of a union, or of something that may be null."""

    def values(self, name: str, rows: Rows) -> pa.Array:
        """The value for each row."""

    def load(self, names: Iterable[str], rows: Rows) -> None:
        """Read what is missing, together."""


class Numbering:
    """The numbers of the node types and of the edge types, by name."""

    def __init__(self, catalog: Catalog) -> None:
        self._numbers = {
            **{f"node:{name}": at for at, name in enumerate(sorted(catalog.nodes))},
            **{f"edge:{name}": at for at, name in enumerate(sorted(catalog.edges))},
        }
        self._count = max(len(catalog.nodes), 1)

    @property
    def stride(self) -> int:
        """Every coded node is below this."""
        return self._count << TYPE_SHIFT

    def base(self, table_key: str) -> int:
        """What a row id of this one table becomes greater by."""
        return self._numbers[table_key] << TYPE_SHIFT

    def coded(self, table_key: str, rows: Rows) -> Rows:
        """Row ids of a variable with their types; null stays negative."""
        table_key = table_key.removeprefix(OPTIONAL)
        return rows if is_union(table_key) else np.where(rows < 0, rows, rows + self.base(table_key))

    def decoded(self, table_key: str, codes: Rows) -> Rows:
        """Coded rows, all of which belong to the table or union, as a variable over it holds them."""
        return codes if is_union(table_key) else codes & ROW_MASK

    def belongs(self, table_key: str, codes: Rows) -> Mask:
        """Which coded rows are of the table, or of a member of the union."""
        numbers = np.array([self._numbers[member] for member in members(table_key)], np.int64)
        return np.isin(codes >> TYPE_SHIFT, numbers)

    def split(self, table_key: str, codes: Rows) -> Iterator[tuple[str, Rows, Rows]]:
        """(member table, places of its rows, its plain row ids) for each member that occurs."""
        numbers = codes >> TYPE_SHIFT
        for member in members(table_key):
            places = np.flatnonzero(numbers == self._numbers[member])
            if len(places):
                yield member, places, codes[places] & ROW_MASK


def made_key(var: str) -> str:
    """The key of a variable over rows that the execution makes itself."""
    return f"{MADE}{var}"


def is_union(table_key: str) -> bool:
    """Whether a key (without the mark of optionality) names several tables, or none."""
    return "|" in table_key or table_key.endswith(":")


def members(table_key: str) -> list[str]:
    """The tables of a union; one table is its own."""
    kind, _, name = table_key.removeprefix(OPTIONAL).partition(":")
    return [f"{kind}:{member}" for member in union_members(name)]


def of_member(condition: ir.Condition, name: str) -> ir.Condition:
    """A condition on a variable over a union, for its entities of one type: what that is called is known."""

    def named(node: Any) -> Any:
        if isinstance(node, ir.Property) and node.name == TYPE:
            return ir.Const(name, ir.STRING)
        return rebuild(node, named)

    return cast("ir.Condition", named(condition))


class MarkColumns:
    """The answers of marks, which are their row ids."""

    def values(self, name: str, rows: Rows) -> pa.Array:
        """True for 1."""
        return pa.array(rows == 1)

    def load(self, names: Iterable[str], rows: Rows) -> None:
        """There is nothing to read."""


class UnionColumns:
    """The values that the tables of a union share."""

    def __init__(self, run: Run, table_key: str) -> None:
        self._run = run
        self._key = table_key

    def values(self, name: str, rows: Rows) -> pa.Array:
        """Gathered table by table, then put into the order of the rows."""
        if not len(rows):
            return pa.array([], column_kind(self._run, self._key, name))
        parts, order = [], []
        for member, places, plain in self._run.numbering.split(self._key, rows):
            if name == TYPE:
                parts.append(pa.repeat(pa.scalar(member.partition(":")[2]), len(places)))
            else:
                parts.append(self._run.entities(member).values(name, plain))
            order.append(places)
        place = np.empty(len(rows), np.int64)
        place[np.concatenate(order)] = np.arange(len(rows))
        return pa.concat_arrays(parts).take(pa.array(place))

    def load(self, names: Iterable[str], rows: Rows) -> None:
        """From each table what it holds."""
        wanted = [name for name in names if name != TYPE]
        for member, _, plain in self._run.numbering.split(self._key, rows):
            self._run.entities(member).load(wanted, plain)


class OptionalColumns:
    """Values where a row id may be missing: null there."""

    def __init__(self, run: Run, table_key: str) -> None:
        self._run = run
        self._key = table_key

    @cached_property
    def _present(self) -> Columns:
        return self._run.columns(self._key)

    def values(self, name: str, rows: Rows) -> pa.Array:
        """Null for a negative row."""
        present = rows >= 0
        if present.all():
            return self._present.values(name, rows)
        if not present.any():
            return pa.nulls(len(rows), column_kind(self._run, self._key, name))
        place = np.cumsum(present) - 1
        return self._present.values(name, rows[present]).take(pa.array(place, mask=~present))

    def load(self, names: Iterable[str], rows: Rows) -> None:
        """Only what is there."""
        present = rows[rows >= 0]
        if len(present):
            self._present.load(names, present)


def column_kind(run: Run, table_key: str, name: str) -> pa.DataType:
    """The Arrow type of a column of a variable, without looking at a row."""
    if table_key.startswith(PATH):
        if name == "id":
            return pa.int64()  # its number among the paths between the same ends
        return arrow_type(run.path_kinds[table_key.removeprefix(PATH)][name])
    if table_key.startswith(MADE):
        return run.made_columns(table_key.removeprefix(MADE)).kind(name)
    tables = members(table_key)
    if name in ("id", TYPE) or not tables:
        return pa.utf8()
    info = run.table_type(tables[0])
    return arrow_type(info.properties[name]) if name in info.properties else row_schema(info).field(name).type
