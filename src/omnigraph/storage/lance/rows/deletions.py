"""Deletion vectors: which rows of a fragment a version no longer shows, read from the small files that lance keeps.

A scan tells the same, but reads as many row addresses as the fragment has rows; these files grow with the deletions.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.storage.lance.handle import TableHandle

_NONE = np.zeros(0, np.int64)
_WITH_RUNS, _WITHOUT_RUNS = 12_347, 12_346
_FEW_CONTAINERS = 4
_ARRAY_CONTAINER = 4_096
_BITMAP_BYTES = 8_192


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


def roaring_values(content: bytes) -> np.ndarray:
    """The numbers in a 32-bit roaring bitmap of the portable format, ascending."""
    cookie = int(np.frombuffer(content, "<u4", 1)[0])
    runs: np.ndarray = np.zeros(0, bool)
    if cookie & 0xFFFF == _WITH_RUNS:
        count, at = (cookie >> 16) + 1, 4
        flags = np.frombuffer(content, np.uint8, (count + 7) // 8, at)
        runs, at = np.unpackbits(flags, bitorder="little")[:count].astype(bool), at + len(flags)
    elif cookie == _WITHOUT_RUNS:
        count, at = int(np.frombuffer(content, "<u4", 1, 4)[0]), 8
        runs = np.zeros(count, bool)
    else:
        raise ValueError(f"not a roaring bitmap: cookie {cookie}")
    heads = np.frombuffer(content, "<u2", 2 * count, at).reshape(count, 2).astype(np.int64)
    at += 4 * count
    if cookie == _WITHOUT_RUNS or count >= _FEW_CONTAINERS:
        at += 4 * count  # where each container starts; they follow one another anyway
    found = []
    for (key, last), is_run in zip(heads.tolist(), runs.tolist(), strict=True):
        values, at = _container(content, at, last + 1, is_run=is_run)
        found.append(values + (key << 16))
    return np.concatenate([_NONE, *found])


def _container(content: bytes, at: int, size: int, *, is_run: bool) -> tuple[np.ndarray, int]:
    if is_run:
        count = int(np.frombuffer(content, "<u2", 1, at)[0])
        pairs = np.frombuffer(content, "<u2", 2 * count, at + 2).reshape(count, 2).astype(np.int64)
        spans = [np.arange(start, start + more + 1) for start, more in pairs.tolist()]
        return np.concatenate([_NONE, *spans]), at + 2 + 4 * count
    if size <= _ARRAY_CONTAINER:
        return np.frombuffer(content, "<u2", size, at).astype(np.int64), at + 2 * size
    bits = np.frombuffer(content, np.uint8, _BITMAP_BYTES, at)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")), at + _BITMAP_BYTES
