"""Which indexes the types of a schema ask for."""

from __future__ import annotations

from typing import Literal

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.compiler.types import NUMERIC, PropType
from omnigraph.engine.values.arrow import TableType

IndexKind = Literal["ordered", "fulltext", "vector"]

_ORDERED = NUMERIC | {"Bool", "Date", "DateTime"}


def index_kind(kind: PropType) -> IndexKind | None:
    """The index that a declaration on a property of this type asks for; planning, building and reports all ask here."""
    if kind.dim is not None:
        return "vector"
    if kind.list or kind.scalar == "Blob":
        return None
    if kind.scalar == "String" and kind.enum is None:
        return "fulltext"
    return "ordered" if kind.enum is not None or kind.scalar in _ORDERED else None


def declared_indexes(info: TableType) -> dict[str, IndexKind]:
    """Column → kind of every index that a type asks for.

    Edges are found by their ends through the topology, which large tables keep; small ones are scanned.
    """
    if not isinstance(info, NodeType):
        return {"id": "ordered"}
    found: dict[str, IndexKind] = {"id": "ordered"}
    for columns in info.indices:
        kind = index_kind(info.properties[columns[0]]) if len(columns) == 1 else None
        if kind is not None:
            found[columns[0]] = kind
    return found
