"""`check`: a sound graph has nothing wrong with it, and whatever is damaged is found and named."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.maintenance.checks.report import CheckReport, Finding
from omnigraph.engine.maintenance.checks.rows import without_values
from omnigraph.engine.read.columns import key_index_store
from omnigraph.engine.read.search import corpus_store
from omnigraph.engine.read.topology import files as topology_files
from omnigraph.engine.read.topology import store as topology_store
from omnigraph.errors import Corrupt, HistoricalVersionReclaimed
from omnigraph.storage.intent.writeset import AppendFragments, TableWrite, WriteSet
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import row_codec
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.storage.protocol.commit import commit
from tests.cli_runner import Desk

SCHEMA = """
node Person { name: String @key  age: I32? @index  bio: String? @index  face: Vector(4)? @index  photo: Blob? }
node City { country: String  code: I32  @key(country, code) }
edge Knows: Person -> Person { since: I32? }
edge LivesIn: Person -> City
"""


def person(number: int, rng: random.Random) -> dict[str, Any]:
    photo = "QUJD" * (30_000 if number == 3 else 3)
    face = [round(rng.random(), 3) for _ in range(4)]
    data = {"name": f"p{number}", "age": number % 50, "bio": f"likes thing {number % 9}", "face": face}
    return {"type": "Person", "data": {**data, "photo": f"base64:{photo}"}}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with everything in it that a check looks at."""
    place, rng = tmp_path_factory.mktemp("check") / "g.omni", random.Random(7)
    graph = og.init(place, SCHEMA)
    graph.load(
        [
            *(person(number, rng) for number in range(400)),
            *({"type": "City", "data": {"country": "CH", "code": number}} for number in range(5)),
            *({"edge": "Knows", "from": f"p{number}", "to": f"p{number + 1}"} for number in range(300)),
            *({"edge": "LivesIn", "from": f"p{n}", "to": f'["{n % 5}","CH"]'} for n in range(50)),
        ]
    )
    graph.optimize()
    graph.tags.create("loaded")
    graph.branches.create("review")
    graph.mutate('query q() { update Person set { age: 7 } where name = "p1" }', branch="review")
    graph.mutate('query q() { delete Person where name = "p2" }')
    graph.mutate('query q() { update Person set { age: 8 } where name = "p5" }')
    graph.mutate('query q() { insert City { country: "FR", code: 1 } }')
    graph.close()
    return place


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "g.omni"))


def checked(place: Path, **options: Any) -> CheckReport:
    return og.open(place, read_only=True).check(**options)


def kinds(report: CheckReport) -> set[str]:
    return {finding.kind for finding in report.findings}


def flip(file: Path, rng: random.Random) -> bytes:
    """Flip one bit somewhere and return what was there before."""
    whole = file.read_bytes()
    changed = bytearray(whole)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    file.write_bytes(bytes(changed))
    return whole


