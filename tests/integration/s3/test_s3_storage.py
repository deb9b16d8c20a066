"""The durable state layer on a real S3 server: the common object behaviour, and races between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from omnigraph.errors import AlreadyInitialized, Conflict, HistoricalVersionReclaimed, StorageError
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import Root, normalize_root
from omnigraph.storage.base.objects import open_objects, prove_create_if_absent
from omnigraph.storage.base.store import store_for
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.opening import open_read_only, open_read_write
from omnigraph.storage.protocol import recovery
from omnigraph.testing.graphs.storage_graph import (
    HASHES,
    create_branch,
    create_graph,
    entry_of,
    people,
    publish,
    write_table,
)
from omnigraph.testing.services.object_behaviour import BEHAVIOURS, Behaviour
from omnigraph.testing.services.s3server import S3Server

PERSON = "node:Person"


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: behaviour.__name__)
def test_s3_objects_behave(behaviour: Behaviour, s3_root: Root) -> None:
    behaviour(open_objects(s3_root))


def test_a_graph_lives_in_a_bucket(s3_root: Root) -> None:
    genesis = create_graph(s3_root)
    store = store_for(s3_root)
    opened = open_read_write(store, HASHES, lambda: recovery.sweep(store))
    assert opened.loaded.state.graph_head == genesis
    publish(s3_root, [write_table(entry_of(s3_root, PERSON).address(s3_root), people(ana=1, bo=2))])
    entry = entry_of(s3_root, PERSON)
    assert entry.evidence.manifest_path.startswith("nodes/40d76f1f51639ec0/_versions/")
    assert entry.evidence.e_tag is not None
    assert (entry.evidence.manifest_size or 0) > 0
    create_branch(s3_root, "review/x")
    tables.create_ref(tables.open_table(entry.address(s3_root)), "review/x", source=None, version=entry.version)
    forked = write_table(entry.address(s3_root).on("review/x"), people(cy=3))
    publish(s3_root, [forked], branch="review/x")
    assert entry_of(s3_root, PERSON, "review/x").row_count == 3
    assert open_read_only(store, HASHES).loaded.state.snapshot.entry(PERSON).row_count == 2


@pytest.mark.parametrize("name", ["notes.txt", "folder/notes.txt", "nodes/people.csv"])
def test_a_prefix_with_something_in_it_is_refused_and_left_as_it_is(s3_root: Root, name: str) -> None:
    objects = open_objects(s3_root)
    objects.write(name, "mine")
    with pytest.raises(Conflict, match="is not empty"):
        create_graph(s3_root)
    assert objects.list_tree("") == [name]


def test_manifest_compaction_keeps_the_lineage(s3_root: Root) -> None:
    create_graph(s3_root)
    for _ in range(4):
        publish(s3_root)
    before = list(manifest.load(s3_root).state.lineage.newest_first())
    assert manifest.compact_manifest(s3_root.manifest())
    assert list(manifest.load(s3_root).state.lineage.newest_first()) == before


def test_a_version_that_is_gone_was_reclaimed(s3_root: Root) -> None:
    create_graph(s3_root)
    address = entry_of(s3_root, PERSON).address(s3_root)
    with pytest.raises(HistoricalVersionReclaimed):
        tables.open_table(address, 7)
    with pytest.raises(StorageError) as caught:
        tables.open_table(s3_root.table("nodes/none"))
    assert caught.value.kind == "NotFound"


def test_wrong_credentials_are_a_configuration_error(s3_server: S3Server, s3_root: Root) -> None:
    create_graph(s3_root)
    environment = s3_server.environment | {"AWS_SECRET_ACCESS_KEY": "wrong"}
    stranger = normalize_root(s3_root.uri, env=environment)
    with pytest.raises(StorageError) as caught:
        open_objects(stranger).read("_schema.pg")
    assert caught.value.kind == "Configuration"
    with pytest.raises(StorageError) as caught:
        manifest.load(stranger)
    assert caught.value.kind == "Configuration"


INIT_RACER = """
import sys
from omnigraph.errors import OmnigraphError
from omnigraph.storage.base.layout import normalize_root
from omnigraph.testing.graphs.storage_graph import create_graph
sys.stdin.readline()
try:
    create_graph(normalize_root(sys.argv[1]))
    print("created")
except OmnigraphError as error:
    print(type(error).__name__)
"""

COMMIT_RACER = """
import sys
from omnigraph.storage.lance import tables
from omnigraph.testing.graphs import row_steps
from omnigraph.storage.base.layout import normalize_root
from omnigraph.testing.graphs.storage_graph import entry_of, people, publish
root, name = normalize_root(sys.argv[1]), sys.argv[2]
address = entry_of(root, "node:Person").address(root)
sys.stdin.readline()
landed = 0
for number in range(6):
    base = tables.open_table(address)
    outcome = tables.commit(row_steps.stage_upsert(base, people(**{f"{name}{number}": number})))
    if isinstance(outcome, tables.Landed):
        assert outcome.exact, outcome
        landed += 1
    publish(root, attempts=200, actor=name)
print(landed)
"""


def run_together(server: S3Server, program: str, arguments: list[list[str]]) -> list[str]:
    """Start one process per argument list, let them go at once, and collect what each printed."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program, *argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **server.environment},
        )
        for argument in arguments
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    outputs = [racer.communicate(timeout=300)[0].strip() for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * len(racers)
    return outputs


def test_of_four_processes_that_init_one_root_exactly_one_succeeds(s3_server: S3Server, s3_root: Root) -> None:
    results = Counter(run_together(s3_server, INIT_RACER, [[s3_root.uri]] * 4))
    assert results.pop("created") == 1
    assert set(results) <= {"InitializationClaimed", "AlreadyInitialized"}
    assert open_read_only(store_for(s3_root), HASHES).loaded.state.version == 1


def test_an_init_beside_the_probe_of_another_is_not_told_that_the_place_is_not_empty(s3_root: Root) -> None:
    """The probe of one process is the first object of an empty prefix, and its deletion leaves an empty directory."""
    created: list[str] = []

    def another() -> None:
        if not created:
            created.append("begun")
            prove_create_if_absent(open_objects(s3_root))
            created.append(create_graph(s3_root))

    with failpoints.armed({"storage.local_create_if_absent_probe": another}), pytest.raises(AlreadyInitialized):
        create_graph(s3_root)
    assert open_read_only(store_for(s3_root), HASHES).loaded.state.graph_head == created[-1]


def test_racing_writers_never_share_a_slot_and_publish_one_chain(s3_server: S3Server, s3_root: Root) -> None:
    create_graph(s3_root)
    landed = run_together(s3_server, COMMIT_RACER, [[s3_root.uri, name] for name in ("a", "b", "c")])
    address = entry_of(s3_root, PERSON).address(s3_root)
    newest = tables.open_table(address, control=True)
    assert newest.count_rows() == sum(int(count) for count in landed) == newest.version - 1
    state = manifest.load(s3_root).state
    chain = list(state.lineage.first_parents(state.effective_head or ""))
    assert len(chain) == len(state.lineage) == 1 + 3 * 6
    assert Counter(commit.actor_id for commit in chain) == {None: 1, "a": 6, "b": 6, "c": 6}
