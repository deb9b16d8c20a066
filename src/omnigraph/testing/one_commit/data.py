"""What the proof of one commit loads: files of people and who knows whom, and graphs that hold a tenth of them.

Rows carry a generation, 1 before the load and 2 in it, so that a reader can tell which rows it is looking at.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import omnigraph as og
from omnigraph.engine.values.result import LoadMode

SIZES = "OMNIGRAPH_ONE_COMMIT"
SCHEMA = """
node Person { handle: String @key  name: String  generation: I32 }
edge Knows: Person -> Person { generation: I32 }
"""
MODES: tuple[LoadMode, ...] = ("append", "merge", "overwrite")
_DEFAULT = (20_000, 200_000)
_SHARE = 10
_GROUP_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class State:
    """How many rows a state of the graph has, and how many of them the load has written."""

    nodes: int
    edges: int
    new_nodes: int
    new_edges: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """The rows of the load; a tenth of them is there before."""

    nodes: int
    edges: int

    @classmethod
    def chosen(cls) -> Sizes:
        """From the environment, `nodes,edges`."""
        text = os.environ.get(SIZES)
        return cls(*(int(part) for part in text.split(","))) if text else cls(*_DEFAULT)

    def before(self) -> State:
        """What is there at first."""
        return State(self.nodes // _SHARE, self.edges // _SHARE, 0, 0)

    def after(self, mode: LoadMode) -> State:
        """What must be there once the load is; a merge replaces half of what was there."""
        kept = {"append": 1.0, "merge": 0.5, "overwrite": 0.0}[mode]
        older = self.before()
        nodes, edges = (int(count * kept) for count in (older.nodes, older.edges))
        return State(self.nodes + nodes, self.edges + edges, self.nodes, self.edges)


def write_input(place: Path, sizes: Sizes) -> Path:
    """The files of the load, and the mapping that names them."""
    place.mkdir()
    people, knows = np.arange(sizes.nodes), np.arange(sizes.edges)
    _write(place, _named("p", people), _named("e", knows), generation=2)
    mapping = place / "mapping.json"
    mapping.write_text(json.dumps(_mapping(place)))
    return mapping


def write_base(place: Path, sizes: Sizes, mode: LoadMode) -> None:
    """A graph before the load. In a merge every second row of it gives way, spread over the whole input."""
    files = place.with_name(f"{place.name}-files")
    files.mkdir()
    older = sizes.before()
    _write(files, _older("p", older.nodes, mode), _older("e", older.edges, mode), generation=1)
    with og.init(place, SCHEMA) as graph:
        graph.load(mapping=_mapping(files), runner="inline")


def _older(letter: str, count: int, mode: LoadMode) -> pa.Array:
    own = _named("o", np.arange(count))
    if mode == "append":
        return own
    met = _named(letter, np.arange(count) * _SHARE)
    return pc.if_else(pa.array(np.arange(count) % 2 == 0), met, own)


def _write(place: Path, handles: pa.Array, ids: pa.Array, *, generation: int) -> None:
    generator = np.random.default_rng(generation)
    names = pc.binary_join_element_wise("Person", handles, " ")
    people = pa.table({"handle": handles, "name": names, "generation": _all(generation, len(handles))})
    ends = [handles.take(pa.array(generator.integers(0, len(handles), len(ids)))) for _ in range(2)]
    knows = pa.table({"id": ids, "a": ends[0], "b": ends[1], "generation": _all(generation, len(ids))})
    pq.write_table(people, place / "people.parquet", row_group_size=_GROUP_ROWS)
    pq.write_table(knows, place / "knows.parquet", row_group_size=_GROUP_ROWS)


def _mapping(place: Path) -> dict[str, object]:
    return {
        "sources": {name: {"path": str(place / f"{name}.parquet")} for name in ("people", "knows")},
        "nodes": {"Person": {"from": "people"}},
        "edges": {"Knows": {"from": "knows", "id": "id", "src": "a", "dst": "b"}},
    }


def _named(letter: str, numbers: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(letter, pa.array(numbers).cast(pa.utf8()), "")


def _all(generation: int, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(generation, pa.int32()), count)
