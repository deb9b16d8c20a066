"""Finding the newest version without listing, and never believing a hint that says too little."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from omnigraph.errors import StorageError
from omnigraph.storage.base.layout import Address, normalize_root
from omnigraph.storage.base.objects import open_objects
from omnigraph.storage.base.store import store_for
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.version_files import newest_local_version, version_evidence
from omnigraph.testing.graphs import row_steps
from omnigraph.testing.graphs.storage_graph import NODE_SCHEMA, people


@pytest.fixture
def address(tmp_path: Path) -> Address:
    """A dataset with versions 1 to 8."""
    created = store_for(tmp_path).root.table("nodes/x")
    tables.commit(tables.stage_create(created, NODE_SCHEMA))
    for number in range(7):
        tables.commit(row_steps.stage_upsert(tables.open_table(created), people(**{f"p{number}": number})))
    created.root.memory.clear()
    return created


def hint(address: Address, text: str, *, late: bool = False) -> None:
    """A hint that was put in its place at once, or long after every version."""
    file = Path(address.uri, "_versions/latest_version_hint.json")
    file.write_text(text)
    for version in file.parent.glob("*.manifest"):
        os.utime(version, (0, 0) if late else (2**32, 2**32))


def remove(address: Address, *versions: int) -> None:
    for version in versions:
        Path(address.uri, f"_versions/{(1 << 64) - 1 - version:020d}.manifest").unlink()


@pytest.mark.parametrize("start", range(1, 9))
def test_any_older_hint_leads_to_the_newest_version(address: Address, start: int) -> None:
    hint(address, json.dumps({"version": start}))
    assert newest_local_version(address) == 8


@pytest.mark.parametrize("text", ["", "{}", "null", '{"version": "x"}', '{"version": 99}', '{"version": 0}'])
def test_a_useless_hint_is_ignored_and_opening_still_works(address: Address, text: str) -> None:
    hint(address, text)
    assert newest_local_version(address) is None
    assert tables.open_table(address).version == 8


def test_a_hint_below_what_this_process_has_seen_is_not_believed(address: Address) -> None:
    assert newest_local_version(address) == 8
    remove(address, 6, 7)  # a cleanup that keeps version 5, and a delayed writer that puts an old hint back
    hint(address, '{"version": 5}')
    assert newest_local_version(address) is None
    assert tables.open_table(address).version == 8


def test_a_hint_that_came_late_is_not_believed_by_a_new_process(address: Address) -> None:
    remove(address, 6, 7)
    hint(address, '{"version": 5}', late=True)
    assert newest_local_version(address) is None
    assert tables.open_table(address).version == 8


def test_a_hint_that_says_less_than_is_known_to_be_published_is_not_believed(address: Address) -> None:
    remove(address, 6, 7)
    hint(address, '{"version": 5}')
    assert tables.open_table(address).version == 5
    address.root.memory.clear()
    assert tables.open_table(address, at_least=8).version == 8


def test_a_missing_dataset_has_no_newest_version(tmp_path: Path) -> None:
    assert newest_local_version(normalize_root(tmp_path).table("none")) is None


def test_evidence_names_the_version_file(address: Address) -> None:
    evidence = version_evidence(open_objects(address.root), address, 3)
    assert evidence.manifest_path == f"{address.path}/_versions/18446744073709551612.manifest"
    assert evidence.manifest_size == Path(address.root.uri, evidence.manifest_path).stat().st_size
    assert (evidence.e_tag, evidence.naming_scheme) == (None, "V2")
    with pytest.raises(StorageError, match="version 42 has no version file"):
        version_evidence(open_objects(address.root), address, 42)


def test_evidence_recognises_the_old_naming_scheme(address: Address) -> None:
    folder = Path(address.uri, "_versions")
    (folder / "18446744073709551612.manifest").rename(folder / "3.manifest")
    evidence = version_evidence(open_objects(address.root), address, 3)
    assert (evidence.naming_scheme, Path(evidence.manifest_path).name) == ("V1", "3.manifest")
