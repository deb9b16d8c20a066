"""Bringing files of a local graph to the disk, so that a power cut does not take what was acknowledged.

Lance leaves that to the operating system, which may write a name seconds before the bytes behind it. So an acknowledged
commit could be gone after a power cut, and the newest version of a table could be an empty file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from omnigraph.errors import BadRequest
from omnigraph.storage.base.errors import translated

SYNC = "OMNIGRAPH_SYNC"

_THREADS = 8
_OFF = frozenset({"0", "off", "no", "false"})
_ON = frozenset({"1", "on", "yes", "true"})


def sync_by_default() -> bool:
    """What `OMNIGRAPH_SYNC` says; without it, commits wait for the disk."""
    text = os.environ.get(SYNC, "").strip().lower()
    if text and text not in _ON | _OFF:
        raise BadRequest(f"{SYNC} must be 'on' or 'off', not '{text}'")
    return text not in _OFF


def machine_started_at() -> float:
    """When this machine was started, in seconds since 1970: what a power cut has left is older."""
    since = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()
    return time.time() - since


def sync_paths(paths: Iterable[str]) -> None:
    """Wait until files, and the names in directories, are on the disk; what is not there (any more) is left out.

    All of them at once: a file system writes its journal once for those who wait for it together.
    """
    wanted = sorted(set(paths))
    if not wanted:
        return
    with translated(wanted[0]):
        if len(wanted) == 1:
            _sync(wanted[0])
            return
        try:
            with ThreadPoolExecutor(min(len(wanted), _THREADS), thread_name_prefix="omnigraph-sync") as pool:
                for done in [pool.submit(_sync, path) for path in wanted]:
                    done.result()
        except RuntimeError:  # no thread can be started while the interpreter ends
            for path in wanted:
                _sync(path)


def with_directories(directory: str, names: Iterable[str]) -> set[str]:
    """Files below a directory, and the directories between it and them, itself included."""
    found = {directory}
    for name in names:
        path = f"{directory}/{name}"
        while path != directory and path not in found:
            found.add(path)
            path = os.path.dirname(path)
    return found


def _sync(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
