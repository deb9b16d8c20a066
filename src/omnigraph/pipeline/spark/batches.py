"""What a batch of a stream says: whether its columns fit the type, which rows it brings and which it removes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.compiler.types import PropType
from omnigraph.engine.intake.columns.identity import key_texts
from omnigraph.engine.intake.columns.property_columns import column_from_arrow
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.rowset import one_array
from omnigraph.errors import BadRequest
from omnigraph.storage.manifest.note import Epoch

# What streams of changes call their operations: ours, SQL's, and the letters of Debezium.
REMOVING = ("delete", "d")
BRINGING = ("insert", "update", "upsert", "merge", "c", "u", "r", "i")
_ENDS = (("from", "src"), ("to", "dst"))
_MOST_NAMED = 5
_REMOVE = "query remove({}) {{ delete {} where {} }}"


@dataclass(frozen=True, slots=True)
class Fields:
    """Where the fields of a type are in the rows of a stream."""

    info: TableType
    columns: Mapping[str, str] = field(default_factory=dict)

    def column_of(self, name: str, present: Collection[str]) -> str | None:
        """The column of a property, of `id`, `from` or `to`; None where the rows have none."""
        found = self.columns.get(name, name)
        if found not in present and isinstance(self.info, EdgeType):
            found = next((other for end, other in _ENDS if end == name), found)
        return found if found in present else None

    def property_of(self, column: str) -> str | None:
        """The property that a column is, if it is one."""
        named = (name for name in self.info.properties if self.columns.get(name, name) == column)
        return next(named, None)

    def identity(self, present: Collection[str]) -> list[str]:
        """The columns that say which row is meant: the id, else the key of a node or the ends of an edge."""
        own = self.column_of("id", present)
        if own is not None:
            return [own]
        ends = [end for end, _ in _ENDS]
        wanted = ends if isinstance(self.info, EdgeType) else list(_key(self.info))
        found = [self.column_of(name, present) for name in wanted]
        if not found or None in found:
            raise BadRequest(
                f"rows of '{self.info.name}' can only be removed by {' and '.join(wanted) or 'id'},"
                f" and the stream has the columns {', '.join(present)}"
            )
        return [name for name in found if name is not None]

    def require_fit(self, names: Sequence[str], epoch: Epoch, *, used: Collection[str], partial: bool) -> None:
        """Refuse a batch whose columns are not those of the type, with everything that differs.

        `used` are columns with a meaning of their own. Rows that are only partly given need no column of a property.
        """
        wrong = [f"there is no column '{name}' for '{to}'" for to, name in self.columns.items() if name not in names]
        known = {"id", *self.info.properties, *self.columns.values(), *used}
        known |= {each for pair in _ENDS for each in pair} if isinstance(self.info, EdgeType) else set()
        if not self.columns:
            wrong += [f"column '{name}' is not a property" for name in names if name not in known]
        wrong += [f"there is no column '{name}'" for name in used if name not in names]
        if not partial:
            needed = (name for name, kind in self.info.properties.items() if not kind.nullable)
            made = {*self.info.defaults, *(self.info.embeds if isinstance(self.info, NodeType) else ())}
            missing = (name for name in needed if name not in made and name not in self.columns)
            wrong += [f"required property '{name}' has no column" for name in missing if name not in names]
        if wrong:
            raise BadRequest(
                f"batch {epoch.batch} of stream '{epoch.stream}' does not fit '{self.info.name}': {'; '.join(wrong)}."
                " Nothing of it was written: change the schema or the columns of the stream, and start it again"
            )


def _key(info: TableType) -> tuple[str, ...]:
    return (info.key or ()) if isinstance(info, NodeType) else ()


@dataclass(frozen=True, slots=True)
class Operations:
    """What becomes of rows of a batch: the column `op` says which are removed, `order_by` which of an id is the last.

    Where `order_by` is a property, what the graph has counts as well: a row or a removal that is older than the stored
    row of its id comes late, and changes nothing.
    """

    fields: Fields
    op: str | None = None
    order_by: str | None = None

    @property
    def sequence(self) -> str | None:
        """The property that says which of two rows is newer."""
        name = None if self.order_by is None else self.fields.property_of(self.order_by)
        if name is not None and not _has_order(self.fields.info.properties[name]):
            raise BadRequest(f"order_by= names {self.fields.info.name}.{name}, whose values have no order")
        return name

    def used(self) -> tuple[str, ...]:
        """The columns that are not properties."""
        return tuple(name for name in (self.op, self.order_by) if name is not None)

    def parted(self, frame: Any) -> tuple[Any, pa.Table]:
        """The rows to write, without the columns that are not theirs, and the identities of those to remove."""
        from pyspark.sql import functions as f

        identity = self._identity(frame.columns)
        own = self.fields.info.properties.keys() | set(self.fields.columns.values())
        foreign = [name for name in self.used() if name not in own]
        if self.op is None:
            return self._newest(frame, identity).drop(*foreign), pa.table({})
        word = f.lower(f.trim(f.col(self.op).cast("string")))
        self._require_known(frame, self.op, word)
        counting = self._newest(frame, identity)
        told = [self.order_by] if self.order_by is not None and self.sequence is not None else []
        removed = counting.where(word.isin(*REMOVING)).select(*dict.fromkeys([*identity, *told])).distinct().toArrow()
        brought = counting.where(~word.isin(*REMOVING))
        if self.order_by is None and removed.num_rows:
            self._require_apart(brought, removed, identity)
        return brought.drop(*foreign), removed

    def removals(self, removed: pa.Table) -> list[tuple[str, dict[str, Any]]]:
        """One deletion for each identity, of what is not newer: a mutation with its parameters."""
        named, name = self._deletions(removed), self.sequence
        if name is None or self.order_by is None:
            return [(_REMOVE.format(*each), given) for *each, given in named]
        kind = self.fields.info.properties[name]
        values, wrong = column_from_arrow(name, kind, one_array(removed[self.order_by]))
        if wrong:
            raise BadRequest(f"a row to remove has no place in the order: {wrong[0].message}")
        found: list[tuple[str, dict[str, Any]]] = []
        for (params, type_name, where, given), last in zip(named, values.to_pylist(), strict=True):
            if last is None:
                found.append((_REMOVE.format(params, type_name, f"{where} and {name} is null"), given))
                continue
            where = f"{where} and ({name} is null or {name} <= $last)"
            found.append((_REMOVE.format(f"{params}, $last: {kind.scalar}", type_name, where), {**given, "last": last}))
        return found

    def _deletions(self, removed: pa.Table) -> list[tuple[str, str, str, dict[str, Any]]]:
        """The parameters, the type, the condition and the values that name each of the rows to remove."""
        fields, info, names = self.fields, self.fields.info, removed.column_names
        if fields.column_of("id", names) is None and isinstance(info, EdgeType):
            ends = (one_array(removed[name]).cast(pa.utf8()).to_pylist() for name in fields.identity(names))
            pairs = zip(*ends, strict=True)
            return [("$a: String, $b: String", info.name, "from = $a and to = $b", {"a": a, "b": b}) for a, b in pairs]
        return [("$id: String", info.name, "id = $id", {"id": each}) for each in _ids(fields, removed).to_pylist()]

    def _identity(self, present: Sequence[str]) -> list[str]:
        """The columns that say which row is meant; without removals the ends of an edge do not: many may have them."""
        if self.op is None and isinstance(self.fields.info, EdgeType) and self.fields.column_of("id", present) is None:
            raise BadRequest(f"order_by= orders edges by their id, and the stream has the columns {', '.join(present)}")
        return self.fields.identity(present)

    def _require_known(self, frame: Any, op: str, word: Any) -> None:
        from pyspark.sql import functions as f

        strange = frame.where(word.isNull() | ~word.isin(*REMOVING, *BRINGING)).select(f.col(op).cast("string"))
        found = sorted({str(row[0]) for row in strange.distinct().limit(_MOST_NAMED).collect()})
        if found:
            raise BadRequest(
                f"column '{op}' says {', '.join(map(repr, found))}; it may say {', '.join(BRINGING)} (write the"
                f" row) or {', '.join(REMOVING)} (remove it)"
            )

    def _newest(self, frame: Any, identity: Sequence[str]) -> Any:
        """The last row of each id, where the stream says which one that is."""
        if self.order_by is None:
            return frame
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        window = Window.partitionBy(*identity).orderBy(f.col(self.order_by).desc())
        place = "__omnigraph_place"
        return frame.withColumn(place, f.row_number().over(window)).where(f"{place} = 1").drop(place)

    def _require_apart(self, brought: Any, removed: pa.Table, identity: Sequence[str]) -> None:
        both = brought.join(brought.sparkSession.createDataFrame(removed), list(identity), "left_semi")
        found = both.select(*identity).limit(1).collect()
        if found:
            raise BadRequest(
                f"a batch writes and removes {tuple(found[0])}: also pass order_by=, the column that says the order"
            )


def _has_order(kind: PropType) -> bool:
    return kind.is_plain_scalar and kind.scalar != "Bool"


def _ids(fields: Fields, removed: pa.Table) -> pa.Array:
    own = fields.column_of("id", removed.column_names)
    if own is not None:
        return one_array(removed[own]).cast(pa.utf8())
    info = fields.info
    assert isinstance(info, NodeType)
    found = {}
    for name in _key(info):
        column = fields.column_of(name, removed.column_names)
        assert column is not None
        found[name], wrong = column_from_arrow(name, info.properties[name], one_array(removed[column]))
        if wrong:
            raise BadRequest(f"a row to remove cannot be found: {wrong[0].message}")
    return key_texts(info, found)
