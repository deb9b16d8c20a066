"""The constraints of a schema, checked over whole images in the plainest possible way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType

Row: TypeAlias = dict[str, Any]
Image: TypeAlias = dict[str, dict[str, Row]]  # table key → id → row, values as JSON prints them


def violations(
    catalog: Catalog, before: Image, after: Image, *, touched: Iterable[tuple[str, str]] = ()
) -> frozenset[str]:
    """Codes of the first family of constraints that the change breaks; `touched` rows count even when unchanged."""
    changed = set(touched) | {
        (key, name) for key, rows in after.items() for name, row in rows.items() if before[key].get(name) != row
    }
    families = (
        _value_codes(catalog, after, changed),
        {"W012"} if _repeats_unique(catalog, after, changed) else set(),
        {"W013"} if _dangles(catalog, after) else set(),
        {"W014"} if _breaks_cardinality(catalog, before, after, changed) else set(),
    )
    return frozenset(next((family for family in families if family), ()))


def _value_codes(catalog: Catalog, after: Image, changed: set[tuple[str, str]]) -> set[str]:
    kinds = {kind.table_key: kind for kind in table_types(catalog)}
    return {code for key, name in changed for code in row_codes(kinds[key], after[key][name])}


def row_codes(kind: NodeType | EdgeType, row: Row) -> set[str]:
    """What is wrong with a row by itself."""
    codes: set[str] = set()
    for name, declared in kind.properties.items():
        if row[name] is None and not declared.nullable:
            codes.add("W001")
        if declared.enum is not None and row[name] is not None and row[name] not in declared.enum:
            codes.add("W006")
    return codes | _node_codes(kind, row) if isinstance(kind, NodeType) else codes


def _node_codes(kind: NodeType, row: Row) -> set[str]:
    codes: set[str] = set()
    for limits in kind.ranges:
        value = row[limits.property]
        below = value is not None and limits.min is not None and value < limits.min
        above = value is not None and limits.max is not None and value > limits.max
        if below or above:
            codes.add("W010")
    for check in kind.checks:
        if row[check.property] is not None and not re.search(check.pattern, row[check.property]):
            codes.add("W011")
    return codes


def _repeats_unique(catalog: Catalog, after: Image, changed: set[tuple[str, str]]) -> bool:
    for kind in table_types(catalog):
        for group in kind.unique:
            holders: dict[tuple[Any, ...], set[str]] = {}
            for row in after[kind.table_key].values():
                values = tuple(row[name] for name in group)
                if None not in values:
                    holders.setdefault(values, set()).add(row["id"])
            crowded = [ids for ids in holders.values() if len(ids) > 1]
            if any((kind.table_key, name) in changed for ids in crowded for name in ids):
                return True
    return False


def _dangles(catalog: Catalog, after: Image) -> bool:
    return any(
        row["src"] not in after[f"node:{edge.from_type}"] or row["dst"] not in after[f"node:{edge.to_type}"]
        for edge in catalog.edges.values()
        for row in after[edge.table_key].values()
    )


def _breaks_cardinality(catalog: Catalog, before: Image, after: Image, changed: set[tuple[str, str]]) -> bool:
    for edge in catalog.edges.values():
        old, new = before[edge.table_key], after[edge.table_key]
        affected = {new[name]["src"] for key, name in changed if key == edge.table_key}
        affected |= {row["src"] for name, row in old.items() if name not in new or new[name]["src"] != row["src"]}
        counts = Counter(row["src"] for row in new.values())
        for source in affected & after[f"node:{edge.from_type}"].keys():
            too_many = edge.card.max is not None and counts[source] > edge.card.max
            if too_many or counts[source] < edge.card.min:
                return True
    return False


def table_types(catalog: Catalog) -> Iterator[NodeType | EdgeType]:
    """Every type that has rows."""
    yield from catalog.nodes.values()
    yield from catalog.edges.values()
