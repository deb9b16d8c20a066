"""Which index a property gets, and when an index is extended rather than built anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.types import BASE_SCALARS, PropType
from omnigraph.engine.maintenance.declared import declared_indexes, index_kind
from omnigraph.engine.maintenance.indexes import IndexReport, missing_indexes
from omnigraph.engine.values.load_profile import Progress
from omnigraph.testing.crash.invariants import violations


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        *((PropType(scalar), "ordered") for scalar in BASE_SCALARS if scalar not in ("String", "Blob")),
        (PropType("String"), "fulltext"),
        (PropType("String", nullable=True), "fulltext"),
        (PropType("String", enum=("a", "b")), "ordered"),
        (PropType("Vector", dim=3), "vector"),
        (PropType("Blob"), None),
        (PropType("String", list=True), None),
        (PropType("I32", list=True), None),
    ],
    ids=str,
)
def test_the_type_of_a_property_decides_its_index(kind: PropType, expected: str | None) -> None:
    assert index_kind(kind) == expected


def test_a_type_declares_its_ids_and_its_single_properties() -> None:
    catalog = compile_schema(
        """
        node Hut { code: String @key  alt: I32? @index @index(alt)  tag: enum(a, b) @index  v: Vector(2)? @index  n: I32
                   @index(alt, n) }
        node Pair { a: I32  b: I32  @key(a, b) }
        edge Path: Hut -> Hut { minutes: I32? @index }
        """
    )
    assert declared_indexes(catalog.nodes["Hut"]) == {
        "id": "ordered",
        "code": "fulltext",
        "alt": "ordered",
        "tag": "ordered",
        "v": "vector",
    }
    assert declared_indexes(catalog.nodes["Pair"]) == {"id": "ordered"}
    assert declared_indexes(catalog.edges["Path"]) == {"id": "ordered"}


def records(start: int, stop: int) -> list[str]:
    return [f'{{"type":"Hut","data":{{"code":"h{number}"}}}}' for number in range(start, stop)]


@pytest.mark.parametrize(("added", "rebuilt"), [(2, False), (50, True)])
def test_few_new_rows_extend_an_index_and_many_rebuild_it(tmp_path: Path, added: int, rebuilt: bool) -> None:
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key }")
    info = graph.schema.catalog.nodes["Hut"]
    graph.load(records(0, 40))
    graph.ensure_indices()
    graph.load(records(40, 40 + added))
    table = graph.view().table(info)
    assert missing_indexes(info, table, extend=False) == []
    specs = missing_indexes(info, table, extend=True)
    assert {spec.name for spec in specs} == {"id_idx", "code_idx", "code_fts"}
    assert {spec.fragments is None for spec in specs} == {rebuilt}


def test_many_small_extensions_end_in_a_rebuild(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key }")
    graph.load(records(0, 200))
    segments = []
    for number in range(9):
        graph.load(records(200 + number, 201 + number))
        graph.optimize()
        table = graph.view().table(graph.schema.catalog.nodes["Hut"])
        segments.append(max(index.segments for index in table.indices()))
    assert max(segments) > 1
    assert segments[-1] < segments[-2]
    assert all(each.coverage == 1 for each in graph.indexes())
    assert len(graph.query("query q() { match { $h: Hut } return { $h.code } }")) == 209


def test_a_table_shared_with_another_branch_is_forked_for_its_indexes(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key }\nnode Pet { name: String @key }")
    graph.load(records(0, 5))
    graph.branches.create("first")
    graph.load(records(5, 6), branch="first")
    graph.branches.create("second", from_="first")
    second = graph.branch("second")
    assert second.ensure_indices() == []
    entries = second.view().snapshot.entries
    assert entries["node:Hut"].owner == "second"
    assert entries["node:Pet"].ref is None
    assert {each.coverage for each in second.indexes() if each.rows} == {1}
    assert {each.name for each in graph.branch("first").indexes()} == {None}
    assert len(second.query("query q() { match { $h: Hut } return { $h.code } }")) == 6
    assert violations(graph._core.store) == []


# --- what an index is used for ---------------------------------------------------------------------------

ROWS = 6_000


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """Large enough for its tables not to be read whole."""
    graph = og.init(
        tmp_path_factory.mktemp("towns") / "g.omni", "node Town { code: String @key  name: String? @index  size: I32? }"
    )
    names = ("null" if number % 100 == 7 else f'"town_{number % 600:03}%"' for number in range(ROWS))
    graph.load(
        f'{{"type":"Town","data":{{"code":"t{number}","name":{name},"size":{number}}}}}'
        for number, name in enumerate(names)
    )
    graph.ensure_indices()
    return graph


def scanned_bytes(result: Any) -> int:
    """What the scan itself has read, row ids included; values that later steps want are not its business."""
    operators: list[dict[str, Any]] = result.explanation.to_dict()["operators"]
    return sum(operator["bytes"] for operator in operators if operator["operator"].startswith("scan"))


@pytest.mark.parametrize(
    ("condition", "matching"),
    [
        ('$t.name = "town_005%"', 10),
        ('$t.name = "nowhere"', 0),
        ('$t.name in ["town_005%", "town_006%"]', 20),
        ('$t.name starts_with "town_00"', 90),
        ('$t.name starts_with "town%"', 0),
        ('$t.name starts_with "town_005%"', 10),
    ],
)
def test_equality_and_prefix_read_only_the_rows_they_find(towns: og.Graph, condition: str, matching: int) -> None:
    result = towns.query(f"query q() {{ match {{ $t: Town {condition} }} return {{ $t.size }} }}")
    assert len(result) == matching
    assert scanned_bytes(result) <= 64 * matching


@pytest.mark.parametrize("filter", ["`name` = 'town_005%'", "starts_with(`name`, 'town_0')", "`name` IN ('a', 'b')"])
def test_lance_answers_such_filters_from_the_ordered_index(towns: og.Graph, filter: str) -> None:
    table = towns.view().table(towns.schema.catalog.nodes["Town"])
    plan = table.dataset.scanner(columns=["_rowid"], filter=filter).explain_plan()
    assert "ScalarIndexQuery" in plan
    assert "name_idx(BTree)" in plan


def test_a_hot_column_does_not_keep_a_large_table_from_its_index(
    towns: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.engine.read.match.scan._FEW_IN_MEMORY", 0)
    towns.query('query q() { match { $t: Town $t.name contains "5" } return { count(distinct $t.name) as n } }')
    result = towns.query('query q() { match { $t: Town $t.name = "town_005%" } return { $t.size } }')
    assert 0 < scanned_bytes(result) <= 64 * len(result)


def test_a_large_load_leaves_its_indexes_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.engine.maintenance.indexes.LARGE_LOAD", 50)
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key }\nnode Pet { name: String @key }")
    graph.load([*records(0, 60), '{"type":"Pet","data":{"name":"Rex"}}'])

    def huts() -> list[IndexReport]:
        """Those of the indexes that queries here read."""
        return [each for each in graph.indexes() if each.type_key == "node:Hut" and each.index_type != "INVERTED"]

    coverage = {(each.type_key, each.column): each.coverage for each in graph.indexes()}
    assert coverage["node:Hut", "id"] == 1
    assert coverage["node:Pet", "id"] == 0
    graph.load(records(60, 80))
    assert {each.covered_rows for each in huts()} == {60}
    graph.load(records(80, 160))
    assert {each.coverage for each in huts()} == {1}
    graph.load(records(160, 260), no_build=True)
    assert {each.covered_rows for each in huts()} == {160}
    graph.branches.create("draft")
    graph.load(records(260, 320), branch="draft")
    assert len(graph.query("query q() { match { $h: Hut } return { $h.code } }")) == 260


def test_what_is_kept_beside_the_graph_is_made_once_while_indexes_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index commit makes new versions of the tables; what was derived from the rows before it still serves."""
    from omnigraph.engine.maintenance import topology_builds
    from omnigraph.engine.read.columns import key_index_store
    from omnigraph.engine.read.topology import store

    made: list[str] = []
    for module in (key_index_store, topology_builds, store):
        monkeypatch.setattr(module, "least_rows", lambda root, most: 10)
    builders = ((key_index_store, "build_keys"), (topology_builds, "build_both"), (store, "build_topology"))
    for module, name in builders:
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *a, _real=real, _name=name, **k: (made.append(_name), _real(*a, **k))[1]
        )
    monkeypatch.setattr("omnigraph.engine.maintenance.indexes.LARGE_LOAD", 50)
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key }\nedge Near: Hut -> Hut")
    near = [f'{{"edge":"Near","from":"H{at:03d}","to":"H{(at + 1) % 60:03d}"}}' for at in range(60)]
    huts = [f'{{"type":"Hut","data":{{"code":"H{at:03d}"}}}}' for at in range(60)]
    told: list[Progress] = []
    done = graph.load([*huts, *near], progress=told.append)
    assert told == [Progress("index", 0, 1), Progress("index", 1, 1)]
    assert sorted(made) == ["build_both", "build_keys"]
    assert done.profile is not None
    assert [stage.name for stage in done.profile.stages] == ["read", "index", "commit"]
    assert {each.coverage for each in graph.indexes() if each.index_type != "INVERTED"} == {1}
    found = graph.query('query q() { match { $a: Hut { code: "H007" }  $a near{2} $b } return { $b.code } }')
    assert [row["b.code"] for row in found] == ["H009"]


