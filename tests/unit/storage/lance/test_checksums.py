"""Checksums of table files: taken where a file is written, carried along, kept in the transaction that adds it."""

from __future__ import annotations

import zlib
from pathlib import Path

import pyarrow as pa
from lance import blob_array

from omnigraph.storage.base.store import Store, store_for
from omnigraph.storage.lance import parts, tables
from omnigraph.storage.lance.checksums import Checksum, checksum_of, from_property
from omnigraph.storage.lance.columns import blob_field, key_field
from omnigraph.storage.lance.compact import mark
from omnigraph.storage.lance.parts import load_directory
from omnigraph.storage.lance.tables import Landed, TableHandle
from omnigraph.storage.maintenance.checksum_ledger import known_checksums, remove_versions
from omnigraph.testing.graphs import row_steps

SCHEMA = pa.schema([key_field("id"), blob_field("data"), pa.field("n", pa.int64())])


def rows(*ids: str) -> pa.Table:
    blobs = blob_array([b"x" * 70_000] * len(ids))
    return pa.Table.from_arrays([pa.array(ids), blobs, pa.array(range(len(ids)))], schema=SCHEMA)


def landed(staged: tables.Staged) -> TableHandle:
    outcome = tables.commit(staged)
    assert isinstance(outcome, Landed)
    return outcome.handle


def kept_by(table: TableHandle) -> dict[str, Checksum]:
    made = table.transaction()
    assert made is not None
    return from_property(made.properties)


def stored(table: TableHandle) -> set[str]:
    """Every file of data and deletions that lies in the directory of a table."""
    home = Path(table.address.uri)
    found = (file for part in ("data", "_deletions") for file in (home / part).rglob("*") if file.is_file())
    return {str(file.relative_to(home)) for file in found}


def a_table(tmp_path: Path) -> tuple[Store, TableHandle]:
    store = store_for(str(tmp_path))
    return store, landed(tables.stage_create(store.root.table("nodes/a"), SCHEMA, rows("a", "b")))


def test_a_checksum_is_the_size_and_the_crc_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "x"
    content = bytes(range(256)) * 9_000
    file.write_bytes(content)
    assert checksum_of(str(file)) == Checksum(len(content), zlib.crc32(content))


def test_every_way_to_write_rows_keeps_checksums(tmp_path: Path) -> None:
    store, table = a_table(tmp_path)
    assert set(kept_by(table)) == stored(table)
    known = kept_by(table)
    for staged in (
        lambda base: row_steps.stage_insert(base, rows("c")),
        lambda base: row_steps.stage_update(base, rows("a")),
        lambda base: row_steps.stage_delete(base, ["c"]),
        lambda base: tables.stage_append(base, tables.write_fragments(base, rows("d"), SCHEMA)),
        lambda base: tables.stage_overwrite(base, SCHEMA, rows("e", "f")),
        lambda base: tables.stage_overwrite(base, SCHEMA, fragments=tables.write_fragments(base, rows("g"), SCHEMA)),
    ):
        table = landed(staged(table))
        known |= kept_by(table)
        assert set(known) == stored(table)
    assert known_checksums(store.objects, table) == known
    for name, expected in known.items():
        assert checksum_of(f"{table.address.uri}/{name}") == expected


def test_adopted_parts_bring_the_checksums_that_their_worker_took(tmp_path: Path) -> None:
    store, table = a_table(tmp_path)
    location = f"{load_directory('l')}/p"
    parts.write_part(store.root, location, rows("x", "y"))
    taken = kept_by(parts.open_part(store.root, location))
    table = landed(tables.stage_append(table, parts.adopt(table, [location])))
    assert kept_by(table) == taken
    assert len(taken) == 2  # the rows, and the blobs beside them


def test_a_compaction_keeps_the_checksums_of_what_it_made(tmp_path: Path) -> None:
    store, table = a_table(tmp_path)
    table = landed(row_steps.stage_insert(table, rows("c")))
    known = known_checksums(store.objects, table)
    compacted = mark(tables.compact(table), since=table)
    assert set(known | kept_by(compacted)) == stored(compacted)
    assert kept_by(compacted)


def test_checksums_outlive_the_versions_that_brought_their_files(tmp_path: Path) -> None:
    store, table = a_table(tmp_path)
    table = landed(row_steps.stage_insert(table, rows("c")))
    table = landed(row_steps.stage_insert(table, rows("d")))
    known = known_checksums(store.objects, table)
    remove_versions(store, table, [1, 2])
    newest = tables.open_table(table.address, control=True)
    assert known_checksums(store.objects, newest) == known
    table = landed(tables.stage_overwrite(newest, SCHEMA, rows("z")))
    remove_versions(store, table, [3])
    table = landed(tables.stage_overwrite(table, SCHEMA, rows("y")))
    remove_versions(store, table, [4])
    assert set(known_checksums(store.objects, table)) & set(known) == set()  # files that are gone are forgotten


def test_what_cannot_be_understood_counts_as_absent() -> None:
    for text in ("", "[]", "{", '{"a":1}', '{"a":["x","y"]}', '{"a":[1]}'):
        assert from_property({"omnigraph.checksums": text}) == {}
    assert from_property({}) == {}
