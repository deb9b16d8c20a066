"""The columns of table versions: what the schema of their commit says they are."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.values.arrow import PROPERTY_ID, stored_schema, table_types
from omnigraph.storage.manifest.snapshot import Snapshot, TableEntry, TableIdentity

_PROPERTY_ID = PROPERTY_ID.encode()


def expected_columns(snapshot: Snapshot, catalog: Catalog) -> dict[str, pa.Schema]:
    """The stored schema of each table that a snapshot shows, by its key there."""
    types = {TableIdentity(info.type_id, info.incarnation_id): info for info in table_types(catalog).values()}
    return {entry.table_key: stored_schema(types[entry.identity]) for entry in snapshot if entry.identity in types}


def untyped_tables(snapshot: Snapshot, expected: dict[str, pa.Schema]) -> list[TableEntry]:
    """The tables of a snapshot that its schema knows nothing of."""
    return [entry for entry in snapshot if entry.table_key not in expected]


def wrong_columns(found: pa.Schema, expected: pa.Schema) -> str | None:
    """How the columns of a table differ from what they have to be in names, types, nulls or identities."""
    if found.names != expected.names:
        return f"the columns are {', '.join(found.names)} instead of {', '.join(expected.names)}"
    for one, other in zip(found, expected, strict=True):
        if _described(one) != _described(other):
            return f"column '{one.name}' is {_text(one)} instead of {_text(other)}"
    return None


def _described(field: pa.Field) -> tuple[pa.DataType, bool, bytes | None]:
    return field.type, field.nullable, (field.metadata or {}).get(_PROPERTY_ID)


def _text(field: pa.Field) -> str:
    kind, nullable, identity = _described(field)
    known = "" if identity is None else f" (property {identity.decode(errors='replace')})"
    return f"{kind}{'?' if nullable else ''}{known}"
