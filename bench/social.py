"""The social graph that every engine in `bench/queries.py` loads: people who know each other and work somewhere."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

# Data, stores and topologies stay here between runs; remove it to start afresh.
HOME = Path(os.environ.get("OMNIGRAPH_BENCH_HOME", "/tmp/omnigraph-bench"))
SIZE_VARIABLE = "OMNIGRAPH_BENCH_SIZE"
SEEDS = 1_000
_CITIES = 200
_SKEW = 1.6
_MOST_ACTIVE = 400
_FEW_FRIENDS, _MANY_FRIENDS = 5, 50
_WRITTEN_ROWS = 1 << 20  # edges whose keys are made at once


@dataclass(frozen=True, slots=True)
class Size:
    """How large the graph is."""

    name: str
    people: int
    knows: int
    companies: int

    @property
    def home(self) -> Path:
        """Where everything of this size is kept."""
        return HOME / f"{self.name}-{self.people}-{self.knows}-2"  # the last number is that of the data

    @property
    def data(self) -> Path:
        """The graph as Parquet."""
        return self.home / "data"


SIZES = {
    "tiny": Size("tiny", 2_000, 20_000, 50),
    "default": Size("default", 100_000, 1_000_000, 2_000),
    "large": Size("large", 1_000_000, 10_000_000, 20_000),
    "huge": Size("huge", 10_000_000, 100_000_000, 200_000),
}


def chosen_size() -> Size:
    """The size that the command line or the environment asks for."""
    return SIZES[os.environ.get(SIZE_VARIABLE, "default")]


def handle(number: int) -> str:
    """The key of a person."""
    return f"p{number:07d}"


def seeds(size: Size) -> list[str]:
    """Keys of people to start from, the same in every run: neither loners nor celebrities."""
    found: list[str] = json.loads((size.data / "seeds.json").read_text(encoding="utf-8"))
    return found


def write_graph(size: Size) -> Path:
    """The graph as four Parquet files, made once."""
    done = size.data / "done"
    if not done.exists():
        size.data.mkdir(parents=True, exist_ok=True)
        generator = np.random.default_rng(7)
        source, target = _friendships(generator, size)
        for name, table in _smaller_tables(size, generator).items():
            pq.write_table(table, size.data / f"{name}.parquet")
        weight = generator.permutation(size.knows) / size.knows
        _write_knows(size.data / "knows.parquet", source, target, weight)
        (size.data / "seeds.json").write_text(json.dumps(_seeds(size, source)), encoding="utf-8")
        done.touch()
    return size.data


def _seeds(size: Size, sources: npt.NDArray[np.int64]) -> list[str]:
    friends = np.bincount(sources, minlength=size.people)
    usual = np.flatnonzero((friends >= _FEW_FRIENDS) & (friends <= _MANY_FRIENDS))
    return [handle(number) for number in np.random.default_rng(11).permutation(usual)[:SEEDS].tolist()]


def _smaller_tables(size: Size, generator: np.random.Generator) -> dict[str, pa.Table]:
    numbers = np.arange(size.people)
    employer = (size.companies * generator.random(size.people) ** 2).astype(np.int64)
    people = {
        "number": numbers,
        "handle": _keys("p", numbers),
        "name": pc.binary_join_element_wise("Person", pa.array(numbers).cast(pa.utf8()), " "),
        "age": pa.array(generator.integers(16, 90, size.people), pa.int32()),
        "city": pc.binary_join_element_wise(
            "City", pa.array(generator.integers(0, _CITIES, size.people)).cast(pa.utf8()), " "
        ),
    }
    firms = np.arange(size.companies)
    companies = {
        "number": firms,
        "code": _keys("c", firms),
        "name": pc.binary_join_element_wise("Company", _keys("", firms), " "),
    }
    works = {"a": numbers, "b": employer, "from": _keys("p", numbers), "to": _keys("c", employer)}
    return {"people": pa.table(people), "companies": pa.table(companies), "works": pa.table(works)}


def _write_knows(
    path: Path, source: npt.NDArray[np.int64], target: npt.NDArray[np.int64], weight: npt.NDArray[np.float64]
) -> None:
    """Piece by piece: the keys of a hundred million edges take more memory than all numbers of the graph."""
    writer: pq.ParquetWriter | None = None
    for begin in range(0, len(source), _WRITTEN_ROWS):
        a, b, w = (column[begin : begin + _WRITTEN_ROWS] for column in (source, target, weight))
        names = ["a", "b", "from", "to", "since", "weight"]
        table = pa.table([a, b, _keys("p", a), _keys("p", b), a % 30 + 1990, w], names=names)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _friendships(generator: np.random.Generator, size: Size) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Distinct directed pairs; both the number of friends and popularity are skewed, without self-loops."""
    wanted, found = size.knows, np.empty(0, np.int64)
    activity = np.minimum(generator.pareto(_SKEW, size.people) + 0.3, _MOST_ACTIVE)
    edges_of = np.cumsum(activity) / activity.sum()
    popular = generator.permutation(size.people)
    while len(found) < wanted:
        draw = int((wanted - len(found)) * 1.2) + 1_000
        source = _found_at(edges_of, generator.random(draw))
        target = popular[(size.people * generator.random(draw) ** _SKEW).astype(np.int64)]
        pairs = (source * size.people + target)[source != target]
        found = _distinct(np.concatenate([found, pairs]))
    # A table in the order of its sources would flatter engines that scan; rows come in random order.
    found = generator.permutation(found)[:wanted]
    return found // size.people, found % size.people


def _found_at(ordered: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Where each number belongs, by pieces in ascending order: in any other a search misses the cache at each step."""
    found = np.empty(len(wanted), np.int64)
    for begin in range(0, len(wanted), _WRITTEN_ROWS):
        piece = wanted[begin : begin + _WRITTEN_ROWS]
        order = np.argsort(piece)
        found[begin + order] = np.searchsorted(ordered, piece[order])
    return found


def _distinct(pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """In ascending order. `np.unique` hashes whole numbers, which takes minutes and gigabytes for a hundred million."""
    ordered = np.sort(pairs)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]


def _keys(prefix: str, numbers: npt.NDArray[np.int64]) -> pa.Array:
    text = pc.utf8_lpad(pa.array(numbers).cast(pa.utf8()), width=7, padding="0")
    return pc.binary_join_element_wise(prefix, text, "")