def test_a_sound_graph_is_sound(place: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = checked(place, progress=lambda done, total: seen.append((done, total)))
    assert report.findings == ()
    assert report.ok
    counts = report.counts
    assert (counts.branches, counts.tags, counts.unverified_files, counts.reclaimed_commits) == (2, 1, 0, 0)
    assert counts.commits == len(og.open(place).commits.log(every_branch=True, maintenance=True))
    assert counts.verified_files >= counts.files > 5
    assert counts.rows > 700
    assert counts.indexes > 8
    assert seen[-1][0] == seen[-1][1] > 20


def test_every_file_of_every_table_is_covered(place: Path) -> None:
    """Whatever lies in the directories of tables as data, blob or deletions is verified: nothing is left out."""
    stored = [file for part in ("data", "_deletions") for file in place.glob(f"*/*/**/{part}/**/*") if file.is_file()]
    tabled = [file for file in stored if "__manifest" not in file.parts]
    assert checked(place).counts.verified_files == len(tabled) > 8
    assert any(file.suffix == ".blob" for file in tabled)


@pytest.mark.slow
def test_one_flipped_bit_in_any_file_is_found(place: Path) -> None:
    rng = random.Random(3)
    stored = [file for part in ("data", "_deletions") for file in place.glob(f"*/*/**/{part}/**/*") if file.is_file()]
    for file in (file for file in stored if "__manifest" not in file.parts):
        whole = flip(file, rng)
        found = checked(place)
        damaged = [each for each in found.findings if each.kind == "checksum"]
        assert [each.file for each in damaged] == [str(file.relative_to(place))], file
        assert "restore the file from a backup" in damaged[0].message
        file.write_bytes(whole)
    assert checked(place).ok


def version_files(place: Path) -> list[Path]:
    """The version files of tables, of branches too; `__manifest` is not a table."""
    return sorted(file for kind in ("nodes", "edges") for file in place.glob(f"{kind}/**/_versions/*.manifest"))


def test_one_flipped_bit_in_any_version_file_is_found(place: Path) -> None:
    rng = random.Random(11)
    names = {entry.evidence.manifest_path for entry in published(place)}
    kept = [file for file in version_files(place) if str(file.relative_to(place)) in names]
    assert len(kept) == len(names) > 8
    for file in rng.sample(kept, 6):
        whole = flip(file, rng)
        found = [each for each in checked(place).findings if each.file == str(file.relative_to(place))]
        assert {each.kind for each in found} == {"checksum"}, file
        assert "restore the file from a backup" in found[0].message
        file.write_bytes(whole)
    assert checked(place).ok


def published(place: Path) -> set[TableEntry]:
    """The table versions that any commit shows."""
    graph = og.open(place, read_only=True)
    commits = graph.commits.log(every_branch=True, maintenance=True)
    return {entry for each in commits for entry in graph.at(each.commit.graph_commit_id).view().snapshot}


def test_a_version_file_with_a_flipped_bit_answers_nothing(place: Path) -> None:
    """What the tester saw: other columns under the names of a table, and no error."""
    file = place / og.open(place, read_only=True).snapshot().entries["node:City"].evidence.manifest_path
    whole = file.read_bytes()
    for position in range(0, len(whole), 7):
        file.write_bytes(bytes([*whole[:position], whole[position] ^ 2, *whole[position + 1 :]]))
        with pytest.raises(Corrupt, match=f"{file.name} is damaged: .*restore it from a backup"):
            og.open(place, read_only=True).query("query q() { match { $c: City } return { $c.code } }")
    with pytest.raises(Corrupt, match="is damaged"):
        og.open(place).mutate('query q() { insert City { country: "IT", code: 1 } }')
    file.write_bytes(whole)
    assert checked(place).ok


def without_version_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every graph as one of a release that noted no checksum of version files."""
    monkeypatch.setattr(row_codec, "_crc32", lambda raw: None)


def test_version_files_of_an_earlier_release_count_as_unverified(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked(place).counts.unverified_versions == 0
    without_version_checksums(monkeypatch)
    report = checked(place)
    assert report.ok
    assert report.counts.unverified_versions == report.counts.versions > 8


def test_without_checksums_no_flip_in_a_version_file_crashes_a_check(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns, ids and types are compared with the schema of the commit, and whatever fails is a finding."""
    without_version_checksums(monkeypatch)
    entry = og.open(place, read_only=True).snapshot().entries["node:City"]
    file = place / entry.evidence.manifest_path
    whole = file.read_bytes()
    for name in (b"country", b"code", b"omnigraph.stable_property_id"):
        at = whole.rindex(name)
        for bit in (1, 64):
            file.write_bytes(bytes([*whole[:at], whole[at] ^ bit, *whole[at + 1 :]]))
            report = checked(place)
            assert not report.ok, (name, bit)
            assert "node:City" in {each.type_key for each in report.findings}
    file.write_bytes(whole)


def test_a_tag_whose_commit_id_changed_is_found(place: Path) -> None:
    (tag,) = (place / "__tags").iterdir()
    document = json.loads(tag.read_text())
    old = document["graph_commit_id"]
    tag.write_text(json.dumps(document | {"graph_commit_id": old[:-1] + ("0" if old[-1] != "0" else "1")}))
    assert "tag 'loaded'" in only(checked(place), "commit").message


def test_an_id_that_changed_silently_is_found(place: Path) -> None:
    """What the issue starts from: a flipped bit turns one id into another, and every query goes on answering."""
    data = next(file for file in place.glob("nodes/*/data/*.lance") if b"p399" in file.read_bytes())
    data.write_bytes(data.read_bytes().replace(b"p399", b"q399", 1))
    report = checked(place)
    assert "checksum" in kinds(report)
    assert not checked(place, branch="main").ok


def test_a_flipped_bit_is_still_found_after_cleanup_removed_the_version_that_brought_the_file(place: Path) -> None:
    graph = og.open(place)
    graph.tags.delete("loaded")
    graph.cleanup(keep=1, confirm=True)
    report = checked(place)
    assert report.ok
    assert report.counts.unverified_files == 0
    assert report.counts.reclaimed_commits > 0
    file = max(place.glob("nodes/*/data/*.lance"), key=lambda each: each.stat().st_size)
    flip(file, random.Random(5))
    assert "checksum" in kinds(checked(place))


def test_a_compacted_file_has_a_checksum(place: Path) -> None:
    graph = og.open(place)
    for number in range(4):
        graph.mutate(f'query q() {{ insert City {{ country: "DE", code: {number} }} }}')
    graph.optimize()
    report = checked(place)
    assert report.ok
    assert report.counts.unverified_files == 0


# --- files that are not there, or not whole ----------------------------------------------------------


def head_files(place: Path, key: str = "node:Person") -> list[Path]:
    entry = og.open(place, read_only=True).snapshot().entries[key]
    fragments = lance.dataset(str(place / entry.location), version=entry.version).get_fragments()
    return [place / entry.location / "data" / file.path for each in fragments for file in each.data_files()]


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
def test_a_missing_or_shortened_file_is_found(place: Path, quick: bool) -> None:
    file = head_files(place)[0]
    whole = file.read_bytes()
    file.unlink()
    (found, *_) = [each for each in checked(place, quick=quick).findings if each.kind == "file"]
    assert (found.type_key, found.file) == ("node:Person", str(file.relative_to(place)))
    assert found.message == "the file is missing"
    file.write_bytes(whole[:-100])
    texts = [each.message for each in checked(place, quick=quick).findings if each.kind == "file"]
    assert texts == [f"the file has {len(whole) - 100} bytes instead of {len(whole)}"]
    file.write_bytes(whole)
    assert checked(place, quick=quick).ok


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
def test_missing_deletions_versions_and_indexes_are_found(place: Path, quick: bool) -> None:
    def damage(path: Path, expected: set[str]) -> None:
        aside = place.parent / "aside"
        path.rename(aside)
        assert expected & kinds(checked(place, quick=quick)), path
        aside.rename(path)

    entry = og.open(place, read_only=True).snapshot().entries["node:Person"]
    fragments = lance.dataset(str(place / entry.location), version=entry.version).get_fragments()
    damage(next(place / entry.location / name for each in fragments if (name := each.deletion_file())), {"file"})
    city = og.open(place, read_only=True).snapshot().entries["node:City"]
    damage(place / city.evidence.manifest_path, {"version"})
    uuid = next((place / entry.location / "_indices").iterdir())
    damage(uuid, {"file"})
    assert checked(place, quick=quick).ok


def test_a_missing_file_of_an_old_commit_is_found(place: Path) -> None:
    graph = og.open(place)
    graph.mutate('query q() { update Person set { age: 9 } where name = "p6" }')
    graph.optimize()  # the head is one fragment now, and the others belong to older commits only
    lost = next(file for file in place.glob("nodes/*/_deletions/*"))
    lost.unlink()
    report = checked(place)
    assert {"file", "version"} & kinds(report)


def test_a_lost_version_file_of_an_old_commit_is_found_and_not_taken_for_reclaimed(place: Path) -> None:
    graph = og.open(place)
    then = graph.commits.head() or ""
    entry = graph.snapshot().entries["node:City"]
    for code in (2, 3):
        graph.mutate(f'query q() {{ insert City {{ country: "FR", code: {code} }} }}')
    graph.close()
    file = place / entry.evidence.manifest_path
    whole = file.read_bytes()
    file.unlink()
    found = only(checked(place), "version")
    assert (found.type_key, found.version, found.file) == ("node:City", entry.version, entry.evidence.manifest_path)
    assert "no cleanup removed it" in found.message
    assert checked(place).counts.reclaimed_commits == 0
    with pytest.raises(Corrupt, match=f"version {entry.version} of 'node:City' is damaged: its version file is miss"):
        og.open(place, read_only=True).get("City", '["1","FR"]', at=then)
    file.write_bytes(whole)
    graph = og.open(place)
    graph.tags.delete("loaded")
    graph.branches.delete("review")
    graph.cleanup(keep=1, confirm=True)
    assert not file.exists()
    report = checked(place)
    assert report.ok
    assert report.counts.reclaimed_commits > 0
    with pytest.raises(HistoricalVersionReclaimed):
        og.open(place, read_only=True).get("City", '["1","FR"]', at=then)
    copy = place.with_name("copy.omni")
    og.clone(place, copy)
    assert checked(copy).ok


def test_a_truncated_manifest_and_a_lost_schema_are_found(place: Path) -> None:
    graph = og.open(place)
    with_city = SCHEMA.replace("node City {", "node City { mayor: String?")
    graph.branches.delete("review")
    graph.schema.apply(with_city)
    assert checked(place).ok
    old = next(file for file in (place / "__schemas").iterdir() if "mayor" not in file.read_text())
    text = old.read_text()
    old.unlink()
    assert kinds(checked(place)) == {"schema"}
    old.write_text(text)
    opened = og.open(place, read_only=True)
    newest = min((place / "__manifest" / "_versions").glob("*.manifest"))
    newest.write_bytes(newest.read_bytes()[:40])
    assert "manifest" in kinds(opened.check())


# --- rows --------------------------------------------------------------------------------------------


def smuggled(place: Path, key: str, columns: dict[str, list[Any]]) -> None:
    """Publish rows that no validator has seen."""
    graph = og.open(place)
    view = graph.view()
    table = tables.open_table(view.snapshot.entries[key].address(graph._core.store.root))
    names = [field for field in table.schema if field.name in columns]
    schema = pa.schema(names)
    rows = pa.Table.from_arrays([pa.array(columns[field.name], field.type) for field in names], schema=schema)
    fragments = tuple(tables.write_fragments(table, rows, schema))
    write = WriteSet(writer_kind="Load", tables=(TableWrite(key, (AppendFragments(fragments, rows.num_rows),)),))
    commit(graph._core.store, None, lambda txn: write)


def only(report: CheckReport, kind: str) -> Finding:
    (found,) = [each for each in report.findings if each.kind == kind]
    return found


def test_ids_that_occur_twice_are_found(place: Path) -> None:
    smuggled(place, "node:Person", {"id": ["p1", "p1"], "name": ["p1", "p1"]})
    assert only(checked(place), "duplicate_id").message == "1 ids occur more than once: 'p1'"


def test_ids_that_do_not_agree_with_their_keys_are_found(place: Path) -> None:
    smuggled(place, "node:City", {"id": ["other"], "country": ["AT"], "code": [1]})
    assert (
        only(checked(place), "key").message
        == """1 ids do not agree with their keys: 'other' (its key says '["1","AT"]')"""
    )


def test_keys_that_are_null_are_found() -> None:
    # Lance writes none where the schema forbids it, so only damage can make them.
    rows = pa.table({"id": ["a", None, None], "code": [1, 2, 3]})
    assert without_values(rows) == ["2 rows without 'id'"]


def test_edges_without_an_end_are_found(place: Path) -> None:
    smuggled(place, "edge:Knows", {"id": ["e1"], "src": ["p1"], "dst": ["nobody"]})
    found = only(checked(place), "orphan_edge")
    assert (found.type_key, found.branch) == ("edge:Knows", "main")
    assert found.message == "1 edge without a Person at 'dst': 'e1'"
    assert checked(place, branch="review").ok


# --- indexes and derived state -----------------------------------------------------------------------


def test_an_index_that_does_not_agree_with_its_table_is_found(place: Path) -> None:
    entry = og.open(place, read_only=True).snapshot().entries["node:Person"]
    dataset = lance.dataset(str(place / entry.location), version=entry.version)
    segments = {each.name: each.segments[0].uuid for each in dataset.describe_indices()}
    source, target = (place / entry.location / "_indices" / segments[name] for name in ("name_idx", "bio_idx"))
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    found = next(each for each in checked(place).findings if each.kind == "index")
    assert found.message.startswith("index 'bio_idx' on 'bio': it finds ")
    assert "build it again with optimize" in found.message


@pytest.mark.parametrize("kind", ["keys", "topology", "text"])
def test_derived_state_that_does_not_agree_is_found(place: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (key_index_store, "_WORTH_KEEPING"),
        (key_index_store, "SMALL_TABLE"),
        (topology_files, "WORTH_KEEPING"),
        (topology_store, "WORTH_KEEPING"),
        (corpus_store, "WORTH_KEEPING"),
    ):
        monkeypatch.setattr(module, name, 1)
    monkeypatch.setattr("omnigraph.engine.maintenance.topology_builds.WORTH_KEEPING", 1)
    shutil.rmtree(place / "__derived", ignore_errors=True)
    og.open(place).optimize()
    report = checked(place)
    assert report.ok
    assert report.counts.derived >= 3
    arrays = {"keys": "rows.npy", "topology": "neighbours.npy", "text": "counts.npy"}
    for file in (place / "__derived" / kind).glob(f"*/*/{arrays[kind]}"):
        content = bytearray(file.read_bytes())
        content[-4] ^= 1
        file.write_bytes(bytes(content))
    found = [each for each in checked(place).findings if each.kind == "derived"]
    assert found
    assert all("does not agree" in each.message or "do not agree" in each.message for each in found)
    assert "delete __derived" in found[0].message


# --- from the command line ---------------------------------------------------------------------------


def test_the_command_prints_what_it_found_and_ends_with_a_code(place: Path, desk: Desk) -> None:
    sound = desk.run("check", str(place), "--json")
    assert sound.code == 0
    assert sound.json["ok"] is True
    assert sound.json["findings"] == []
    assert sound.json["counts"]["branches"] == 2
    quick = desk.run("check", str(place), "--quick")
    assert quick.code == 0
    assert "2 branches, 1 tag" in quick.stdout
    assert "no damage found" in quick.stdout
    file = head_files(place)[0]
    flip(file, random.Random(1))
    found = desk.run("check", str(place))
    assert found.code == 1
    assert "checksum: node:Person: the content was changed" in found.stdout
    assert ".lance)" in found.stdout  # the damaged file is named
    assert "1 problem found" in found.stdout or "problems found" in found.stdout
    (damaged,) = [
        each for each in desk.run("check", str(place), "--json").json["findings"] if each["kind"] == "checksum"
    ]
    assert damaged["file"] == str(file.relative_to(place))
    assert desk.run("check", str(place), "--branch", "review", "--quick").code == 0


def test_a_graph_that_cannot_be_opened_is_reported_and_not_only_refused(place: Path, desk: Desk) -> None:
    newest = min((place / "__manifest" / "_versions").glob("*.manifest"))
    whole = newest.read_bytes()
    newest.write_bytes(whole[:40])
    found = desk.run("check", str(place), "--json")
    assert found.code == 1
    (finding,) = found.json["findings"]
    assert (found.json["ok"], finding["kind"]) == (False, "unreadable")
    assert f"{newest.name} is damaged: it ends after 40 bytes" in finding["message"]
    shown = desk.run("check", str(place))
    assert (shown.code, "unreadable: the graph cannot be opened" in shown.stdout) == (1, True)
    newest.write_bytes(whole)
    assert desk.run("check", str(place), "--branch", "no such", "--json").code == 1
    assert desk.run("check", str(place), "--quick").code == 0


def test_a_check_changes_nothing(place: Path) -> None:
    def image() -> dict[str, bytes]:
        return {str(file): file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file()}

    before = image()
    assert checked(place).ok
    assert image() == before


def test_the_report_is_json(place: Path) -> None:
    document = json.loads(json.dumps(checked(place).to_json()))
    assert set(document) == {"ok", "quick", "counts", "findings"}
