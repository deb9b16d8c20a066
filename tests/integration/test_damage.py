"""Damaged graphs and failing storage: the error says what is wrong, and afterwards nothing acknowledged is missing."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lance
import pytest

import omnigraph as og
from omnigraph.errors import (
    Corrupt,
    FormatRefused,
    HistoricalVersionReclaimed,
    OmnigraphError,
    RecoveryRequired,
    StorageError,
)
from omnigraph.storage.base import failpoints
from omnigraph.storage.manifest import manifest, row_codec
from omnigraph.testing.crash.graph_child import GraphChild
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of
from omnigraph.testing.services.s3server import S3Process, mortal_s3

SCHEMA = "node Person { name: String @key  note: String? } node Pet { name: String @key } edge Knows: Person -> Person"
SETTINGS = og.Settings(lease_ttl_ms=600_000, lease_skew_ms=0)
INSERT = (
    "query q($name: String, $note: String?) { insert Person { name: $name, note: $note } insert Pet { name: $name } }"
)


@dataclass
class Ledger:
    """A graph and the names whose writes were acknowledged."""

    place: str
    names: set[str]

    def open(self, *, read_only: bool = False) -> og.Graph:
        return og.open(self.place, read_only=read_only, settings=SETTINGS)

    def write(self, graph: og.Graph, name: str, note: str | None = None) -> None:
        assert graph.mutate(INSERT, params={"name": name, "note": note}).commit is not None
        self.names.add(name)

    def check(self, *, maybe: set[str] | None = None, wanted: str | None = None) -> None:
        """Everything acknowledged is there, in both tables or in neither; the graph opens, is sound, and takes writes.

        `maybe` may have arrived although it was not acknowledged; `wanted` must have.
        """
        graph = self.open()
        assert violations(graph._core.store) == []
        rows = image_of(graph.view())
        found = set(rows["node:Person"])
        assert found == set(rows["node:Pet"])
        assert self.names <= found <= self.names | (maybe or set())
        assert wanted is None or wanted in found
        self.names = found
        self.write(graph, f"after-{len(found)}")
        assert set(image_of(self.open(read_only=True).view())["node:Person"]) == self.names


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(str(tmp_path / "g.omni"), set())
    graph = og.init(made.place, SCHEMA, settings=SETTINGS)
    for name in ("ana", "bo"):
        made.write(graph, name)
    return made


# --- sidecars ----------------------------------------------------------------------------------------


def killed_before_publishing(ledger: Ledger) -> Path:
    """The sidecar of a writer that died with all its tables committed: a recovery would finish its write."""
    records = "".join(json.dumps({"type": kind, "data": {"name": "late"}}) + "\n" for kind in ("Person", "Pet"))
    child = GraphChild(Path(ledger.place), SETTINGS, "mutation.post_effects_pre_publish=kill", "load", records)
    assert child.finish().exit_code == -signal.SIGKILL
    (sidecar,) = Path(ledger.place, "__recovery").glob("*.json")
    return sidecar


def truncated(text: str) -> str:
    return text[: len(text) // 2]


def from_a_newer_release(text: str) -> str:
    return json.dumps(json.loads(text) | {"schema_version": 11})


def without_its_tables(text: str) -> str:
    return json.dumps({key: value for key, value in json.loads(text).items() if key != "tables"})


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        pytest.param(truncated, Corrupt, id="W39-truncated"),
        pytest.param(lambda _text: "", Corrupt, id="W39-empty"),
        pytest.param(without_its_tables, Corrupt, id="W39-incomplete"),
        pytest.param(from_a_newer_release, FormatRefused, id="W39-newer"),
    ],
)
def test_an_unreadable_sidecar_stops_writers_keeps_readers_and_loses_nothing(
    ledger: Ledger, damage: Callable[[str], str], error: type[OmnigraphError]
) -> None:
    warm = ledger.open()
    sidecar = killed_before_publishing(ledger)
    whole = sidecar.read_text()
    sidecar.write_text(damage(whole))
    for attempt in (ledger.open, warm.refresh, lambda: ledger.write(warm, "refused")):
        with pytest.raises(error, match=sidecar.stem):
            attempt()
    assert sidecar.read_text() == damage(whole)
    reader = ledger.open(read_only=True)
    assert set(image_of(reader.view())["node:Person"]) == ledger.names
    sidecar.write_text(whole)
    ledger.check(maybe={"late"}, wanted="late")


@pytest.mark.parametrize("case", ["W37"])
def test_a_recovery_directory_that_cannot_be_listed_fails_the_open_and_every_write(ledger: Ledger, case: str) -> None:
    warm = ledger.open()
    with failpoints.armed("recovery.sidecar_list=raise"):
        for attempt in (ledger.open, lambda: ledger.write(warm, "refused")):
            with pytest.raises(StorageError):
                attempt()
    ledger.check()


# --- missing files, wrong stamps ---------------------------------------------------------------------


@contextmanager
def missing(file: Path) -> Iterator[None]:
    aside = file.with_name("aside")
    file.rename(aside)
    try:
        yield
    finally:
        aside.rename(file)


@pytest.mark.parametrize("case", ["S42"])
def test_a_pinned_version_without_its_file_is_named_and_its_table_cannot_be_written(ledger: Ledger, case: str) -> None:
    entry = ledger.open().snapshot().entries["node:Person"]
    with missing(Path(ledger.place, entry.evidence.manifest_path)):
        graph = ledger.open()
        # Issue 13, item 9: the contract says reclaimed, but no cleanup removes what a head shows.
        with pytest.raises(Corrupt, match=f"version {entry.version} of 'node:Person' is damaged: its version file"):
            image_of(graph.view())
        with pytest.raises(OmnigraphError):
            ledger.write(graph, "refused")
        assert graph.mutate('query q() { insert Pet { name: "alone" } }').affected_nodes == 1
        graph.mutate('query q() { delete Pet where name = "alone" }')
    ledger.check()


def data_files(ledger: Ledger, folder: str) -> list[Path]:
    """The files of the newest Person table in a folder."""
    entry = ledger.open().snapshot().entries["node:Person"]
    home = Path(ledger.place, entry.location)
    fragments = lance.dataset(str(home), version=entry.version).get_fragments()
    if folder == "data":
        return [home / folder / file.path for fragment in fragments for file in fragment.data_files()]
    return [home / name for fragment in fragments if (name := fragment.deletion_file()) is not None]


def changed(ledger: Ledger) -> og.Graph:
    """A table with a deletion file at its head."""
    graph = ledger.open()
    graph.load([{"type": kind, "data": {"name": name}} for name in ("cy", "di") for kind in ("Person", "Pet")])
    ledger.names |= {"cy", "di"}
    graph.mutate('query q() { update Person set { note: "x" } where name = "cy" }')
    return graph


@pytest.mark.parametrize("folder", ["data", "_deletions"])
def test_a_missing_file_of_a_head_is_damage(ledger: Ledger, folder: str) -> None:
    changed(ledger)
    for file in data_files(ledger, folder):
        damaged = pytest.raises(Corrupt, match=f"'node:Person' is damaged: .*{file.name}.*restore")
        with missing(file), damaged:
            image_of(ledger.open().view())
    ledger.check()


def test_a_missing_file_of_a_tagged_version_is_damage(ledger: Ledger) -> None:
    changed(ledger).tags.create("kept")
    deletions = data_files(ledger, "_deletions")
    graph = ledger.open()
    graph.mutate('query q() { update Person set { note: "y" } where name = "di" }')
    assert set(deletions).isdisjoint(data_files(ledger, "_deletions"))
    for file in deletions:
        with missing(file), pytest.raises(Corrupt, match="is damaged"):
            image_of(ledger.open().at("kept").view())


@pytest.mark.parametrize("opened", [True, False], ids=["table-open", "table-closed"])
def test_a_cleanup_that_overtakes_a_reader_is_named(ledger: Ledger, opened: bool) -> None:
    reader = changed(ledger)
    past = reader.at(reader.commits.head() or "")
    if opened:
        past.view().table(past.view().catalog.nodes["Person"])
    writer = ledger.open()
    for note in ("b", "c"):
        writer.mutate(f'query q() {{ update Person set {{ note: "{note}" }} where name = "di" }}')
    writer.optimize()
    writer.cleanup(keep=1, confirm=True)
    with pytest.raises(HistoricalVersionReclaimed, match="node:Person was reclaimed"):
        past.query("query q() { match { $p: Person } return { $p.name, $p.note } }")
    with pytest.raises(HistoricalVersionReclaimed):
        past.get("Person", "di")
    assert image_of(ledger.open().view())["node:Person"]["di"]["note"] == "c"


def test_a_historical_version_that_lost_a_file_without_a_cleanup_is_damage(ledger: Ledger) -> None:
    graph = changed(ledger)
    then = graph.commits.head() or ""
    (deletions,) = data_files(ledger, "_deletions")
    graph.mutate('query q() { update Person set { note: "y" } where name = "di" }')
    with missing(deletions), pytest.raises(Corrupt, match="is damaged"):
        image_of(ledger.open().at(then).view())


@pytest.mark.parametrize("kept", [0, 1, 7, 15, 16, 200, 0.5, 0.9, 0.999])
def test_a_truncated_newest_manifest_is_damage(ledger: Ledger, kept: float) -> None:
    file = newest_manifest(ledger)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    for read_only in (False, True):
        with pytest.raises(Corrupt, match=f"{file.name} is damaged: it ends after"):
            ledger.open(read_only=read_only)
    file.write_bytes(whole)
    ledger.check()


def test_a_version_file_that_makes_lance_panic_is_damage(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_codec, "_crc32", lambda raw: None)  # as earlier releases published it, without a checksum
    file = Path(ledger.place, ledger.open().snapshot().entries["node:Person"].evidence.manifest_path)
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"string", b"strIng"))
    with pytest.raises(Corrupt, match="a stored file is damaged"):
        image_of(ledger.open(read_only=True).view())
    file.write_bytes(whole)
    ledger.check()


def test_a_missing_data_file_of_the_newest_manifest_is_damage(ledger: Ledger) -> None:
    for file in Path(ledger.place, "__manifest/data").iterdir():
        with missing(file), pytest.raises(Corrupt, match="restore it from a backup"):
            ledger.open()
    ledger.check()


def with_a_past(ledger: Ledger) -> og.Graph:
    """A graph with a branch and a tag, and manifest versions that have files of their own."""
    graph = changed(ledger)
    graph.tags.create("old")
    graph.branches.create("review")
    graph.mutate('query q() { insert Pet { name: "there" } }', branch="review")
    graph.optimize()
    graph.mutate('query q() { update Person set { note: "z" } where name = "cy" }')
    return graph


@pytest.mark.parametrize("folder", ["data", "_deletions"])
def test_a_missing_file_of_an_older_manifest_is_damage(ledger: Ledger, folder: str) -> None:
    commits = [commit.graph_commit_id for commit in with_a_past(ledger).commits.list()]
    refused = []
    for file in Path(ledger.place, "__manifest", folder).iterdir():
        with missing(file):
            for name in ("main", "review", "old", commits[-1]):
                try:
                    og.open(ledger.place, read_only=True).at(name).get("Person", "ana")
                except Corrupt as error:
                    refused.append(str(error))
    assert len(refused) > 2
    assert all("restore it from a backup" in each for each in refused)
    assert og.open(ledger.place).check().ok


def test_flipped_bits_in_the_manifest_are_damage_and_nothing_else(ledger: Ledger) -> None:
    """What lance, Arrow or JSON say of a damaged file is one kind of error, and a check never fails on it."""
    commits = [commit.graph_commit_id for commit in with_a_past(ledger).commits.list()]
    rng, refused = random.Random(5), list[OmnigraphError]()
    files = sorted(Path(ledger.place, "__manifest/data").iterdir())
    for _ in range(40):
        file = rng.choice(files)
        whole = file.read_bytes()
        at = rng.randrange(len(whole))
        file.write_bytes(bytes([*whole[:at], whole[at] ^ 1 << rng.randrange(8), *whole[at + 1 :]]))
        try:
            graph = og.open(ledger.place, read_only=True)
            for name in ("main", "review", commits[-1]):
                graph.at(name).get("Person", "ana")
            graph.commits.list()
        except OmnigraphError as error:
            refused.append(error)
        finally:
            file.write_bytes(whole)
    # What can be decoded is another value: a commit or a type that nothing knows.
    assert [each for each in refused if isinstance(each, StorageError) and not isinstance(each, Corrupt)] == []
    assert sum(isinstance(each, Corrupt) for each in refused) > 5


def test_a_damaged_ref_of_one_branch_is_damage_and_main_can_be_read(ledger: Ledger) -> None:
    with_a_past(ledger)
    (file,) = Path(ledger.place, "__manifest/_refs/branches").glob("review*.json")
    whole = file.read_text()
    file.write_text(whole[: len(whole) // 2])
    graph = og.open(ledger.place, read_only=True)
    assert graph.get("Person", "ana") is not None
    assert graph.at("old").get("Person", "ana") is not None
    with pytest.raises(Corrupt, match=r"ref 'review.*restore __manifest/_refs/branches/review.*\.json from a backup"):
        graph.at("review").get("Person", "ana")
    report = graph.check()
    assert [(each.kind, each.branch) for each in report.findings] == [("manifest", "review")]
    assert report.counts.branches == 1


def test_a_truncated_schema_source_is_damage(ledger: Ledger) -> None:
    file = Path(ledger.place, "_schema.pg")
    whole = file.read_text()
    for kept in (0, 3, 10, 70):
        file.write_text(whole[:kept])
        found = f"ends after {kept} characters, in the middle of a declaration" if kept else "is empty"
        for read_only in (False, True):
            with pytest.raises(Corrupt, match=f"_schema.pg is damaged: it {found}; restore it from a backup"):
                ledger.open(read_only=read_only)
    file.write_text(whole)
    ledger.check()


def test_a_graph_without_a_stamp_is_not_told_to_be_deleted(ledger: Ledger) -> None:
    dataset = lance.dataset(str(Path(ledger.place, "__manifest")))
    dataset.update_schema_metadata({}, replace=True)
    with pytest.raises(FormatRefused, match="Restore the graph from a backup") as refused:
        ledger.open()
    assert "delet" not in str(refused.value)


INTERRUPTED = """
import collections, os, signal, sys, threading, time
import omnigraph as og
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
graph = og.open(sys.argv[1], read_only=True)
table = graph.view().table(graph.schema.catalog.nodes["Person"])
kinds = collections.Counter()
inside = 0
while sum(kinds.values()) < 40:
    met = threading.Event()
    def interrupt():
        time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)
        while not met.wait(2):  # one that arrives inside a callback is swallowed by the interpreter
            os.kill(os.getpid(), signal.SIGINT)
    sender = threading.Thread(target=interrupt)
    try:
        sender.start()
        while True:
            table.scan()
    except BaseException as error:
        met.set()
        kinds[type(error).__name__] += 1
        inside += error.__cause__ is not None
    sender.join()
