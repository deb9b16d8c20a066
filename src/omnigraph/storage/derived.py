"""Derived arrays kept beside a graph under `__derived`: memory-mapped when read, installed whole or not at all.

Nothing here is authority. A missing, foreign or damaged artefact reads as absent, and a failed write is no error.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.ids import new_ulid
from omnigraph.storage.layout import Root

DERIVED_DIR = "__derived"
Arrays = dict[str, npt.NDArray[Any]]


def load_arrays(root: Root, name: str) -> Arrays | None:
    """The arrays installed under a name, or None."""
    if not root.is_local:
        return None
    place = _place(root, name)
    try:
        found = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(place.glob("*.npy"))}
    except (OSError, ValueError):
        return None
    return found or None


def save_arrays(root: Root, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Install arrays under a name that names their exact content; False when that was not possible."""
    if not root.is_local:
        return False
    place = _place(root, name)
    draft = place.with_name(f".{place.name}.{new_ulid()}")
    try:
        draft.mkdir(parents=True)
        for stem, values in arrays.items():
            _write(draft / f"{stem}.npy", values)
        # The name appears only once every file in it is complete and on disk.
        draft.rename(place)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        return place.is_dir()
    return True


def names_under(root: Root, prefix: str) -> list[str]:
    """Installed names below a prefix, oldest first."""
    if not root.is_local:
        return []
    try:
        found = [entry for entry in os.scandir(_place(root, prefix)) if not entry.name.startswith(".")]
        return [f"{prefix}/{entry.name}" for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns)]
    except OSError:
        return []


def drop_arrays(root: Root, name: str) -> None:
    """Remove what is installed under a name; whoever has it mapped keeps reading it."""
    if root.is_local:
        shutil.rmtree(_place(root, name), ignore_errors=True)


def _place(root: Root, name: str) -> Path:
    return Path(root.uri, DERIVED_DIR, *name.split("/"))


def _write(path: Path, values: npt.NDArray[Any]) -> None:
    with open(path, "wb") as file:
        np.save(file, values, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
