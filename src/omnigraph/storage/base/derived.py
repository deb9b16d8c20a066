"""Derived arrays kept beside a graph under `__derived`: memory-mapped when read, installed whole or not at all.

Nothing here is authority. A missing, foreign or damaged artefact reads as absent, and a failed write is not an error.
On an object store artefacts are fetched once into a local cache and mapped from there.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.ids import new_ulid
from omnigraph.storage.base.disk_cache import make_room
from omnigraph.storage.base.layout import Root

DERIVED_DIR = "__derived"
_WORTH_SHARING = 1 << 16
Arrays = dict[str, npt.NDArray[Any]]


def load_arrays(root: Root, name: str) -> Arrays | None:
    """The arrays installed under a name, or None."""
    place = _place(root, name) if root.is_local else _remote().fetch(root, f"{DERIVED_DIR}/{name}")
    return None if place is None else _mapped(place)


def save_arrays(root: Root, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Install arrays under a name that names their exact content; False when that was not possible."""
    if root.is_local:
        return _install(_place(root, name), arrays)
    place = _remote().cached(root, f"{DERIVED_DIR}/{name}")
    if not _install(place, arrays):
        return False
    if root.read_only:
        make_room(root, keeping=place)
        return True  # for later processes of this machine
    return bool(_remote().send(root, f"{DERIVED_DIR}/{name}", place))


def names_under(root: Root, prefix: str) -> list[str]:
    """Installed names below a prefix, oldest first."""
    if not root.is_local:
        return [name.removeprefix(f"{DERIVED_DIR}/") for name in _remote().sent(root, f"{DERIVED_DIR}/{prefix}")]
    try:
        found = [entry for entry in os.scandir(_place(root, prefix)) if not entry.name.startswith(".")]
        return [f"{prefix}/{entry.name}" for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns)]
    except OSError:
        return []


def drop_arrays(root: Root, name: str) -> None:
    """Remove what is installed under a name; processes that have it mapped keep reading it."""
    if root.is_local:
        shutil.rmtree(_place(root, name), ignore_errors=True)
    else:
        _remote().drop(root, f"{DERIVED_DIR}/{name}")


def drop_everything(root: Root) -> None:
    """Remove all that is installed beside a graph on a disk; it is made again when it is needed."""
    if root.is_local:
        shutil.rmtree(Path(root.uri, DERIVED_DIR), ignore_errors=True)


def _place(root: Root, name: str) -> Path:
    return Path(root.uri, DERIVED_DIR, *name.split("/"))


def _mapped(place: Path) -> Arrays | None:
    try:
        # As plain arrays over the mapped file: every index into a memmap object runs Python code.
        found = {
            path.stem: np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
            for path in sorted(place.glob("*.npy"))
        }
    except (OSError, ValueError):
        return None
    # One that is gone by now may have been listed in part.
    return found if found and place.is_dir() else None


def _install(place: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    draft = place.with_name(f".{place.name}.{new_ulid()}")
    try:
        draft.mkdir(parents=True)
        for stem, values in arrays.items():
            _write(draft / f"{stem}.npy", values)
            _share(draft / f"{stem}.npy", place)
        # The name appears only once every file in it is complete and on disk.
        draft.rename(place)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        return place.is_dir()
    return True


def _write(path: Path, values: npt.NDArray[Any]) -> None:
    with open(path, "wb") as file:
        np.save(file, values, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def _share(written: Path, place: Path) -> None:
    """Let a file be another name of an equal one beside it: versions between which only an index was built are alike.

    Installed files never change, and one that is removed stays under its other names.
    """
    size = written.stat().st_size
    for other in sorted(place.parent.glob(f"*/{written.name}")):
        if size < _WORTH_SHARING or other.parent in (written.parent, place):
            continue
        try:
            if other.stat().st_size == size and filecmp.cmp(written, other, shallow=False):
                link = written.with_suffix(".link")
                os.link(other, link)
                link.replace(written)
                return
        except OSError:
            continue  # removed meanwhile, or a file system without links


def _remote() -> Any:
    from omnigraph.storage.base import derived_remote  # only graphs on object stores need its client

    return derived_remote
