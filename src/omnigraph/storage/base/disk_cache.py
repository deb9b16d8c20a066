"""What was read from an object store and never changes, kept in a bounded directory of this machine.

`OMNIGRAPH_CACHE_DIR` says where (by default `~/.cache/omnigraph`), `Settings.cache` or `OMNIGRAPH_CACHE_BYTES` how
much may lie there. Every process of the machine uses the same directory. A name stands for one content for ever, so
nothing here can be out of date: an entry is there, whole, or it is not. What was used longest ago goes first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from omnigraph.ids import new_ulid
from omnigraph.memory.sizes import parse_bytes
from omnigraph.storage.base.layout import Root

CACHE_DIR = "OMNIGRAPH_CACHE_DIR"
CACHE_BYTES = "OMNIGRAPH_CACHE_BYTES"
_DEFAULT_BYTES = 16 << 30
_COLUMN = ".arrow"
# Looking through the directory takes time, so a process does it once it has added this share of what is allowed.
_LOOK_SHARE = 16
# Unfinished entries of processes that died.
_ABANDONED_SECONDS = 3_600.0

_lock = threading.Lock()
_added: dict[Path, int] = {}


def place_of(root: Root, name: str) -> Path:
    """Where an entry of a graph lies on this machine once it is here."""
    graph = hashlib.sha256(root.canonical.encode()).hexdigest()[:24]
    return cache_dir().joinpath(graph, *name.split("/"))


def is_enabled(root: Root) -> bool:
    """Whether anything of this graph is kept here."""
    return root.is_remote and allowed_bytes(root) > 0


def install(root: Root, place: Path, fill: Callable[[Path], None]) -> bool:
    """Make an entry appear whole: `fill` makes it under another name; False when that was not possible."""
    draft = place.with_name(f".{place.name}.{new_ulid()}")
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        fill(draft)
        draft.rename(place)
    except (OSError, ValueError):
        return place.exists()  # another process was faster
    finally:
        _remove(draft)
    make_room(root, keeping=place)
    return True


def use(place: Path) -> bool:
    """Whether an entry is here; what was used last goes last."""
    try:
        os.utime(place)
    except OSError:
        return False
    return True


def drop(place: Path) -> None:
    """Remove an entry at once, also for a process that is reading its directory; what is mapped stays readable."""
    gone = place.with_name(f".{place.name}.{new_ulid()}")
    with suppress(OSError):
        place.rename(gone)
        _remove(gone)


def keep_column(root: Root, name: str, values: pa.Array, about: dict[str, str] | None = None) -> None:
    """Keep values, possibly none, with their type and some facts about them; a failure is not an error."""
    field = pa.field("values", values.type)
    schema = pa.schema([field], metadata=about)

    def write(draft: Path) -> None:
        with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            writer.write_batch(pa.record_batch([values], schema=schema))

    if is_enabled(root):
        install(root, place_of(root, name + _COLUMN), write)


def kept_column(root: Root, name: str) -> tuple[pa.Array, dict[str, str]] | None:
    """Values that were kept, mapped, and the facts about them; None when they are not here or are damaged."""
    place = place_of(root, name + _COLUMN)
    if not is_enabled(root) or not use(place):
        return None
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(place)))
        values = reader.get_batch(0).column(0)
        values.validate()
    except (OSError, pa.ArrowException, ValueError):
        drop(place)
        return None
    about = reader.schema.metadata or {}
    return values, {key.decode(): value.decode() for key, value in about.items()}


def make_room(root: Root, *, keeping: Path) -> None:
    """Remove the entries that were used longest ago until the rest fits; looks only every so often."""
    allowed, base = allowed_bytes(root), cache_dir()
    with _lock, suppress(OSError):
        added = _added.get(base)
        _added[base] = grown = _size(keeping) + (0 if added is None else added)
        if added is not None and grown < allowed // _LOOK_SHARE:
            return
        _added[base] = 0
    held = sorted(_entries(base))
    total = sum(size for _, _, size in held)
    for _, place, size in held:
        if total <= allowed:
            return
        if place != keeping:
            drop(place)
            total -= size


def cache_dir() -> Path:
    """The directory of all entries."""
    given = os.environ.get(CACHE_DIR, "").strip()
    return (Path(given) if given else Path.home() / ".cache" / "omnigraph") / "derived"


def allowed_bytes(root: Root) -> int:
    """How much may lie there: as the graph was opened with, else as the environment says; 0 keeps nothing."""
    if root.cache_bytes is not None:
        return root.cache_bytes
    text = os.environ.get(CACHE_BYTES, "").strip()
    return parse_bytes(text, name=CACHE_BYTES) if text else _DEFAULT_BYTES


def _entries(base: Path) -> Iterator[tuple[int, Path, int]]:
    """When each entry was used last, its place and its size: a directory of arrays, or a file with a column."""
    long_ago = time.time() - _ABANDONED_SECONDS
    for directory, folders, files in os.walk(base):
        here = Path(directory)
        for name in [name for name in [*folders, *files] if name.startswith(".")]:
            with suppress(OSError):
                if (here / name).stat().st_mtime < long_ago:
                    _remove(here / name)
        folders[:] = [name for name in folders if not name.startswith(".")]
        whole = [here] if any(name.endswith(".npy") for name in files) else []
        columns = [here / name for name in files if name.endswith(_COLUMN) and not name.startswith(".")]
        for place in [*whole, *columns]:
            with suppress(OSError):  # another process has removed it
                yield place.stat().st_mtime_ns, place, _size(place)


def _size(place: Path) -> int:
    return sum(file.stat().st_size for file in place.iterdir()) if place.is_dir() else place.stat().st_size


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
