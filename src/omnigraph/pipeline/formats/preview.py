"""A look at what a mapping would load: the first rows of every type, with the values that they would have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.mapping import MappedFile, described
from omnigraph.engine.intake.records import Decoded, TypeRows
from omnigraph.engine.intake.tabular import decode_table_file
from omnigraph.engine.values.json_values import json_rows
from omnigraph.engine.values.result import LoadMode

_LOOKED_AT = 1_000  # rows of an input, of which a condition or a refusal may leave out the first


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a type that one input fills; none when only Spark can read it, or when none would be loaded."""

    type_name: str
    source: str
    rows: tuple[Mapping[str, Any], ...]


def preview(
    mapping: Mapping[str, Any] | str | os.PathLike[str], catalog: Catalog, mode: LoadMode = "append", rows: int = 2
) -> list[Preview]:
    """What each input becomes, as the load itself reads it; rows that are refused by themselves are not among them."""
    lenient = _lenient(catalog, everything=mode == "patch")
    found: list[Preview] = []
    for each in described(mapping).inputs():
        shapes = (each.frame, *each.frame.also)
        if isinstance(each, MappedFile):
            path, table = each.file.path, each.table
            first = decode_table_file(path, lenient, each.frame, file=None, table=table, most=_LOOKED_AT)
            decoded = next(first, Decoded())
            found += [Preview(shape.name, path, _rows(decoded, shape, rows, mode)) for shape in shapes]
        else:
            found += [Preview(shape.name, f"source {each.name}", ()) for shape in shapes]
    return found


def _rows(decoded: Decoded, shape: FrameShape, most: int, mode: LoadMode) -> tuple[Mapping[str, Any], ...]:
    mine = decoded.types.get(f"{'edge' if shape.edge is not None else 'node'}:{shape.name}")
    if mine is None:
        return ()
    table = mine.rows.slice(0, most)
    shown = [name for name in table.column_names if not _says_nothing(mine, name, table[name], mode)]
    key = mine.info.declared_key if isinstance(mine.info, NodeType) else ()
    return tuple(json_rows(table.select([*key, *(name for name in shown if name not in key)])))


def _says_nothing(mine: TypeRows, name: str, values: pa.ChunkedArray, mode: LoadMode) -> bool:
    """Whether a column is not the input's: an id that is made, bytes, a vector to come, or what a patch keeps."""
    info = mine.info
    if name == "id":
        return mine.fresh or (isinstance(info, NodeType) and info.key is not None)
    later = isinstance(info, NodeType) and name in info.embeds
    return name in info.blobs or ((later or mode == "patch") and values.null_count == len(values))


def _lenient(catalog: Catalog, *, everything: bool) -> Catalog:
    """The types with what a load fills by itself left open: vectors of texts, and in a patch all but the key."""
    nodes = {name: _open_node(info, everything=everything) for name, info in catalog.nodes.items()}
    edges = {name: _open_edge(info) for name, info in catalog.edges.items()} if everything else catalog.edges
    return replace(catalog, nodes=nodes, edges=edges)


def _open_node(info: NodeType, *, everything: bool) -> NodeType:
    left_open = set(info.properties) - set(info.key or ()) if everything else set(info.embeds)
    kinds = {name: replace(kind, nullable=kind.nullable or name in left_open) for name, kind in info.properties.items()}
    return replace(info, properties=kinds, defaults={} if everything else info.defaults)


def _open_edge(info: EdgeType) -> EdgeType:
    kinds = {name: replace(kind, nullable=True) for name, kind in info.properties.items()}
    return replace(info, properties=kinds, defaults={})