print(sorted(kinds), inside)
"""


def test_an_interrupt_inside_a_storage_call_stays_one(ledger: Ledger) -> None:
    ledger.open().load([{"type": "Person", "data": {"name": f"p{number}"}} for number in range(20_000)])
    command = [sys.executable, "-c", INTERRUPTED, ledger.place]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    kinds, inside = done.stdout.rsplit(" ", 1)
    assert kinds == "['KeyboardInterrupt']"
    assert int(inside) > 0, "no interrupt was met inside lance"


def newest_manifest(ledger: Ledger, branch: str | None = None) -> Path:
    directory = Path(manifest.load(ledger.open()._core.store.root, branch).handle.address.uri)
    return min((directory / "_versions").glob("*.manifest"))


@pytest.mark.parametrize("branch", [None, "review"], ids=["main", "branch"])
def test_a_lost_newest_manifest_is_damage_and_not_an_older_graph(ledger: Ledger, branch: str | None) -> None:
    if branch is not None:
        ledger.open().branches.create(branch)
        ledger.open().mutate('query q() { insert Pet { name: "there" } }', branch=branch)
    name = branch or "main"
    lost = newest_manifest(ledger, branch)
    with missing(lost):
        for read_only in (False, True):
            with pytest.raises(Corrupt, match="is missing; restore its file"):
                og.open(ledger.place, branch=name, read_only=read_only, settings=SETTINGS)
    if branch is not None:
        assert set(image_of(ledger.open().branch(name).view())["node:Pet"]) == ledger.names | {"there"}
    ledger.check()


def test_a_lost_older_manifest_is_rebuilt_from_the_newest_one(ledger: Ledger) -> None:
    graph = ledger.open()
    first, second = (commit.graph_commit_id for commit in graph.commits.list()[1:])
    with missing(max(Path(ledger.place, "__manifest/_versions").glob("*.manifest"))):
        reopened = ledger.open()
        assert reopened.at(second).commit_id == second
        assert reopened.at(first).commit_id == first
        ledger.write(reopened, "cy")
    ledger.check()


@pytest.mark.parametrize(
    ("stamp", "message"),
    [
        pytest.param("3", "older release", id="S19"),
        pytest.param("5", "newer release", id="S20"),
        pytest.param(None, "no internal-schema stamp", id="S21-missing"),
        pytest.param("four", "unreadable format stamp 'four'", id="S21-unparsable"),
    ],
)
def test_a_foreign_stamp_is_refused_in_both_modes_and_by_a_warm_handle(
    ledger: Ledger, stamp: str | None, message: str
) -> None:
    warm = ledger.open()
    dataset = lance.dataset(str(Path(ledger.place, "__manifest")))
    key = "omnigraph:internal_schema_version"
    dataset.update_schema_metadata({} if stamp is None else {key: stamp}, replace=True)
    for attempt in (
        ledger.open,
        lambda: ledger.open(read_only=True),
        warm.view,
        lambda: ledger.write(warm, "refused"),
    ):
        with pytest.raises(FormatRefused, match=message):
            attempt()
    lance.dataset(dataset.uri).update_schema_metadata({key: "4"}, replace=True)
    ledger.check()


# --- file systems that refuse ------------------------------------------------------------------------


def mount(*arguments: str) -> None:
    """Run mount, or say why this machine cannot run the test."""
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this kernel or user may not mount: {done.stderr.strip()}")


@contextmanager
def mounted(place: Path, *arguments: str) -> Iterator[None]:
    place.mkdir(exist_ok=True)
    mount(*arguments, str(place))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def read_only_directory(place: Path) -> Iterator[None]:
    """A directory that the kernel lets nobody write; root ignores permission bits, so it gets a mount."""
    if os.geteuid() == 0:
        with mounted(place, "--bind", str(place)):
            mount("-o", "remount,ro,bind", str(place))
            yield
        return
    folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.parametrize("case", ["S30"])
def test_a_read_only_directory_is_readable_and_refuses_writers_before_they_begin(ledger: Ledger, case: str) -> None:
    warm = ledger.open()
    killed_before_publishing(ledger)
    with read_only_directory(Path(ledger.place)):
        reader = ledger.open(read_only=True)
        assert set(image_of(reader.view())["node:Person"]) == ledger.names
        assert reader.refresh() == reader.commits.head()
        for attempt in (
            ledger.open,
            lambda: ledger.write(warm, "refused"),
            lambda: warm.branches.create("refused"),
            lambda: og.init(Path(ledger.place) / "inner", SCHEMA),
        ):
            with pytest.raises(OmnigraphError, match=r"[Rr]ead-only|[Pp]ermission denied"):
                attempt()
    ledger.check(maybe={"late"}, wanted="late")


def fill(place: Path, *, leave: int) -> Path:
    """Take all space of a small disk but `leave` bytes."""
    ballast = place / "ballast"
    space = os.statvfs(place)
    with ballast.open("wb") as file:
        file.write(bytes(max(0, space.f_bavail * space.f_bsize - leave)))
    return ballast


def test_a_disk_that_fills_up_anywhere_in_a_commit_loses_nothing_acknowledged(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    page = 4096
    with mounted(disk, "-t", "tmpfs", "-o", "size=16m", "tmpfs"):
        ledger = Ledger(str(disk / "g.omni"), set())
        graph = og.init(ledger.place, SCHEMA, settings=SETTINGS)
        ledger.write(graph, "ana")
        refused: dict[str, str] = {}
        # With every free page more, the commit gets one step further before it fails.
        for pages in range(0, 36, 3):
            name = f"with-{pages}-pages"
            ballast = fill(disk, leave=pages * page)
            try:
                ledger.write(graph, name)
            except (StorageError, RecoveryRequired) as error:
                refused[name] = str(error)
            finally:
                ballast.unlink()
            ledger.check(maybe={name})
        assert all(re.search("no space left|storage full", message, re.I) for message in refused.values()), refused
        assert {"with-0-pages"} <= refused.keys() < {f"with-{pages}-pages" for pages in range(0, 36, 3)}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Ledger]:
    """A disk of 16 MiB with a graph that has megabytes of old versions."""
    disk = tmp_path / "disk"
    with mounted(disk, "-t", "tmpfs", "-o", "size=16m", "tmpfs"):
        ledger = Ledger(str(disk / "g.omni"), set())
        graph = og.init(ledger.place, SCHEMA, settings=SETTINGS)
        for name in ("ana", "bo"):
            ledger.write(graph, name)
        for number in range(6):
            text = "query q($n: String) { update Person set { note: $n } where name = 'ana' }".replace("'", '"')
            graph.mutate(text, params={"n": os.urandom(300_000).hex() if number < 5 else "short"})
        graph.close()
        yield ledger


def free_bytes(ledger: Ledger) -> int:
    space = os.statvfs(ledger.place)
    return space.f_bavail * space.f_bsize


def cleaned_up(ledger: Ledger) -> None:
    """Cleanup by a process of its own succeeds, has freed megabytes, and writes go on."""
    script = Path(sys.executable).with_name("omnigraph")
    command = [script, "cleanup", ledger.place, "--keep", "1", "--confirm", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [each["error"] for each in json.loads(done.stdout)["datasets"]] == [None] * 3
    assert free_bytes(ledger) > 2_000_000
    ledger.check(maybe={"refused", "late"})


@pytest.mark.parametrize("left", ["nothing", "an interrupted write"])
def test_cleanup_frees_space_on_a_full_disk(small_disk: Ledger, left: str) -> None:
    graph = small_disk.open()
    if left == "an interrupted write":
        killed_before_publishing(small_disk)
    fill(Path(small_disk.place).parent, leave=0)
    if left == "nothing":
        with pytest.raises(StorageError, match=r"(?i)no space left|storage full"):
            small_disk.write(graph, "refused")
        graph.close()
    cleaned_up(small_disk)
    assert Path(small_disk.place, "__reserve").exists()  # for the next time


def test_cleanup_by_an_open_handle_frees_space_on_a_full_disk(small_disk: Ledger) -> None:
    graph = small_disk.open()
    fill(Path(small_disk.place).parent, leave=0)
    graph.cleanup(keep=1, confirm=True)
    assert free_bytes(small_disk) > 2_000_000
    small_disk.check()


def test_without_a_reserve_what_can_be_computed_again_makes_room(small_disk: Ledger) -> None:
    derived = Path(small_disk.place, "__derived/topologies/x")
    derived.mkdir(parents=True)
    (derived / "origin.npy").write_bytes(bytes(1 << 20))
    Path(small_disk.place, "__reserve").unlink()
    fill(Path(small_disk.place).parent, leave=0)
    cleaned_up(small_disk)


def test_a_full_disk_without_any_reserve_is_told_what_to_free(small_disk: Ledger) -> None:
    Path(small_disk.place, "__reserve").unlink()
    ballast = fill(Path(small_disk.place).parent, leave=0)
    with pytest.raises(StorageError, match=r"free about 1024 KiB on the disk of .* then run cleanup") as caught:
        small_disk.open()
    assert caught.value.kind == "Permanent"
    os.truncate(ballast, ballast.stat().st_size - (1 << 20))
    cleaned_up(small_disk)


def test_a_full_disk_refuses_an_init_and_leaves_a_place_that_can_be_used(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        ballast = fill(disk, leave=0)
        with pytest.raises(StorageError, match="No space left") as caught:
            og.init(disk / "g.omni", SCHEMA)
        assert caught.value.kind == "Permanent"
        ballast.unlink()
        og.init(disk / "g.omni", SCHEMA).mutate(INSERT, params={"name": "ana"})


# --- an object store that dies -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Process]:
    with mortal_s3() as process:
        yield process


@pytest.mark.s3
@pytest.mark.slow
@pytest.mark.parametrize("point", ["mutation.post_table_commit", "publish.after_commit"])
def test_an_object_store_that_dies_in_a_commit_loses_nothing_acknowledged(
    s3: S3Process, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    # The store does not come back while a request is repeated, so there is nothing to wait for.
    for name, value in {**s3.server.environment, "OMNIGRAPH_STORE_RETRY_SECONDS": "1"}.items():
        monkeypatch.setenv(name, value)
    ledger = Ledger(s3.server.fresh_root().uri, set())
    graph = og.init(ledger.place, SCHEMA, settings=SETTINGS)
    ledger.write(graph, "ana")
    refused: set[str] = set()
    with failpoints.armed({point: s3.kill}):
        try:
            ledger.write(graph, "late")
        except (StorageError, RecoveryRequired):
            refused.add("late")
    with pytest.raises(StorageError) as caught:
        ledger.open(read_only=True)
    assert caught.value.kind == "Transient"
    assert ("late" in refused) == (point == "mutation.post_table_commit")
    s3.start()
    ledger.check(maybe=refused)
