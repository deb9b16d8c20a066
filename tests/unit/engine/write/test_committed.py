"""Lookups over pinned tables answer like rows held in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.engine.views.core import Core
from omnigraph.engine.views.lifecycle import create_graph, open_graph
from omnigraph.engine.write import committed
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.testing.graphs.loads import load_lines, ndjson
from omnigraph.testing.naive.memory_rows import MemoryRows

SCHEMA = (
    """
node P { name: String @key  order: I64?  Tag: String?  @unique(order, name) }
""".replace("Tag", "tag")
    + """
node Empty { x: I32? @unique }
edge K: P -> P { n: I32?  @unique(n, dst) }
"""
)
PEOPLE = [{"name": f"p{i}", "order": i % 3 if i % 4 else None, "tag": "it's"} for i in range(12)]
EDGES = [{"id": f"k{i}", "from": f"p{i}", "to": f"p{(i * 5) % 12}", "n": i % 2} for i in range(12)]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Core]:
    path: Path = tmp_path_factory.mktemp("committed") / "g"
    create_graph(path, SCHEMA)
    core = open_graph(path)
    nodes = [{"type": "P", "data": person} for person in PEOPLE]
    edges = [{"edge": "K", "from": e["from"], "to": e["to"], "data": {"id": e["id"], "n": e["n"]}} for e in EDGES]
    load_lines(core, ndjson([*nodes[:6], *edges[:6]][:6]), "append")
    load_lines(core, ndjson([*nodes[6:], *edges]), "append")
    return core


@pytest.fixture(params=["probe", "scan"])
def pinned(request: pytest.FixtureRequest, core: Core, monkeypatch: pytest.MonkeyPatch) -> PinnedRows:
    if request.param == "scan":
        monkeypatch.setattr(committed, "_PROBE_LIMIT", 0)
    return PinnedRows(core.view(None))


@pytest.fixture
def memory(core: Core) -> MemoryRows:
    rows: dict[str, list[dict[str, Any]]] = {
        "node:P": [{"id": person["name"], **person} for person in PEOPLE],
        "edge:K": [{"id": e["id"], "src": e["from"], "dst": e["to"], "n": e["n"]} for e in EDGES],
    }
    return MemoryRows(core.view(None).catalog, rows)


def ordered(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def test_ids_and_presence(pinned: PinnedRows, memory: MemoryRows) -> None:
    asked = pa.array(["p3", "nope", "p11", "it's"])
    assert sorted(pinned.present("node:P", asked).to_pylist()) == ["p11", "p3"]
    assert sorted(pinned.ids("node:P").to_pylist()) == sorted(memory.ids("node:P").to_pylist())
    assert pinned.present("node:P", pa.array([], pa.utf8())).to_pylist() == []


def test_edges_by_each_column(pinned: PinnedRows, memory: MemoryRows) -> None:
    for column, values in (("id", ["k1", "zz"]), ("src", ["p1", "p2"]), ("dst", ["p0", "p5", "p10"])):
        asked = pa.array(values)
        assert ordered(pinned.edges("edge:K", column, asked)) == ordered(memory.edges("edge:K", column, asked))  # type: ignore[arg-type]
    assert ordered(pinned.all_edges("edge:K")) == ordered(memory.all_edges("edge:K"))


@pytest.mark.parametrize(
    ("key", "tuples"),
    [
        ("node:P", pa.table({"order": pa.array([1, 2], pa.int64()), "name": ["p1", "p4"]})),
        ("node:P", pa.table({"order": pa.array([0, 2], pa.int64())})),
        ("node:P", pa.table({"tag": ["it's"]})),
        ("edge:K", pa.table({"n": pa.array([1, 0], pa.int32()), "dst": ["p5", "p10"]})),
        ("node:P", pa.table({"tag": pa.array([], pa.utf8())})),
    ],
)
def test_holders_match_whole_tuples(pinned: PinnedRows, memory: MemoryRows, key: str, tuples: pa.Table) -> None:
    found = pinned.holders(key, tuples)
    assert found.column_names == ["id", *tuples.column_names]
    assert ordered(found) == ordered(memory.holders(key, tuples))


def test_a_table_without_rows_answers_everything_with_nothing(pinned: PinnedRows) -> None:
    assert pinned.ids("node:Empty").to_pylist() == []
    assert pinned.present("node:Empty", pa.array(["a"])).to_pylist() == []
    assert pinned.holders("node:Empty", pa.table({"x": pa.array([1], pa.int32())})).num_rows == 0
