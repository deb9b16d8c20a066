"""What a batch of a stream says: whether its columns fit the type, which rows it brings and which it removes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.model import EdgeType, NodeType
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
    """The column `op` says what becomes of a row; of several rows of one id that with the largest `order_by` counts."""

    fields: Fields
    op: str
    order_by: str | None = None

    def used(self) -> tuple[str, ...]:
        """The columns that are not properties."""
        return (self.op,) if self.order_by is None else (self.op, self.order_by)

    def parted(self, frame: Any) -> tuple[Any, pa.Table]:
        """The rows to write, without the columns that are not theirs, and the identities of those to remove."""
        from pyspark.sql import functions as f

        identity = self.fields.identity(frame.columns)
        word = f.lower(f.trim(f.col(self.op).cast("string")))
        self._require_known(frame, word)
        counting = self._newest(frame, identity)
        removed = counting.where(word.isin(*REMOVING)).select(*identity).distinct().toArrow()
        brought = counting.where(~word.isin(*REMOVING))
        if self.order_by is None and removed.num_rows:
            self._require_apart(brought, removed, identity)
        own = self.fields.info.properties.keys() | set(self.fields.columns.values())
        return brought.drop(*(name for name in self.used() if name not in own)), removed

    def _require_known(self, frame: Any, word: Any) -> None:
        from pyspark.sql import functions as f

        strange = frame.where(word.isNull() | ~word.isin(*REMOVING, *BRINGING)).select(f.col(self.op).cast("string"))
        found = sorted({str(row[0]) for row in strange.distinct().limit(_MOST_NAMED).collect()})
        if found:
            raise BadRequest(
                f"column '{self.op}' says {', '.join(map(repr, found))}; it may say {', '.join(BRINGING)} (write the"
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


def removals(fields: Fields, removed: pa.Table) -> list[tuple[str, dict[str, str]]]:
    """One deletion for each identity: a mutation with its parameters."""
    names, info = removed.column_names, fields.info
    if fields.column_of("id", names) is None and isinstance(info, EdgeType):
        text = f"query remove($a: String, $b: String) {{ delete {info.name} where from = $a and to = $b }}"
        ends = zip(*(one_array(removed[name]).cast(pa.utf8()).to_pylist() for name in names), strict=True)
        return [(text, {"a": a, "b": b}) for a, b in ends]
    text = f"query remove($id: String) {{ delete {info.name} where id = $id }}"
    return [(text, {"id": each}) for each in _ids(fields, removed).to_pylist()]


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
