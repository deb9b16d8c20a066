"""Numbered cases of storage, writes and versioning that need the whole stack: ids, hashes, sizes, locks, dependents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import Conflict
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import SCHEMA_LOCK_REF
from omnigraph.storage.lance.tables import open_table
from omnigraph.storage.manifest.branch_refs import live_refs
from omnigraph.testing.graphs.storage_graph import publish, version_row
from omnigraph.testing.naive.observe import image_of


@pytest.mark.parametrize(
    ("properties", "data", "expected"),
    [
        pytest.param("n: I64 @key", {"n": 7}, "7", id="S47-integer"),
        pytest.param("b: Bool @key", {"b": True}, "true", id="S47-bool"),
        pytest.param("f: F64 @key", {"f": -0.0}, "0", id="S47-negative-zero"),
        pytest.param("a: String  b: I64  @key(b, a)", {"a": "a", "b": 7}, '["a","7"]', id="S47-composite"),
    ],
)
def test_a_key_is_stored_as_its_canonical_text_whichever_way_it_is_written(
    tmp_path: Path, properties: str, data: dict[str, Any], expected: str
) -> None:
    graph = og.init(tmp_path / "g.omni", f"node T {{ {properties} }}")
    graph.load([{"type": "T", "data": data}])
    assert list(image_of(graph.view())["node:T"]) == [expected]
    assigned = ", ".join(f"{name}: {json.dumps(value)}" for name, value in data.items())
    graph.mutate(f"query q() {{ insert T {{ {assigned} }} }}")
    assert list(image_of(graph.view())["node:T"]) == [expected]
    assert graph.get("T", expected) is not None


DECLARATIONS = [
    "interface Named { name: String }",
    "node Person implements Named { name: String  mail: String? @unique  age: I32? @range(age, 0..150) }",
    "node Pet { name: String @key  kind: enum(cat, dog) }",
    "edge Owns: Person -> Pet @card(0..3) { since: Date? }",
]
SHUFFLED = [
    "edge Owns: Person -> Pet @card(0..3) { since: Date? }",
    "node Pet { kind: enum(dog, cat)  name: String @key }",
    "node Person implements Named { age: I32? @range(age, 0..150)  name: String  mail: String? @unique }",
    "interface Named { name: String }",
]


@pytest.mark.parametrize("case", ["S49"])
def test_the_order_of_declarations_changes_no_hash(tmp_path: Path, case: str) -> None:
    graph = og.init(tmp_path / "g.omni", "\n".join(DECLARATIONS))
    before = {path.name: path.read_bytes() for path in tmp_path.glob("g.omni/*schema*") if path.suffix == ".json"}
    source = Path(graph.uri, "_schema.pg")
    source.write_text("// shuffled\n" + "\n".join(SHUFFLED))
    assert og.open(graph.uri).schema.source.startswith("// shuffled")
    assert not graph.schema.plan("\n".join(SHUFFLED)).steps
    hashes = [og.init(tmp_path / name, "\n".join(text)) for name, text in (("a", DECLARATIONS), ("b", SHUFFLED))]
    states = [json.loads(Path(other.uri, "__schema_state.json").read_text()) for other in hashes]
    assert states[0]["schema_shape_hash"] == states[1]["schema_shape_hash"]
    assert {
        path.name: path.read_bytes() for path in tmp_path.glob("g.omni/*schema*") if path.suffix == ".json"
    } == before


@pytest.mark.parametrize("case", ["W60"])
def test_a_write_of_any_size_is_one_commit_because_there_is_no_ceiling(tmp_path: Path, case: str) -> None:
    graph = og.init(tmp_path / "g.omni", "node Person { name: String @key  age: I32? }")
    count = 8_193
    graph.load([{"type": "Person", "data": {"name": f"p{number}"}} for number in range(count)])
    done = graph.mutate("query q() { update Person set { age: 1 } where age is null }")
    assert done.affected_nodes == count
    assert len(graph.commits.list()) == 3
    assert graph.snapshot().entries["node:Person"].row_count == count


@pytest.mark.parametrize("case", ["V9"])
def test_the_schema_lock_is_no_branch_to_anybody(tmp_path: Path, case: str) -> None:
    graph = og.init(tmp_path / "g.omni", "node Person { name: String @key }")
    seen: list[tuple[bool, list[str]]] = []

    def look() -> None:
        locked = SCHEMA_LOCK_REF in live_refs(graph._core.store.root)
        seen.append((locked, graph.branches.list()))

    with failpoints.armed({"schema_apply.post_lock": look}):
        graph.schema.apply("node Person { name: String @key  age: I32? }")
    assert seen == [(True, ["main"])]
    assert live_refs(graph._core.store.root) == {}


@pytest.mark.parametrize("case", ["V10"])
def test_the_branch_a_handle_is_bound_to_cannot_be_deleted_through_it(tmp_path: Path, case: str) -> None:
    graph = og.init(tmp_path / "g.omni", "node Person { name: String @key }")
    graph.branches.create("review")
    with pytest.raises(Conflict, match="'review' is currently active"):
        graph.branch("review").branches.delete("review")
    graph.branches.delete("review")


@pytest.mark.parametrize("case", ["V11"])
def test_the_tables_of_a_deleted_branch_stay_while_another_one_shows_them(tmp_path: Path, case: str) -> None:
    """No writer makes such a state; decision 0031: deleting looks at no other branch, and cleanup looks at all."""
    settings = og.Settings(retire_grace_ms=0)
    graph = og.init(tmp_path / "g.omni", "node Person { name: String @key }", settings=settings)
    for name in ("feature", "sibling", "bystander"):
        graph.branches.create(name)
    graph.mutate('query q() { insert Person { name: "a" } }', branch="feature")
    root = graph._core.store.root
    entry = graph.branch("feature").snapshot().entries["node:Person"]
    shown = open_table(entry.address(root), entry.version)
    publish(root, [version_row("node:Person", shown.address, shown.version)], branch="sibling")
    assert list(image_of(graph.branch("sibling").view())["node:Person"]) == ["a"]
    graph.branches.delete("feature")
    assert [freed.branch for freed in graph.cleanup(keep=1, confirm=True).branches_removed] == ["feature"]
    assert list(image_of(og.open(graph.uri, branch="sibling").view())["node:Person"]) == ["a"]
    graph.branches.delete("sibling")
    assert [freed.branch for freed in graph.cleanup(keep=1, confirm=True).branches_removed] == ["feature", "sibling"]
    assert not any(Path(graph.uri).glob("nodes/*/tree/*"))
