"""The column that every dataset of a graph has: its key."""

from __future__ import annotations

import pyarrow as pa

PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}


def key_field(name: str = "id") -> pa.Field:
    """The primary-key column; lance can be told about it only when the dataset is created or overwritten."""
    return pa.field(name, pa.utf8(), nullable=False, metadata=PRIMARY_KEY)
