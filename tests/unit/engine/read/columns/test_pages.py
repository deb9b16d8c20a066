"""Values that come from pages of data files are those of the version that is read, whatever happened to its rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.read.columns import entities as entities_module
from omnigraph.engine.read.columns import pages as pages_module
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.pages import PAGES, PagedTable
from omnigraph.engine.read.execute import match
from omnigraph.engine.read.frames.budget import Budget
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.leaves import frame_leaf
from omnigraph.engine.values.predicate import Bindings
from omnigraph.engine.views.view import View
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.rows import row_places as places_module
from omnigraph.storage.lance.rows.column_file import ColumnFile
from omnigraph.storage.lance.rows.row_id_sequence import Scattered
from omnigraph.storage.lance.rows.row_places import RowPlaces

SCHEMA = """
node Node {
  k: String @key  n: I64  small: I32?  text: String?  day: Date?  at: DateTime?  yes: Bool?  real: F64?
  tags: [String]?  place: Vector(3)?
}
"""
ROWS = 60


@pytest.fixture(autouse=True)
def tiny_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every table counts as large, is kept in pages at once, and has many of them.
    monkeypatch.setattr(entities_module, "SMALL_TABLE", 0)
    monkeypatch.setattr(entities_module, "_SCAN_RATIO", 0)
    monkeypatch.setattr(entities_module, "_ASKED_AGAIN", 1)
    monkeypatch.setattr(pages_module, "_MOST_ROWS", 8)
    monkeypatch.setattr(pages_module, "_FEWEST_ROWS", 1)


def rows(numbers: range | list[int], mark: str = "t") -> pa.Table:
    some = [None if number % 5 == 0 else number for number in numbers]
    columns: dict[str, Any] = {
        "k": [f"k{number:03d}" for number in numbers],
        "n": list(numbers),
        "small": pa.array(some, pa.int32()),
        "text": [None if value is None else f"{mark}{value}" * (value % 4) for value in some],
        "day": pa.array(some, pa.int32()).cast(pa.date32()),
        "at": pa.array(some, pa.int64()).cast(pa.timestamp("ms")),
        "yes": [None if value is None else value % 2 == 0 for value in some],
        "real": [None if value is None else value / 4 for value in some],
        "tags": [None if value is None else [mark] * (value % 3) for value in some],
        "place": pa.array([None if value is None else [value, 0.0, 1.0] for value in some], pa.list_(pa.float32(), 3)),
    }
    return pa.table(columns)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[og.Graph]:
    with og.init(tmp_path / "graph.omni", SCHEMA) as made:
        made.load(rows(range(ROWS)), type="Node")
        yield made


def columns_of(view: View, *, paged: bool) -> dict[str, list[Any]]:
    """Every value of the table by its key: rows asked for one, two and twenty at a time, or read at once."""
    run = Run(view, Bindings({}, None), Budget(), frame_leaf, match)  # type: ignore[arg-type]
    table = run.entities("node:Node")
    everything = table.all_rows()
    if not paged:
        stored = table.handle.scan()
        order = np.argsort(stored["id"].to_numpy(zero_copy_only=False))
        return {name: stored[name].take(pa.array(order)).to_pylist() for name in stored.column_names}
    names = list(table._layout.types)
    found: dict[str, list[Any]] = {name: [] for name in names}
    begin = 0
    for size in (1, 2, 20, 1, 20, 2, *([20] * ROWS)):
        some = everything[begin : begin + size]
        begin += size
        if len(some):
            asked = Run(view, run.bindings, Budget(), frame_leaf, match).entities("node:Node")
            asked.load(names, some)
            for name in names:
                found[name] += asked.values(name, some[::-1]).to_pylist()[::-1]
    order = np.argsort(np.array(found["id"]))
    return {name: [values[place] for place in order] for name, values in found.items()}


def check(view: View) -> None:
    expected = columns_of(view, paged=False)
    for _ in range(2):  # the first time pages are read, the second time they are there
        assert columns_of(view, paged=True) == expected


def mutate(graph: og.Graph, *changes: str) -> None:
    for change in changes:
        graph.mutate(f"query m() {{ {change} }}")


CHANGES: dict[str, Callable[[og.Graph], object]] = {
    "nothing": lambda graph: None,
    "rows come": lambda graph: graph.load(rows(range(ROWS, ROWS + 30)), type="Node"),
    "rows go": lambda graph: mutate(graph, "delete Node where n < 7", "delete Node where n = 33"),
    "a row changes": lambda graph: mutate(graph, 'update Node set { text: "other" } where n = 12'),
    "a row changes twice": lambda graph: mutate(
        graph, 'update Node set { text: "other" } where n = 12', "update Node set { small: 1 } where n = 12"
    ),
    "a row goes and comes again": lambda graph: mutate(
        graph, 'delete Node where k = "k012"', 'insert Node { k: "k012" n: 1 }'
    ),
    "many rows change": lambda graph: graph.load(rows(range(20, 90), "u"), type="Node", mode="merge"),
    "everything is replaced": lambda graph: graph.load(rows(range(5, 25), "v"), type="Node", mode="overwrite"),
}


@pytest.mark.parametrize("long_list", [0, 1 << 16], ids=["long lists", "short lists"])
@pytest.mark.parametrize("change", CHANGES)
def test_pages_follow_every_change(
    graph: og.Graph, change: str, long_list: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places_module, "_LONG_LIST", long_list)
    before = graph.view()
    check(before)
    CHANGES[change](graph)
    check(graph.view())
    check(before)
    graph.optimize()
    check(graph.view())
    mutate(graph, 'update Node set { text: "last" } where n = 15')
    check(graph.view())
    check(before)
    check(graph.at(before.head).view())


def test_a_branch_shares_pages_and_keeps_to_its_own_rows(graph: og.Graph) -> None:
    check(graph.view())
    graph.branches.create("side")
    side = graph.branch("side")
    mutate(side, "update Node set { small: 7 } where n = 0")
    pages = graph._core.store.memory.cache(PAGES)
    of_parent = set(pages.keys())
    pages.clear()
    check(side.view())
    assert of_parent & set(pages.keys()), "a fork reads the files of its parent"
    mutate(side, 'update Node set { text: "side" } where n = 3', "delete Node where n = 4")
    mutate(graph, 'update Node set { text: "main" } where n = 30', "delete Node where n = 5")
    for each in (side, graph):
        check(each.view())
    graph.optimize()
    graph.branches.merge("side")
    for each in (side, graph):
        check(each.view())


def test_rows_of_several_files_come_in_the_order_they_were_asked_for(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places_module, "_LONG_LIST", 0)
    table = Run(graph.view(), Bindings({}, None), Budget(), frame_leaf, match).entities("node:Node")  # type: ignore[arg-type]
    known = RowPlaces.of(table.handle)
    assert known is not None
    assert known.only is not None
    offsets = np.arange(ROWS)
    halves = [(known.only[1], Scattered(offsets[start::2] + 100, offsets[start::2])) for start in (0, 1)]
    pages = PagedTable(RowPlaces(known.fields, halves), graph._core.store.root)
    asked = np.array([103, 104, 105, 101])
    for _ in range(2):  # until the two pages are there
        found = pages.values("n", asked, pa.int64(), lambda page: None)
    assert found is not None
    assert found.to_pylist() == [3, 4, 5, 1]
    assert pages.values("n", np.array([103, 99]), pa.int64(), lambda page: None) is None, "nobody lists row 99"
    assert pages.values("n", asked, pa.int32(), lambda page: None) is None, "as another type it is not kept"


def test_a_column_is_found_under_the_name_that_its_file_has_for_it(graph: og.Graph) -> None:
    before = graph.view()
    check(before)
    graph.schema.apply(SCHEMA.replace("small: I32?", 'middle: I32? @rename_from("small")'))
    check(graph.view())
    graph.schema.apply(SCHEMA.replace("small: I32?", "middle: I32?  small: String?"))
    mutate(graph, 'update Node set { small: "new", middle: 4 } where n = 8')
    check(graph.view())
    check(before)
    graph.optimize()
    check(graph.view())
    graph.schema.apply(SCHEMA.replace("small: I32?", "small: String?"), allow_data_loss=True)
    check(graph.view())


def test_pages_outlast_a_commit(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    check(graph.view())
    mutate(graph, 'update Node set { text: "new" } where n = 50')
    monkeypatch.setattr(TableHandle, "take_rows", lambda *_: pytest.fail("rows were fetched"))
    monkeypatch.setattr(pages_module.PagedColumn, "read", lambda *_: pytest.fail("a page was read"))
    table = Run(graph.view(), Bindings({}, None), Budget(), frame_leaf, match).entities("node:Node")  # type: ignore[arg-type]
    assert table.values("n", table.all_rows()[:20]).to_pylist() == list(range(20))


def test_no_more_pages_are_read_than_rows_were_fetched_without(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_module, "_FREE_ROWS", 0)
    monkeypatch.setattr(pages_module, "_ROWS_FOR_A_FETCH", 8)
    table = Run(graph.view(), Bindings({}, None), Budget(), frame_leaf, match).entities("node:Node")  # type: ignore[arg-type]
    everything = table.all_rows()
    pages, read = PagedTable.of(table.handle), list[int]()
    assert pages is not None
    assert pages.values("n", everything[:1], pa.int64(), lambda page: read.append(len(page))) is None
    assert not read
    assert pages.fetched("n", everything, lambda page: read.append(len(page)))
    assert read == [8], "one page for one fetch"
    assert pages.fetched("n", everything, lambda page: read.append(len(page)))
    assert read == [8, 8]
    found = pages.values("n", everything[:16], pa.int64(), lambda page: read.append(len(page)))
    assert found is not None
    assert found.to_pylist() == list(range(16))


def test_the_second_half_of_many_pages_is_read_together(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Run(graph.view(), Bindings({}, None), Budget(), frame_leaf, match).entities("node:Node")  # type: ignore[arg-type]
    everything = table.all_rows()
    pages, read = PagedTable.of(table.handle), list[int]()
    assert pages is not None
    expected = table.handle.scan(["n"])["n"].to_pylist()
    monkeypatch.setattr(pages_module, "_MANY_PAGES", 4)
    count = -(-len(everything) // 8)
    for place in range(0, len(everything), 16):  # every other page
        found = pages.values("n", everything[place : place + 1], pa.int64(), lambda page: read.append(len(page)))
        assert found is not None
        assert found.to_pylist() == expected[place : place + 1]
        if pages.whole("n", pa.int64()) is not None:
            break
    assert place // 16 + 1 == -(-count // 2)
    assert sum(read) == len(everything)
    whole = pages.whole("n", pa.int64())
    assert whole is not None
    assert [each.to_pylist() for each in whole[1]] == [expected]


def entities_of(graph: og.Graph) -> Entities:
    return Run(graph.view(), Bindings({}, None), Budget(), frame_leaf, match).entities("node:Node")  # type: ignore[arg-type]


def test_a_column_of_several_files_is_whole_when_each_of_them_is(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_module, "_MANY_PAGES", 2)
    monkeypatch.setattr(pages_module, "_MANY_FILES", 2)
    monkeypatch.setattr(pages_module, "_ASKED_OF_MANY", 2)
    graph.load(rows(range(ROWS, 2 * ROWS)), type="Node")
    table = entities_of(graph)
    asked, everything = 0, table.all_rows()
    expected = table.handle.scan(["text"])["text"].to_pylist()
    for place in (0, 8, 16, ROWS, ROWS + 8, ROWS + 16):
        assert entities_of(graph).values("text", everything[place : place + 1]).to_pylist() == [expected[place]]
        asked += 1
        if (held := entities_of(graph).held_whole("text")) is not None:
            break
    assert ROWS <= place < 2 * ROWS, "a few pages of each file, not all of them"
    assert asked < 6
    assert held is not None
    assert held.values.to_pylist() == expected
    assert held.take(everything[5:70:7]).to_pylist() == expected[5:70:7]
    assert entities_of(graph).whole("text").values.to_pylist() == expected

    graph.mutate('query q() { delete Node where k = "k003" }')
    assert entities_of(graph).held_whole("text") is None, "files still have what was deleted"
    left = entities_of(graph).whole("text")
    assert left.values.to_pylist() == [value for place, value in enumerate(expected) if place != 3]
    assert 3 not in left.index.rows.tolist()


def test_the_values_of_several_files_are_in_memory_once(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "_MANY_PAGES", 2)
    monkeypatch.setattr(pages_module, "_ASKED", 1)
    graph.load(rows(range(ROWS, 2 * ROWS)), type="Node")
    everything = entities_of(graph).all_rows()
    for place in (0, ROWS):
        entities_of(graph).values("n", everything[place : place + 1])
    held, pages = entities_of(graph).held_whole("n"), PagedTable.of(entities_of(graph).handle)
    assert held is not None
    assert pages is not None
    found = pages.whole("n", pa.int64())
    assert found is not None
    assert len(found[1]) == 2
    assert {each.buffers()[1].address for each in found[1]} == {held.values.buffers()[1].address}
    assert pa.concat_arrays(found[1]).equals(held.values)


def test_a_row_takes_one_read_for_all_of_its_columns(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = table_rows(graph, ["n", "text", "small"])
    reads: list[tuple[str, ...]] = []
    read_with = ColumnFile.read_with

    def counted(column: ColumnFile, others: list[ColumnFile], start: int, count: int) -> list[pa.Array]:
        reads.append((column.name, *(other.name for other in others)))
        return read_with(column, others, start, count)

    monkeypatch.setattr(ColumnFile, "read_with", counted)
    monkeypatch.setattr(ColumnFile, "read", lambda *_: pytest.fail("a column was read by itself"))
    monkeypatch.setattr(TableHandle, "take_rows", lambda *_: pytest.fail("rows were fetched"))
    everything = entities_of(graph).all_rows()
    for place in (9, 30, 31):  # the last two are on one page
        table = entities_of(graph)
        table.load(["n", "text", "small"], everything[place : place + 1])
        found = {name: table.values(name, everything[place : place + 1])[0].as_py() for name in ("n", "text", "small")}
        assert found == expected[place]
    assert reads == [("n", "text", "small")] * 2


def table_rows(graph: og.Graph, names: list[str]) -> list[dict[str, Any]]:
    return entities_of(graph).handle.scan(names).to_pylist()


def test_a_file_that_is_gone_is_left_to_whoever_reads_the_version(graph: og.Graph) -> None:
    view = graph.view()
    table = Run(view, Bindings({}, None), Budget(), frame_leaf, match).entities("node:Node")  # type: ignore[arg-type]
    some = table.all_rows()[:2]
    for file in (Path(graph.uri) / "nodes").rglob("*.lance"):
        file.unlink()
    with pytest.raises(og.errors.StorageError, match=r"[Nn]ot found"):
        table.values("text", some)


def test_threads_that_read_the_same_pages_see_the_same_values(graph: og.Graph) -> None:
    view = graph.view()
    expected = columns_of(view, paged=False)
    wrong: list[object] = []

    def look() -> None:
        found = columns_of(view, paged=True)
        if found != expected:
            wrong.append(found)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
