"""Derived files of a graph on an object store: sent as objects, fetched once into a bounded directory of this machine.

`OMNIGRAPH_CACHE_DIR` says where (by default `~/.cache/omnigraph`), `OMNIGRAPH_CACHE_BYTES` how much may lie there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.ids import new_ulid
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.objects_remote import RemoteObjects

CACHE_DIR = "OMNIGRAPH_CACHE_DIR"
CACHE_BYTES = "OMNIGRAPH_CACHE_BYTES"
_DEFAULT_BYTES = 16 << 30
# Written last: an artefact without it is not there.
_WHOLE = "whole.json"
_ASK_AGAIN_SECONDS = 10.0
_REMEMBERED = 1_024

_asked: dict[Path, float] = {}


def cached(root: Root, name: str) -> Path:
    """Where an artefact lies on this machine once it is here."""
    graph = hashlib.sha256(root.canonical.encode()).hexdigest()[:24]
    return _cache_dir().joinpath(graph, *name.split("/"))


def fetch(root: Root, name: str) -> Path | None:
    """The local copy of an artefact, fetched now if need be; None when there is none or it cannot be had."""
    place = cached(root, name)
    try:
        if not place.is_dir() and not (_worth_asking(place) and _fetched(RemoteObjects(root), name, place)):
            return None
        os.utime(place)  # what was used last goes last
    except (OSError, ValueError, OmnigraphError):
        return None
    return place


def send(root: Root, name: str, place: Path) -> bool:
    """Put a local artefact beside the graph."""
    try:
        objects = RemoteObjects(root)
        files = sorted(place.iterdir())
        for file in files:
            objects.upload(f"{name}/{file.name}", file)
        objects.write(f"{name}/{_WHOLE}", json.dumps({file.name: file.stat().st_size for file in files}))
        _make_room(keeping=place)
    except (OSError, OmnigraphError):
        return False
    return True


def sent(root: Root, prefix: str) -> list[str]:
    """Complete artefacts below a prefix, oldest first."""
    try:
        found = RemoteObjects(root).list_dated(prefix)
    except OmnigraphError:
        return []
    whole = sorted((when, path) for path, when in found if path.endswith(f"/{_WHOLE}"))
    return [path.removesuffix(f"/{_WHOLE}") for _, path in whole]


def drop(root: Root, name: str) -> None:
    """Remove an artefact, here and beside the graph."""
    try:
        objects = RemoteObjects(root)
        objects.delete(f"{name}/{_WHOLE}")
        objects.delete_prefix(name)
    except OmnigraphError:
        pass  # the next one who makes room tries again
    shutil.rmtree(cached(root, name), ignore_errors=True)


def _worth_asking(place: Path) -> bool:
    """Not many times a second for something that was not there a moment ago."""
    now = time.monotonic()
    if now - _asked.get(place, -_ASK_AGAIN_SECONDS) < _ASK_AGAIN_SECONDS:
        return False
    if len(_asked) >= _REMEMBERED:
        _asked.clear()
    _asked[place] = now
    return True


def _fetched(objects: RemoteObjects, name: str, place: Path) -> bool:
    text = objects.read_if_exists(f"{name}/{_WHOLE}")
    if text is None:
        return False
    sizes = json.loads(text)
    draft = place.with_name(f".{place.name}.{new_ulid()}")
    try:
        draft.mkdir(parents=True)
        for file, size in sizes.items():
            objects.download(f"{name}/{file}", draft / Path(file).name)
            if (draft / Path(file).name).stat().st_size != size:
                return False
        draft.rename(place)
    except OSError:
        return place.is_dir()  # another process was faster
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    _make_room(keeping=place)
    return True


def _make_room(*, keeping: Path) -> None:
    """Remove the artefacts that were used longest ago until the rest fits."""
    allowed = _cache_bytes()
    held = sorted((place.stat().st_mtime_ns, place, _size(place)) for place in _artefacts())
    total = sum(size for _, _, size in held)
    for _, place, size in held:
        if total <= allowed:
            return
        if place != keeping:
            shutil.rmtree(place, ignore_errors=True)
            total -= size


def _artefacts() -> Iterator[Path]:
    return (path.parent for path in _cache_dir().rglob("origin.npy") if not path.parent.name.startswith("."))


def _size(place: Path) -> int:
    return sum(file.stat().st_size for file in place.iterdir())


def _cache_dir() -> Path:
    given = os.environ.get(CACHE_DIR, "").strip()
    return (Path(given) if given else Path.home() / ".cache" / "omnigraph") / "derived"


def _cache_bytes() -> int:
    text = os.environ.get(CACHE_BYTES, "").strip()
    if text and not text.isdecimal():
        raise BadRequest(f"{CACHE_BYTES} must be a whole number, not '{text}'")
    return int(text) if text else _DEFAULT_BYTES
