"""What preparing a write looks at: the footprint that tells whether a commit in between can have affected it.

Reads of committed rows on behalf of a write are recorded here: by ids where the answer depends on nothing but the rows
of these ids, as a whole table otherwise. What is not said is not protected, so every way to committed rows that the
write path has (`PinnedRows`, `Pending`, matches) takes one of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog, NodeType
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.write_ops import ForEach
from omnigraph.engine.intake.columns.identity import canonical_text
from omnigraph.engine.values.arrow import TableType, arrow_type, table_types
from omnigraph.engine.values.predicate import Bindings, fixed
from omnigraph.storage.intent.writeset import Footprint

# More ids than this are not worth comparing: the table counts as read.
_MOST_IDS = 16_384


@dataclass(slots=True)
class Reads:
    """A footprint in the making."""

    _tables: dict[str, set[str] | None] = field(default_factory=dict)

    def rows(self, table_key: str, ids: pa.Array | Iterable[str]) -> None:
        """Only the rows of these ids, be they there or not, decide what was found."""
        known = self._tables.setdefault(table_key, set())
        if known is None:
            return
        if isinstance(ids, pa.Array | pa.ChunkedArray):
            # So many are seen without making a text of each.
            several = ids.slice(0, 2 * _MOST_IDS).unique()
            ids = several if len(several) > _MOST_IDS else ids
            ids = ids.to_pylist()
        known.update(ids)
        if len(known) > _MOST_IDS:
            self.whole(table_key)

    def whole(self, table_key: str) -> None:
        """Any row of the table may decide what was found."""
        self._tables[table_key] = None

    def condition(self, info: TableType, condition: ir.Condition, bindings: Bindings) -> None:
        """The rows of a table for which a condition is true."""
        ids = named_ids(info, condition, bindings)
        if ids is None:
            self.whole(info.table_key)
        else:
            self.rows(info.table_key, ids)

    def match(self, op: ForEach, catalog: Catalog) -> None:
        """Everything that a match may look at: the tables of all types that it names."""
        for key in matched_tables(op, catalog):
            self.whole(key)

    def footprint(self) -> Footprint:
        """What was read so far."""
        return {key: None if ids is None else frozenset(ids) for key, ids in self._tables.items()}


def matched_tables(operators: object, catalog: Catalog) -> list[str]:
    """The tables of all types that operators name."""
    named = {part for text in _texts(operators) for part in text.split("|")}
    return [key for key, info in table_types(catalog).items() if info.name in named]


def named_ids(info: TableType, condition: ir.Condition, bindings: Bindings) -> list[str] | None:
    """The ids that a condition names by `id` or by a key of one property; None when it can hold for other rows."""
    for part in condition.parts if isinstance(condition, ir.And) else (condition,):
        match part:
            case ir.Compare("=", ir.Property() as column, other) | ir.Compare("=", other, ir.Property() as column):
                known = fixed(other, bindings)
                ids = None if known is None else _ids_of(info, column.name, (known.value,))
            case ir.In(ir.Property() as column, options, False):
                known = fixed(options, bindings)
                ids = (
                    None
                    if known is None or not isinstance(known.value, tuple)
                    else _ids_of(info, column.name, known.value)
                )
            case _:
                ids = None
        if ids is not None:
            return ids
    return None


def _ids_of(info: TableType, column: str, values: tuple[object, ...]) -> list[str] | None:
    if column == "id":
        return [value for value in values if isinstance(value, str)]
    if not (isinstance(info, NodeType) and info.key == (column,)):
        return None
    kind = arrow_type(info.properties[column])
    plain = [value for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
    if len(plain) != len(values) or not (pa.types.is_string(kind) or pa.types.is_integer(kind)):
        return None
    try:
        return list(canonical_text(pa.array(plain, kind)).to_pylist())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None  # no such value can be stored; whether that finds nothing is not decided here


def _texts(node: object) -> Iterator[str]:
    """Every string in a tree of operators: more than type names, but no type name is missing."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, tuple | frozenset | list):
        for item in node:
            yield from _texts(item)
    elif is_dataclass(node) and not isinstance(node, type):
        for each in fields(node):
            yield from _texts(getattr(node, each.name))
