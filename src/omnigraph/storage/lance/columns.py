"""Columns that Lance treats specially: the primary key, and blobs, whose values are kept apart from the rows."""

from __future__ import annotations

from collections.abc import Mapping

import lance
import pyarrow as pa

PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}


def key_field(name: str = "id") -> pa.Field:
    """The primary-key column; lance can be told about it only when the dataset is created or overwritten."""
    return pa.field(name, pa.utf8(), nullable=False, metadata=PRIMARY_KEY)


def blob_field(name: str, *, nullable: bool = True, metadata: Mapping[str, str] | None = None) -> pa.Field:
    """A blob column."""
    created = lance.blob_field(name, nullable=nullable)
    merged = {**(created.metadata or {}), **{k.encode(): v.encode() for k, v in (metadata or {}).items()}}
    return created.with_metadata(merged) if merged else created
