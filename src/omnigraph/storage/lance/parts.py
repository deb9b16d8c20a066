"""Scratch parts: small datasets that workers write beside a graph's tables, for a table to adopt when all is checked.

A part lives under `__loads/<load>/`, where no table and no other load looks, so whatever a failed, killed or repeated
worker leaves behind is known by its place and goes away with the directory. Adopting a part gives its data files a
second name inside the table (a hard link, or a copy on the server side) and describes them with the table's field ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.errors import Corrupt, StorageError
from omnigraph.storage.base.layout import LOADS_DIR, Root
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.checksums import DATA_DIR, described_again, from_property
from omnigraph.storage.lance.durable import sync_staged
from omnigraph.storage.lance.tables import Landed, TableHandle

_UNASSIGNED = {"row_id_meta": None, "created_at_version_meta": None, "last_updated_at_version_meta": None}


def load_directory(load_id: str) -> str:
    """The root-relative directory of one load."""
    return f"{LOADS_DIR}/{load_id}"


def write_part(root: Root, location: str, rows: pa.Table) -> None:
    """Write rows of a stored schema as a new part."""
    outcome = tables.commit(tables.stage_create(root.table(location), rows.schema, rows))
    if not isinstance(outcome, Landed):
        raise StorageError(f"{root.child(location)}: the part could not be written ({outcome})", kind="Transient")


def open_part(root: Root, location: str) -> TableHandle:
    """The rows of a part."""
    return tables.open_table(root.table(location), 1)


def joined(root: Root, locations: Iterable[str], columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of some parts, in their order."""
    return pa.concat_tables(open_part(root, location).scan(columns) for location in locations)


def adopt(base: TableHandle, locations: Iterable[str], *, renumber: bool = True) -> list[str]:
    """Bring the data files of parts into a table and describe them as fragments of it; repeating it is harmless.

    With `renumber` columns get the field ids they have in the table; a part numbers its own from zero, as a table
    that is about to be overwritten does.
    """
    root, objects = base.address.root, open_objects(base.address.root)
    found: list[str] = []
    copied: list[str] = []
    for location in locations:
        part = open_part(root, location)
        numbers = renumbering(part, base) if renumber else None
        written = part.transaction()
        known = {} if written is None else from_property(written.properties)
        names = [name.removeprefix(f"{location}/") for name in objects.list_tree(f"{location}/{DATA_DIR}")]
        for name in names:
            objects.copy(f"{location}/{name}", f"{base.address.path}/{name}")
        copied += names
        fragments = (fragment.metadata.to_json() for fragment in part.dataset.get_fragments())
        found += [as_fragment(described_again(fragment, known), numbers) for fragment in fragments]
    sync_staged(base.address, copied, ())  # all at once: their names are in one directory
    return found


def discard_load(objects: Objects, load_id: str) -> None:
    """Remove everything a load has left in its directory."""
    objects.delete_prefix(load_directory(load_id))


def as_fragment(fragment: dict[str, Any], numbers: dict[int, int] | None) -> str:
    """A fragment of another dataset as a new one of a table, whose columns have these field ids there."""
    files = fragment["files"]
    if numbers is not None:
        files = [{**file, "fields": [numbers[field] for field in file["fields"]]} for file in files]
    return json.dumps({**fragment, **_UNASSIGNED, "id": 0, "files": files})


def renumbering(part: TableHandle, base: TableHandle) -> dict[int, int]:
    """The field id that each column of one dataset has in another."""
    target = dict(_paths(base.dataset.lance_schema.fields()))
    numbers: dict[int, int] = {}
    for path, field in _paths(part.dataset.lance_schema.fields()):
        if path not in target:
            raise Corrupt(f"{base.address.uri} has no column '{'.'.join(path)}' that the part {part.address.uri} has")
        numbers[field] = target[path]
    return numbers


def _paths(fields: Iterable[Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    for field in fields:
        path = (*above, field.name())
        yield path, field.id()
        yield from _paths(field.children() or (), path)
