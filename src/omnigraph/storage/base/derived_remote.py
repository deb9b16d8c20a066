"""Derived files of a graph on an object store: sent as objects, fetched once into the cache of this machine."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from omnigraph.errors import OmnigraphError
from omnigraph.storage.base import disk_cache
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.objects import client_of
from omnigraph.storage.base.objects_remote import RemoteObjects

# Written last: an artefact without it is not there.
_WHOLE = "whole.json"
_ASK_AGAIN_SECONDS = 10.0
_REMEMBERED = 1_024
_THREADS = 8
EachT = TypeVar("EachT")

_asked: dict[Path, float] = {}


def cached(root: Root, name: str) -> Path:
    """Where an artefact lies on this machine once it is here."""
    return disk_cache.place_of(root, name)


def fetch(root: Root, name: str) -> Path | None:
    """The local copy of an artefact, fetched now if need be; None when there is none or it cannot be had."""
    place = cached(root, name)
    try:
        if disk_cache.use(place):
            return place
        return place if _worth_asking(place) and _fetched(root, name, place) else None
    except (OSError, ValueError, OmnigraphError):
        return None


def send(root: Root, name: str, place: Path) -> bool:
    """Put a local artefact beside the graph."""
    try:
        objects = _client(root)
        files = sorted(place.iterdir())
        _side_by_side(lambda file: objects.upload(f"{name}/{file.name}", file), files)
        objects.write(f"{name}/{_WHOLE}", json.dumps({file.name: file.stat().st_size for file in files}))
        disk_cache.make_room(root, keeping=place)
    except (OSError, OmnigraphError):
        return False
    return True


def sent(root: Root, prefix: str) -> list[str]:
    """Complete artefacts below a prefix, oldest first."""
    try:
        found = _client(root).list_infos(prefix)
    except OmnigraphError:
        return []
    whole = sorted((info.modified_at, path) for path, info in found.items() if path.endswith(f"/{_WHOLE}"))
    return [path.removesuffix(f"/{_WHOLE}") for _, path in whole]


def drop(root: Root, name: str) -> None:
    """Remove an artefact, here and beside the graph."""
    try:
        objects = _client(root)
        objects.delete(f"{name}/{_WHOLE}")
        objects.delete_prefix(name)
    except OmnigraphError:
        pass  # the next one who makes room tries again
    disk_cache.drop(cached(root, name))


def _client(root: Root) -> RemoteObjects:
    found = client_of(root)
    assert isinstance(found, RemoteObjects), "artefacts of a graph on a disk lie beside it"
    return found


def _worth_asking(place: Path) -> bool:
    """Not many times a second for something that was not there a moment ago."""
    now = time.monotonic()
    if now - _asked.get(place, -_ASK_AGAIN_SECONDS) < _ASK_AGAIN_SECONDS:
        return False
    if len(_asked) >= _REMEMBERED:
        _asked.clear()
    _asked[place] = now
    return True


def _fetched(root: Root, name: str, place: Path) -> bool:
    objects = _client(root)
    text = objects.read_if_exists(f"{name}/{_WHOLE}")
    if text is None:
        return False
    sizes = json.loads(text)

    def download(draft: Path) -> None:
        draft.mkdir()
        _side_by_side(lambda file: objects.download(f"{name}/{file}", draft / Path(file).name), sizes)
        for file, size in sizes.items():
            if (draft / Path(file).name).stat().st_size != size:
                raise ValueError(f"'{file}' is not whole")

    return disk_cache.install(root, place, download)


def _side_by_side(work: Callable[[EachT], None], items: Iterable[EachT]) -> None:
    """Do the same with every item; each is a round trip or more, so they do not wait for one another."""
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="omnigraph-derived") as pool:
        deque(pool.map(work, items), maxlen=0)  # raises what one of them has raised
