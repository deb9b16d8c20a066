"""A graph as `HeteroData` of PyTorch Geometric: features of nodes, and edges by the places of their ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.errors import BadRequest
from omnigraph.integrations.tables import Queryable, catalog_of, read_type, type_named

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData


@dataclass(frozen=True, slots=True)
class Arrays:
    """What a heterogeneous graph is made of, before it becomes tensors."""

    ids: dict[str, list[str]]  # node type → the id of each row
    features: dict[str, np.ndarray]  # node type → one row of numbers for each node
    edges: dict[tuple[str, str, str], np.ndarray]  # from type, edge type, to type → 2 × edges


def to_hetero_data(
    graph: Queryable, features: Mapping[str, Sequence[str]] | None = None, edges: Iterable[str] | None = None
) -> HeteroData:
    """Node types with `node_id` and, where `features` names properties, `x`; edge types with `edge_index`.

    `features` is as in `{"Airport": ["lat", "lon"]}`; `edges` are the wanted edge types, by default all.
    """
    import torch
    from torch_geometric.data import HeteroData

    arrays, made = read_arrays(graph, features, edges), HeteroData()
    for kind, ids in arrays.ids.items():
        made[kind].node_id, made[kind].num_nodes = ids, len(ids)
    for kind, rows in arrays.features.items():
        made[kind].x = torch.from_numpy(rows)
    for key, ends in arrays.edges.items():
        made[key].edge_index = torch.from_numpy(ends)
    return made


def read_arrays(
    graph: Queryable, features: Mapping[str, Sequence[str]] | None = None, edges: Iterable[str] | None = None
) -> Arrays:
    """The same as arrays of NumPy, for other libraries that learn on graphs."""
    catalog = catalog_of(graph)
    chosen = [catalog.edges[type_named(catalog, name).name] for name in edges or catalog.edges]
    wanted = {type_named(catalog, kind).name: list(names) for kind, names in (features or {}).items()}
    kinds = dict.fromkeys([*(kind for edge in chosen for kind in (edge.from_type, edge.to_type)), *wanted])
    ids: dict[str, list[str]] = {}
    numbers: dict[str, np.ndarray] = {}
    for kind in kinds:
        table = read_type(graph, kind, ["id", *wanted.get(kind, ())])
        ids[kind] = table["id"].to_pylist()
        if kind in wanted:
            numbers[kind] = np.hstack([_numbers(kind, name, table[name]) for name in wanted[kind]])
    places = {kind: {name: place for place, name in enumerate(names)} for kind, names in ids.items()}
    found = {}
    for edge in chosen:
        ends = read_type(graph, edge.name, ["from", "to"])
        start = [places[edge.from_type][name] for name in ends["from"].to_pylist()]
        goal = [places[edge.to_type][name] for name in ends["to"].to_pylist()]
        found[(edge.from_type, edge.name, edge.to_type)] = np.array([start, goal], dtype=np.int64).reshape(2, -1)
    return Arrays(ids, numbers, found)


def _numbers(kind: str, name: str, column: pa.ChunkedArray) -> np.ndarray:
    """A property as columns of numbers: one for a number or a truth value, as many as a vector has; nulls are NaN."""
    held = column.type
    if pa.types.is_fixed_size_list(held):
        rows = [[np.nan] * held.list_size if row is None else row for row in column.to_pylist()]
        return np.array(rows, dtype=np.float32).reshape(-1, held.list_size)
    if not (pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_boolean(held)):
        raise BadRequest(f"{kind}.{name} is not a number, a truth value or a vector; it cannot be a feature")
    return np.array(column.cast(pa.float32()).to_numpy(), dtype=np.float32).reshape(-1, 1)
