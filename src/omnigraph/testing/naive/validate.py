"""The validator once more, row by row and obvious, for the vectorised one to be compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import re2

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.engine.values.arrow import TableType, table_types

Row: TypeAlias = Mapping[str, Any]
Found: TypeAlias = tuple[str, str, str | None, str]  # code, table key, property, the id it is about


@dataclass(frozen=True, slots=True)
class NaiveChange:
    """The plain form of a TableChange."""

    batches: Sequence[Sequence[Row]] = ()
    deleted: frozenset[str] = frozenset()
    replaced: bool = False
    new: bool = False
    distinct: bool = False

    @property
    def final(self) -> dict[str, Row]:
        """The last row of each id, in the order in which those were written."""
        found: dict[str, Row] = {}
        for row in (row for batch in self.batches for row in batch):
            found.pop(row["id"], None)
            found[row["id"]] = row
        return found

    @property
    def checked(self) -> list[Row]:
        return list(self.batches[0]) if len(self.batches) == 1 else list(self.final.values())


def naive_phases(
    catalog: Catalog, committed: Mapping[str, Sequence[Row]], changes: Mapping[str, NaiveChange]
) -> list[set[Found]]:
    """What each phase finds: values, keys and unique tuples, endpoints, cardinality."""
    return list(map(set, _Naive(catalog, committed, changes).phases()))


class _Naive:
    def __init__(
        self, catalog: Catalog, committed: Mapping[str, Sequence[Row]], changes: Mapping[str, NaiveChange]
    ) -> None:
        self.types = table_types(catalog)
        self.edges = [info for info in self.types.values() if isinstance(info, EdgeType)]
        self.before = {key: {row["id"]: row for row in committed.get(key, ())} for key in self.types}
        self.changes = changes
        self.after = {key: self._image(key) for key in self.types}

    def phases(self) -> Iterator[Iterator[Found]]:
        yield (found for key, change in self.changes.items() for found in self._values(self.types[key], change))
        yield (found for key, change in self.changes.items() for found in self._unique(self.types[key], change))
        yield (found for edge in self.edges for found in self._endpoints(edge))
        yield (found for edge in self.edges for found in self._cardinality(edge))

    def _image(self, key: str) -> dict[str, Row]:
        change = self.changes.get(key)
        if change is None:
            return self.before[key]
        kept = {} if change.replaced else {i: r for i, r in self.before[key].items() if i not in change.deleted}
        return kept | change.final

    def _removed(self, key: str) -> set[str]:
        change = self.changes.get(key, NaiveChange())
        return (set(self.before[key]) if change.replaced else set(change.deleted)) - set(change.final)

    def _values(self, info: TableType, change: NaiveChange) -> Iterator[Found]:
        for row in change.checked:
            for name, kind in info.properties.items():
                value = row.get(name)
                if value is None and not kind.nullable:
                    yield "W001", info.table_key, name, row["id"]
                if value is not None and kind.enum is not None and value not in kind.enum:
                    yield "W006", info.table_key, name, row["id"]
            if isinstance(info, NodeType):
                yield from _node_rules(info, row)

    def _unique(self, info: TableType, change: NaiveChange) -> Iterator[Found]:
        key = info.key if isinstance(info, NodeType) else None
        if change.new:
            yield from (("W015", info.table_key, None, i) for i in change.final if i in self.before[info.table_key])
        if change.distinct and key is None:
            yield from self._repeated(info, change, ("id",))
        for group in [*([key] if key else []), *info.unique]:
            yield from self._repeated(info, change, group)
            if group != key and not change.replaced:
                yield from self._held(info, change, group)

    def _repeated(self, info: TableType, change: NaiveChange, group: Sequence[str]) -> Iterator[Found]:
        images = list(change.batches)
        if len(images) > 1 and tuple(group) != ("id",):
            images.append(list(change.final.values()))
        for batch in images:
            seen: set[tuple[Any, ...]] = set()
            found = []
            for row in batch:
                held = tuple(row.get(name) for name in group)
                if None not in held and held in seen:
                    found.append(("W012", info.table_key, ",".join(group), row["id"]))
                seen.add(held)
            if found:
                yield from found
                return

    def _held(self, info: TableType, change: NaiveChange, group: Sequence[str]) -> Iterator[Found]:
        left = [
            row for i, row in self.before[info.table_key].items() if i not in change.deleted and i not in change.final
        ]
        theirs = {tuple(row.get(name) for name in group) for row in left}
        for i, row in change.final.items():
            held = tuple(row.get(name) for name in group)
            if None not in held and held in theirs:
                yield "W012", info.table_key, ",".join(group), i

    def _endpoints(self, edge: EdgeType) -> Iterator[Found]:
        ends = (("src", edge.from_type), ("dst", edge.to_type))
        change = self.changes.get(edge.table_key)
        touched = change.final if change is not None else {}
        for i, row in self.after[edge.table_key].items():
            for column, node in ends:
                lost = row[column] in self._removed(f"node:{node}")  # an old edge is blamed only for what goes away
                missing = row[column] not in self.after[f"node:{node}"]
                if missing and (i in touched or lost):
                    yield "W013", edge.table_key, column, i

    def _cardinality(self, edge: EdgeType) -> Iterator[Found]:
        change = self.changes.get(edge.table_key)
        if change is None:
            return
        before, after = self.before[edge.table_key], self.after[edge.table_key]
        moved = {i for i in before if i not in after} | set(change.final)
        sources = {row["src"] for row in change.final.values()} | {before[i]["src"] for i in moved if i in before}
        gone = self._removed(f"node:{edge.from_type}")
        counts = Counter(row["src"] for row in after.values())
        for source in sources - gone:
            high = edge.card.max
            if counts[source] < edge.card.min or (high is not None and counts[source] > high):
                yield "W014", edge.table_key, "src", source


def _node_rules(info: NodeType, row: Row) -> Iterator[Found]:
    for rule in info.ranges:
        value = row.get(rule.property)
        low = rule.min is not None and value is not None and value < rule.min
        high = rule.max is not None and value is not None and value > rule.max
        if low or high:
            yield "W010", info.table_key, rule.property, row["id"]
    for check in info.checks:
        value = row.get(check.property)
        if value is not None and re2.search(check.pattern, value) is None:
            yield "W011", info.table_key, check.property, row["id"]