@pytest.mark.parametrize(("given", "built_as"), [(False, "ZONEMAP"), (True, "BTREE")])
def test_ids_of_edges_that_ascend_get_ranges_of_zones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool, built_as: str
) -> None:
    monkeypatch.setattr("omnigraph.engine.maintenance.indexes.LARGE_LOAD", 50)
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key }\nedge Near: Hut -> Hut")
    ids = [f"e{at * 37 % 101:03d}" for at in range(60)]
    data = [f',"data":{{"id":"{each}"}}' if given else "" for each in ids]
    near = [f'{{"edge":"Near","from":"H{at:03d}","to":"H{(at + 1) % 60:03d}"{data[at]}}}' for at in range(60)]
    graph.load([*(f'{{"type":"Hut","data":{{"code":"H{at:03d}"}}}}' for at in range(60)), *near])
    reports = {each.type_key: each for each in graph.indexes() if each.column == "id"}
    assert (reports["edge:Near"].index_type, reports["edge:Near"].coverage) == (built_as, 1)
    assert reports["node:Hut"].index_type == "BTREE"
    found = graph.query("query q() { match { $a: Hut  $a $e:near $b } return { $e.id, $b.code as to } }")
    for row in list(found)[::7]:
        edge = graph.get("Near", row["e.id"])
        assert edge is not None
        assert edge["dst"] == row["to"]
    # Few more are added to the same kind of index; so many that it is built anew may choose again.
    graph.load(['{"edge":"Near","from":"H001","to":"H001"}'])
    graph.optimize()
    assert {each.type_key: (each.index_type, each.coverage) for each in graph.indexes() if each.column == "id"} == {
        "edge:Near": (built_as, 1),
        "node:Hut": ("BTREE", 1),
    }


@pytest.mark.parametrize(("huge", "expected"), [(50, ["back", "built", "back"]), (51, ["built"])])
def test_a_huge_load_gives_back_the_memory_of_its_rows_before_its_indexes_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, huge: int, expected: list[str]
) -> None:
    done: list[str] = []
    place = "omnigraph.engine.maintenance.indexes"
    monkeypatch.setattr(f"{place}.LARGE_LOAD", 10)
    monkeypatch.setattr(f"{place}._HUGE_LOAD", huge)
    monkeypatch.setattr(f"{place}.give_back", lambda: done.append("back"))
    monkeypatch.setattr(f"{place}._build_indexes", lambda *args, **options: done.append("built"))
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key }")
    graph.load([f'{{"type":"Hut","data":{{"code":"H{at:03d}"}}}}' for at in range(50)])
    assert done == expected
