"""Schema changes through the SDK: writes W51 to W59, storage S13 to S15, S36 to S38 and S50, V24, schema case 64."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.errors import BadRequest, Conflict, ReadSetChanged, ValueViolation
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import SCHEMA_LOCK_REF
from omnigraph.storage.intent import sidecar
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import live_refs
from omnigraph.storage.manifest.schema_files import FILES, STAGING
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.storage.protocol import audit
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR
from omnigraph.testing.crash.graph_child import GraphChild
from omnigraph.testing.crash.invariants import violations

SETTINGS = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000, retire_grace_ms=0)
PERSON = "node Person { name: String @key  age: I32?  pic: Blob? }"
KNOWS = "edge Knows: Person -> Person { since: Date? }"
COMPANY = "node Company { name: String @key }"
SCHEMA = f"{PERSON}\n{KNOWS}\n{COMPANY}"
WITH_NICKNAME = SCHEMA.replace("age: I32?", "age: I32?  nickname: String?")
RENAMED = SCHEMA.replace("node Person", 'node Human @rename_from("Person")').replace(
    "Person -> Person", "Human -> Human"
)
WITHOUT_COMPANY = f"{PERSON}\n{KNOWS}"
RECORDS = b"""{"type":"Person","data":{"name":"Alice","age":30,"pic":"base64:SGVsbG8="}}
{"type":"Person","data":{"name":"Bob"}}
{"edge":"Knows","from":"Alice","to":"Bob","data":{"id":"k1","since":"2020-01-05"}}
{"type":"Company","data":{"name":"Acme"}}
"""


def case(*numbers: str) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=number) for number in numbers])


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", SCHEMA, settings=SETTINGS)
    made.load(RECORDS)
    return made


def state_of(graph: og.Graph) -> manifest.ManifestState:
    return manifest.load(graph._core.store.root).state


def entry(graph: og.Graph, key: str) -> TableEntry:
    return state_of(graph).snapshot.entry(key)


def head_version(graph: og.Graph, key: str) -> int:
    return tables.latest_version(entry(graph, key).address(graph._core.store.root))


def staged_files(graph: og.Graph) -> list[str]:
    return [name for name in FILES if Path(graph.uri, name + STAGING).exists()]


def assert_at_rest(graph: og.Graph) -> None:
    """Nothing is left of a schema change, whatever became of it."""
    store = graph._core.store
    assert violations(store) == []
    assert SCHEMA_LOCK_REF not in live_refs(store.root)
    control = state_of(graph).control
    assert control is not None
    assert control.holder is None
    assert staged_files(graph) == []


def alice(**changed: Any) -> dict[str, Any]:
    return {"id": "Alice", "age": 30, "name": "Alice", "pic": "base64:SGVsbG8=", **changed}


# --- writes.md --------------------------------------------------------------------------------------------


@case("W51")
def test_adding_a_nullable_property_keeps_every_row(graph: og.Graph, case: str) -> None:
    before = entry(graph, "node:Person")
    done = graph.schema.apply(WITH_NICKNAME)
    after = entry(graph, "node:Person")
    assert done.applied
    assert (after.version, after.row_count, after.identity) == (before.version + 1, 2, before.identity)
    assert after.version == head_version(graph, "node:Person")
    assert graph.get("Person", "Alice") == alice(nickname=None)
    assert graph.get("Knows", "k1") == {"id": "k1", "src": "Alice", "dst": "Bob", "since": "2020-01-05"}
    assert done.commit == graph.commits.list()[0]
    assert_at_rest(graph)


@case("W52", "schema-64")
def test_other_branches_keep_their_schema(graph: og.Graph, case: str) -> None:
    """The contract refuses the change; decision 19 lets it live beside branches (tests/merge/test_schema_changes.py)."""
    graph.branches.create("feature")
    assert graph.schema.apply(WITH_NICKNAME).applied
    assert (graph.schema.source, graph.branch("feature").schema.source) == (WITH_NICKNAME, SCHEMA)
    assert graph.branch("feature").get("Person", "Alice") == alice()
    assert_at_rest(graph)


def test_a_branch_created_while_control_is_awaited_is_asked_too(graph: og.Graph) -> None:
    other = og.open(graph.uri, settings=SETTINGS)

    def create() -> None:
        other.branches.create("late")
        other.mutate('query q() { update Person set { age: 31 } where name = "Alice" }', branch="late")

    checked = iter([create])
    with failpoints.armed({"schema_apply.post_lock": lambda: None}):
        original = graph._core.store.gates.branches

        def late(names: Any) -> Any:
            for call in checked:
                call()
            return original(names)

        graph._core.store.gates.branches = late  # type: ignore[method-assign]
        try:
            with pytest.raises(Conflict, match=r"S060: property 'Person\.age' is to be dropped, but branch 'late'"):
                graph.schema.apply(SCHEMA.replace("age: I32?", ""))
        finally:
            graph._core.store.gates.branches = original  # type: ignore[method-assign]
    assert_at_rest(graph)


@case("W53", "S14")
def test_renaming_a_type_moves_no_data(graph: og.Graph, case: str) -> None:
    old_commit, before = graph.commits.head(), entry(graph, "node:Person")
    assert graph.schema.apply(RENAMED).applied
    after = entry(graph, "node:Human")
    assert (after.location, after.version, after.identity, after.row_count) == (
        before.location,
        before.version,
        before.identity,
        before.row_count,
    )
    assert head_version(graph, "node:Human") == before.version
    assert "node:Person" not in state_of(graph).snapshot.entries
    assert graph.get("Human", "Alice") == alice()
    assert old_commit is not None
    assert graph.get("Person", "Alice", at=old_commit) == alice()  # under the schema of then (decision 14)
    assert_at_rest(graph)


@case("W54", "S13")
def test_a_type_that_is_dropped_and_added_again_starts_empty(graph: og.Graph, case: str) -> None:
    old_commit, before = graph.commits.head(), entry(graph, "node:Company")
    graph.schema.apply(WITHOUT_COMPANY)
    assert "node:Company" not in state_of(graph).snapshot.entries
    assert state_of(graph).tombstones["node:Company"] == before.version
    graph.schema.apply(SCHEMA)
    after = entry(graph, "node:Company")
    assert (after.location, after.row_count) == (before.location, 0)
    assert after.version > before.version
    assert after.identity.stable_table_id != before.identity.stable_table_id
    assert after.identity.table_incarnation_id != before.identity.table_incarnation_id
    graph.load(b'{"type":"Company","data":{"name":"Globex"}}')
    assert graph.get("Company", "Globex") is not None
    assert graph.get("Company", "Acme") is None
    assert old_commit is not None
    old = manifest.load_version(graph._core.store.root, None, graph.commits.show(old_commit).manifest_version)
    table = tables.open_table(old.snapshot.entry("node:Company").address(graph._core.store.root), before.version)
    assert table.scan(["id"])["id"].to_pylist() == ["Acme"]
    assert_at_rest(graph)


@case("W55")
@pytest.mark.parametrize(
    "point",
    [
        "schema_apply.post_lock",
        "schema_apply.post_sidecar_pre_effect",
        "schema_apply.post_table_commit",
        "schema_apply.before_staging_write",
    ],
)
def test_a_change_that_dies_before_its_files_are_staged_is_undone(graph: og.Graph, case: str, point: str) -> None:
    assert (
        GraphChild(Path(graph.uri), SETTINGS, f"{point}=kill", "apply", WITH_NICKNAME).finish().exit_code
        == -signal.SIGKILL
    )
    reopened = og.open(graph.uri, settings=SETTINGS)
    assert_at_rest(reopened)
    assert reopened.schema.source == SCHEMA
    assert reopened.get("Person", "Alice") == alice()
    recovered = [row.kind for row in audit.records(reopened._core.store.root)]
    assert recovered == ([] if point == "schema_apply.post_lock" else ["RolledBack"])
    assert reopened.schema.apply(WITH_NICKNAME).applied
    assert reopened.get("Person", "Alice") == alice(nickname=None)


@case("W56")
@pytest.mark.parametrize("point", ["schema_apply.after_staging_write", "publish.pre_commit"])
def test_a_change_that_dies_with_its_files_staged_is_finished(graph: og.Graph, case: str, point: str) -> None:
    killed = GraphChild(Path(graph.uri), SETTINGS, f"{point}=kill", "apply", WITH_NICKNAME).finish()
    assert killed.exit_code == -signal.SIGKILL
    reopened = og.open(graph.uri, settings=SETTINGS)
    assert_at_rest(reopened)
    assert reopened.schema.source == WITH_NICKNAME
    assert Path(graph.uri, "_schema.pg").read_text() == WITH_NICKNAME
    assert reopened.get("Person", "Alice") == alice(nickname=None)
    assert [row.kind for row in audit.records(reopened._core.store.root)] == ["RolledForward"]
    assert RECOVERY_ACTOR not in [commit.actor_id for commit in reopened.commits.list()]


@case("W57-S36-S37")
@pytest.mark.parametrize(
    "point", ["schema_apply.after_publish", *(f"schema_apply.mid_promotion=kill@{n}" for n in (1, 2, 3))]
)
def test_a_published_change_is_served_before_its_files_are_live(graph: og.Graph, case: str, point: str) -> None:
    spec = point if "=" in point else f"{point}=kill"
    assert GraphChild(Path(graph.uri), SETTINGS, spec, "apply", WITH_NICKNAME).finish().exit_code == -signal.SIGKILL
    reader = og.open(graph.uri, read_only=True, settings=SETTINGS)
    assert reader.schema.source == WITH_NICKNAME
    assert reader.get("Person", "Alice") == alice(nickname=None)
    assert len(sidecar.pending(reader._core.store.objects)) == 1
    assert graph.get("Person", "Bob") == {"id": "Bob", "age": None, "name": "Bob", "nickname": None, "pic": None}
    reopened = og.open(graph.uri, settings=SETTINGS)
    assert_at_rest(reopened)
    assert Path(graph.uri, "_schema.pg").read_text() == WITH_NICKNAME


@case("W57")
def test_a_writer_that_finds_a_published_change_finishes_it(graph: og.Graph, case: str) -> None:
    spec = "schema_apply.mid_promotion=kill@1"
    assert GraphChild(Path(graph.uri), SETTINGS, spec, "apply", WITH_NICKNAME).finish().exit_code == -signal.SIGKILL
    graph.load(b'{"type":"Person","data":{"name":"Cleo","nickname":"C"}}')
    assert_at_rest(graph)
    assert graph.get("Person", "Cleo") == {"id": "Cleo", "age": None, "name": "Cleo", "nickname": "C", "pic": None}


@case("W58")
def test_of_two_processes_that_change_the_schema_one_wins(graph: og.Graph, case: str) -> None:
    with_city = SCHEMA.replace("age: I32?", "age: I32?  city: String?")
    parked = GraphChild(Path(graph.uri), SETTINGS, "schema_apply.before_staging_write=stop", "apply", WITH_NICKNAME)
    parked.wait_stopped()
    impatient = og.open(graph.uri, settings=replace(SETTINGS, writer_wait_ms=50))
    with pytest.raises(Conflict, match="schema_apply is in progress"):
        impatient.schema.apply(with_city)
    assert parked.resume().commit is not None
    graph = og.open(graph.uri, settings=SETTINGS)
    assert graph.schema.source == WITH_NICKNAME
    assert_at_rest(graph)


@case("W58")
def test_a_plan_is_not_carried_over_to_a_schema_it_was_not_made_for(graph: og.Graph, case: str) -> None:
    other = og.open(graph.uri, settings=SETTINGS)
    changed = iter([lambda: other.schema.apply(WITH_NICKNAME)])
    original = graph._core.store.gates.branches

    def late(names: Any) -> Any:
        for change in changed:
            change()
        return original(names)

    graph._core.store.gates.branches = late  # type: ignore[method-assign]
    try:
        with pytest.raises(ReadSetChanged, match="schema_ir_hash"):
            graph.schema.apply(SCHEMA.replace("age: I32?", "age: I32?  city: String?"))
    finally:
        graph._core.store.gates.branches = original  # type: ignore[method-assign]
    assert graph.schema.source == WITH_NICKNAME
    assert_at_rest(graph)


@case("W59")
def test_a_write_beside_a_schema_change_that_lasts_is_refused(graph: og.Graph, case: str) -> None:
    parked = GraphChild(Path(graph.uri), SETTINGS, "schema_apply.post_lock=stop", "apply", WITH_NICKNAME)
    parked.wait_stopped()
    impatient = og.open(graph.uri, settings=replace(SETTINGS, writer_wait_ms=50))
    with pytest.raises(Conflict, match="schema apply is in progress"):
        impatient.load(b'{"type":"Person","data":{"name":"Cleo"}}')
    assert parked.resume().commit is not None
    impatient.load(b'{"type":"Person","data":{"name":"Cleo","nickname":"C"}}')
    assert graph.get("Person", "Cleo") is not None
    assert_at_rest(graph)


@case("W59")
@pytest.mark.parametrize(
    ("write", "nickname"),
    [
        pytest.param(
            lambda graph: graph.load(b'{"type":"Person","data":{"name":"Bob","age":41,"nickname":"B"}}', "merge"),
            "B",
            id="a load, which the old schema would have refused",
        ),
        pytest.param(
            lambda graph: graph.mutate('query q() { update Person set { age: 41 } where name = "Bob" }'),
            None,
            id="an update, which is never prepared twice",
        ),
    ],
)
def test_writes_wait_for_a_schema_change_and_are_then_prepared_under_it(
    graph: og.Graph, case: str, write: Callable[[og.Graph], Any], nickname: str | None
) -> None:
    parked = GraphChild(Path(graph.uri), SETTINGS, "schema_apply.post_lock=stop", "apply", WITH_NICKNAME)
    parked.wait_stopped()
    patient = og.open(graph.uri, settings=replace(SETTINGS, writer_wait_ms=60_000))
    waiting = threading.Event()
    with failpoints.armed({"capture.awaits_schema_change": waiting.set}), ThreadPoolExecutor(1) as pool:
        written = pool.submit(write, patient)
        assert waiting.wait(60)
        assert parked.resume().commit is not None
        assert written.result().commit is not None
    assert graph.get("Person", "Bob") == {"id": "Bob", "age": 41, "name": "Bob", "nickname": nickname, "pic": None}
    assert_at_rest(graph)


@case("W59")
def test_a_write_prepared_under_the_old_schema_is_never_published(graph: og.Graph, case: str) -> None:
    record = '{"type":"Person","data":{"name":"Cleo"}}'
    writer = GraphChild(Path(graph.uri), SETTINGS, "mutation.post_stage_pre_gate=stop@1", "load", record)
    writer.wait_stopped()
    graph.schema.apply(WITH_NICKNAME)
    assert writer.resume().commit is not None  # prepared again, now with the new column
    assert graph.get("Person", "Cleo") == {"id": "Cleo", "age": None, "name": "Cleo", "nickname": None, "pic": None}
    assert_at_rest(graph)


def test_a_commit_that_lands_beside_a_schema_change_is_built_upon(graph: og.Graph) -> None:
    record = '{"type":"Person","data":{"name":"Cleo"}}'
    writer = GraphChild(Path(graph.uri), SETTINGS, "mutation.post_table_commit=stop", "load", record)
    writer.wait_stopped()
    resumed: list[Any] = []

    def resume() -> None:
        if not resumed:
            resumed.append(writer.resume())

    with failpoints.armed({"schema_apply.post_lock": resume}):
        assert graph.schema.apply(WITH_NICKNAME).applied
    assert resumed[0].commit is not None
    assert graph.get("Person", "Cleo") == {"id": "Cleo", "age": None, "name": "Cleo", "nickname": None, "pic": None}
    assert_at_rest(graph)


# --- storage.md and versioning.md ------------------------------------------------------------------------


@case("S15", "V24")
def test_a_new_type_under_a_renamed_types_old_name_is_another_type(graph: og.Graph, case: str) -> None:
    old_commit, before = graph.commits.head(), entry(graph, "node:Person")
    graph.schema.apply(RENAMED)
    graph.schema.apply(RENAMED + "\nnode Person { name: String @key }")
    human, person = entry(graph, "node:Human"), entry(graph, "node:Person")
    assert human.location == before.location
    assert person.location.startswith(f"{before.location}-")
    assert person.version > before.version
    graph.load(b'{"type":"Person","data":{"name":"Newcomer"}}')
    assert [row["p.name"] for row in graph.query("query q() { match { $p: Person } return { $p.name } }").rows()] == [
        "Newcomer"
    ]
    assert graph.get("Human", "Alice") == alice()
    assert old_commit is not None
    past = graph.at(old_commit)
    # Decision 14 (issue 13, item 4) turns V24 round: the past knows the type by the name it had then, and no other.
    assert past.query("query q() { match { $p: Person } return { $p.name } order { $p.name } }").rows() == [
        {"p.name": "Alice"},
        {"p.name": "Bob"},
    ]
    with pytest.raises(TypeCheckError, match="Human"):
        past.query("query q() { match { $p: Human } return { $p.name } }")
    assert_at_rest(graph)


@case("S38")
def test_leftovers_of_a_refused_change_are_deleted_by_an_open_for_writing_only(graph: og.Graph, case: str) -> None:
    Path(graph.uri, FILES[0] + STAGING).write_text("node Left {}")
    assert og.open(graph.uri, read_only=True).schema.source == SCHEMA
    assert staged_files(graph) == [FILES[0]]
    og.open(graph.uri, settings=SETTINGS)
    assert staged_files(graph) == []


@case("S50")
def test_a_property_that_is_dropped_and_added_again_is_another_one(graph: og.Graph, case: str) -> None:
    def identity() -> bytes:
        at = entry(graph, "node:Person")
        field = tables.open_table(at.address(graph._core.store.root), at.version).schema.field("age")
        return bytes(field.metadata[b"omnigraph.stable_property_id"])

    first, first_id = identity(), graph.schema.catalog.nodes["Person"].property_ids["age"]
    old_commit = graph.commits.head()
    graph.schema.apply(SCHEMA.replace("age: I32?", ""))
    graph.schema.apply(SCHEMA)
    assert identity() != first
    assert graph.schema.catalog.nodes["Person"].property_ids["age"] != first_id
    assert graph.get("Person", "Alice") == alice(age=None)
    assert old_commit is not None
    assert graph.get("Person", "Alice", at=old_commit) == alice()  # the former property, with the schema of then


# --- what the contract leaves to us ----------------------------------------------------------------------


def test_an_empty_plan_changes_nothing(graph: og.Graph) -> None:
    before = state_of(graph).version
    done = graph.schema.apply("// reordered\n" + f"{COMPANY}\n{KNOWS}\n{PERSON}")
    assert not done.applied
    assert done.to_json() == {
        "supported": True,
        "applied": False,
        "step_count": 0,
        "graph_manifest_version": before,
        "steps": [],
    }
    assert state_of(graph).version == before
    assert str(done.plan) == "supported: yes\nno schema changes"


def test_an_unsupported_plan_is_refused_with_its_reason(graph: og.Graph) -> None:
    wanted = SCHEMA.replace("age: I32?", "age: String?")
    plan = graph.schema.plan(wanted)
    assert not plan.supported
    assert str(plan).splitlines()[0] == "supported: no"
    before = state_of(graph).version
    with pytest.raises(BadRequest, match=r"^\[OG-MF-106\] ") as caught:
        graph.schema.apply(wanted)
    assert caught.value.code == "OG-MF-106"
    assert state_of(graph).version == before


def test_a_metadata_only_plan_is_one_commit_without_a_new_table_version(graph: og.Graph) -> None:
    before, pins = len(graph.commits.list()), state_of(graph).snapshot.pins()
    done = graph.schema.apply(SCHEMA.replace("age: I32?", "age: I32? @index @description('years')".replace("'", '"')))
    assert done.applied
    assert len(graph.commits.list()) == before + 1
    assert state_of(graph).snapshot.pins() == pins
    assert_at_rest(graph)


def test_a_rename_with_other_columns_moves_both_in_one_commit(graph: og.Graph) -> None:
    wanted = RENAMED.replace("age: I32?", 'years: I32? @rename_from("age")  city: String?')
    before = entry(graph, "node:Person")
    done = graph.schema.apply(wanted)
    assert [step["kind"] for step in done.to_json()["steps"]] == ["rename_type", "add_property", "rename_property"]
    after = entry(graph, "node:Human")
    assert (after.location, after.identity, after.version) == (before.location, before.identity, before.version + 1)
    expected = alice(city=None, years=30)
    del expected["age"]
    assert graph.get("Human", "Alice") == expected
    assert_at_rest(graph)


def test_a_renamed_type_with_other_columns_survives_a_crash_halfway(graph: og.Graph) -> None:
    wanted = RENAMED.replace("age: I32?", "age: I32?  city: String?")
    spec = "schema_apply.post_table_commit=kill"
    assert GraphChild(Path(graph.uri), SETTINGS, spec, "apply", wanted).finish().exit_code == -signal.SIGKILL
    reopened = og.open(graph.uri, settings=SETTINGS)
    assert_at_rest(reopened)
    assert reopened.get("Person", "Alice") == alice()
    assert reopened.schema.apply(wanted).applied
    assert reopened.get("Human", "Alice") == alice(city=None)


def test_a_type_can_be_renamed_back_and_forth(graph: og.Graph) -> None:
    back = SCHEMA.replace("node Person", 'node Person @rename_from("Human")')
    versions = []
    for wanted in (RENAMED, back, RENAMED, back):
        graph.schema.apply(wanted)
        name = "Human" if wanted is RENAMED else "Person"
        versions.append(entry(graph, f"node:{name}").version)
        assert graph.get(name, "Alice") == alice()
    assert versions == sorted(versions)
    graph.load(b'{"type":"Person","data":{"name":"Cleo"}}')
    assert_at_rest(graph)


@pytest.mark.parametrize("spec", ["schema_apply.post_table_commit=raise", "schema_apply.after_staging_write=raise"])
def test_an_error_on_the_way_leaves_everything_as_it_was(graph: og.Graph, spec: str) -> None:
    with failpoints.armed(spec), pytest.raises(og.errors.StorageError, match="failpoint"):
        graph.schema.apply(WITH_NICKNAME)
    assert_at_rest(graph)
    assert graph.schema.source == SCHEMA
    assert graph.get("Person", "Alice") == alice()
    assert graph.schema.apply(WITH_NICKNAME).applied


def test_an_error_after_the_publish_does_not_undo_it(graph: og.Graph) -> None:
    with failpoints.armed("schema_apply.after_publish=raise"):
        assert graph.schema.apply(WITH_NICKNAME).applied
    assert graph.get("Person", "Alice") == alice(nickname=None)
    graph.load(b'{"type":"Person","data":{"name":"Cleo"}}')
    assert_at_rest(graph)
    assert Path(graph.uri, "_schema.pg").read_text() == WITH_NICKNAME


def test_a_read_only_handle_plans_but_does_not_apply(graph: og.Graph) -> None:
    reader = og.open(graph.uri, read_only=True)
    assert reader.schema.plan(WITH_NICKNAME).supported
    with pytest.raises(BadRequest, match="read-only"):
        reader.schema.apply(WITH_NICKNAME)


# --- beyond the reference: defaults and relaxed nullability ------------------------------------------------

WITH_DEFAULTS = SCHEMA.replace(
    "age: I32?",
    """age: I32?  status: enum(new, old) @default("new")  score: F32 @default(-1.5)  visits: U32 @default(0)
       active: Bool @default(true)  joined: Date @default("2024-01-01")  seen: DateTime @default("2024-01-01T00:00:00Z")
       note: String @default("")""",
)
DEFAULTS = {
    "status": "new",
    "score": -1.5,
    "visits": 0,
    "active": True,
    "joined": "2024-01-01",
    "seen": "2024-01-01T00:00:00.000Z",
    "note": "",
}


def test_a_required_property_with_a_default_is_added_and_filled(graph: og.Graph) -> None:
    assert graph.schema.apply(WITH_DEFAULTS).applied
    assert graph.get("Person", "Alice") == alice(**DEFAULTS)
    assert_at_rest(graph)


def test_what_a_write_leaves_out_gets_the_default(graph: og.Graph) -> None:
    graph.schema.apply(WITH_DEFAULTS)
    graph.load(b'{"type":"Person","data":{"name":"Cleo","status":null}}')
    graph.load(b'{"type":"Person","data":{"name":"Dora","status":"old"}}')
    graph.mutate('query q() { insert Person { name: "Emil", visits: 7 } }')
    assert graph.get("Person", "Cleo") == {"id": "Cleo", "name": "Cleo", "age": None, "pic": None, **DEFAULTS}
    dora = graph.get("Person", "Dora")
    assert dora is not None
    assert dora["status"] == "old"
    assert graph.get("Person", "Emil") == {
        "id": "Emil",
        "name": "Emil",
        "age": None,
        "pic": None,
        **DEFAULTS,
        "visits": 7,
    }


def test_a_default_can_change_and_go_without_touching_rows(graph: og.Graph) -> None:
    first = SCHEMA.replace("age: I32?", 'age: I32?  status: enum(new, old) @default("new")')
    graph.schema.apply(first)
    pins = state_of(graph).snapshot.pins()
    graph.schema.apply(first.replace('@default("new")', '@default("old")'))
    graph.load(b'{"type":"Person","data":{"name":"Cleo"}}')
    cleo, old = graph.get("Person", "Cleo"), graph.get("Person", "Alice")
    assert cleo is not None
    assert old is not None
    assert (cleo["status"], old["status"]) == ("old", "new")
    assert state_of(graph).snapshot.pins()["node:Person"] == pins["node:Person"] + 1
    graph.schema.apply(first.replace('@default("new")', ""))
    with pytest.raises(og.errors.ValueViolation, match="W001"):
        graph.load(b'{"type":"Person","data":{"name":"Dora"}}')


def test_a_required_property_can_become_nullable(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key  alt: I32 }", settings=SETTINGS)
    graph.load(b'{"type":"Hut","data":{"code":"h1","alt":7}}')
    done = graph.schema.apply("node Hut { code: String @key  alt: I32? }")
    assert [step["kind"] for step in done.to_json()["steps"]] == ["relax_property"]
    assert str(done.plan) == "supported: yes\n- relax property 'Hut.alt' to I32? on node 'Hut'"
    graph.load(b'{"type":"Hut","data":{"code":"h2"}}')
    assert (graph.get("Hut", "h1"), graph.get("Hut", "h2")) == (
        {"id": "h1", "alt": 7, "code": "h1"},
        {"id": "h2", "alt": None, "code": "h2"},
    )
    with pytest.raises(BadRequest, match="OG-MF-106"):
        graph.schema.apply("node Hut { code: String @key  alt: I32 }")


NARROW = """
node Gauge {
  code: I32 @key  small: I32  unsigned: U32? @unique  real: F32?  day: Date? @index  many: [I32]?  days: [Date]?
  pic: Blob?
}
"""
WIDE = """
node Gauge {
  code: I64 @key  small: F64?  unsigned: I64? @unique  real: F64?  day: DateTime? @index  many: [I64]?
  days: [DateTime]?  pic: Blob?
}
"""


def test_widening_keeps_every_value_in_one_commit_and_the_past_as_it_was(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", NARROW, settings=SETTINGS)
    most = {"code": -5, "small": -(2**31), "unsigned": 2**32 - 1, "real": 0.1, "day": "2024-02-29"}
    graph.load([{"type": "Gauge", "data": {**most, "many": [1, 2], "days": ["1969-12-31"], "pic": "base64:SGVsbG8="}}])
    graph.load([{"type": "Gauge", "data": {"code": 7, "small": 1}}])
    narrow, commits = graph.get("Gauge", "-5"), len(graph.commits.list())
    assert narrow is not None
    graph.tags.create("narrow")
    assert {step["kind"] for step in graph.schema.apply(WIDE).to_json()["steps"]} == {"widen_property"}
    assert len(graph.commits.list()) == commits + 1
    wide = {**narrow, "day": "2024-02-29T00:00:00.000Z", "days": ["1969-12-31T00:00:00.000Z"]}
    assert graph.get("Gauge", "-5") == wide
    assert graph.at("narrow").get("Gauge", "-5") == narrow
    assert graph.diff("narrow", "main").changes == []
    assert graph.commits.blame("Gauge", "-5")["small"].commit == graph.commits.show("narrow~1")
    graph.mutate("query q() { update Gauge set { unsigned: 4294967296 } where code = 7 }")
    graph.load([{"type": "Gauge", "data": {"code": 2**40, "small": 0.5, "unsigned": -1, "real": 0.1}}])
    found = graph.query("query q() { match { $g: Gauge  $g.unsigned > 4294967295 } return { $g.code } }").rows()
    assert [row["g.code"] for row in found] == [7]
    with pytest.raises(ValueViolation, match="unique"):
        graph.load([{"type": "Gauge", "data": {"code": 8, "small": 1, "unsigned": 4294967295}}])
    assert [row.id for row in graph.diff("narrow", "main").changes] == ["1099511627776", "7"]
    graph.optimize()
    assert graph.get("Gauge", "-5") == wide
    assert_at_rest(graph)


# --- hard and soft drops ----------------------------------------------------------------------------------


def data_files(graph: og.Graph, key: str) -> list[str]:
    location = state_of(graph).registrations[key].location
    return sorted(path.name for path in Path(graph.uri, location, "data").glob("*"))


@pytest.mark.parametrize("lost", [False, True], ids=["soft", "hard"])
def test_a_dropped_property_stays_readable_unless_data_loss_is_allowed(graph: og.Graph, lost: bool) -> None:
    old, files = graph.commits.head(), data_files(graph, "node:Person")
    assert old is not None
    done = graph.schema.apply(SCHEMA.replace("age: I32?", ""), allow_data_loss=lost)
    assert done.to_json()["steps"][0]["mode"] == ("hard" if lost else "soft")
    expected = alice()
    del expected["age"]
    assert graph.get("Person", "Alice") == expected
    assert (set(files) <= set(data_files(graph, "node:Person"))) is not lost
    reopened = og.open(graph.uri, settings=SETTINGS)
    if lost:
        with pytest.raises(og.errors.HistoricalVersionReclaimed):
            reopened.get("Person", "Alice", at=old)
    else:
        assert reopened.get("Person", "Alice", at=old) == alice()  # dropped since, and there then (decision 14)
    graph.load(b'{"type":"Person","data":{"name":"Cleo"}}')
    assert_at_rest(graph)


def test_a_type_that_is_dropped_for_good_leaves_no_rows_on_disk(graph: og.Graph) -> None:
    files = data_files(graph, "node:Company")
    assert files
    graph.schema.apply(WITHOUT_COMPANY, allow_data_loss=True)
    assert data_files(graph, "node:Company") == []
    assert_at_rest(graph)
    graph.schema.apply(SCHEMA)
    graph.load(b'{"type":"Company","data":{"name":"Globex"}}')
    assert graph.get("Company", "Acme") is None
    assert graph.get("Company", "Globex") is not None
    assert_at_rest(graph)


def test_a_tag_protects_its_commit_even_from_a_hard_drop(graph: og.Graph) -> None:
    old = graph.commits.head()
    assert old is not None
    graph.tags.create("before")
    graph.schema.apply(SCHEMA.replace("age: I32?", ""), allow_data_loss=True)
    assert og.open(graph.uri, settings=SETTINGS).get("Person", "Alice", at=old) == alice()
