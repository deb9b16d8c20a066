"""Deletion vectors: which rows of a fragment a version no longer shows, read from the small files that lance keeps.

A scan tells the same, but reads as many row addresses as the fragment has rows; these files grow with the deletions.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.rows.roaring import roaring_values

_NONE = np.zeros(0, np.int64)


def deleted_offsets(table: TableHandle, fragment: Any) -> np.ndarray | None:
    """The places of deleted rows in a fragment, ascending; None where only a scan can tell (an object store)."""
    if not fragment.num_deletions:
        return _NONE
    if not table.address.root.is_local:
        return None  # a scan of addresses needs no data file either, and round trips decide there
    try:
        return _read(os.path.join(_home(table, fragment), fragment.deletion_file()))
    except (OSError, KeyError, ValueError, pa.ArrowException):
        return None


def _home(table: TableHandle, fragment: Any) -> str:
    """The directory of the lineage that wrote the file: a fork shows its parent's until it deletes rows itself."""
    owner = fragment.metadata.to_json()["deletion_file"]["base_id"]
    return table.address.uri if owner is None else str(table.dataset._ds.base_paths()[owner].path)


def _read(path: str) -> np.ndarray:
    with open(path, "rb") as file:
        content = file.read()
    if path.endswith(".arrow"):
        rows = pa.ipc.open_file(content).read_all()
        return np.sort(rows.column(0).to_numpy().astype(np.int64))
    return roaring_values(content)
