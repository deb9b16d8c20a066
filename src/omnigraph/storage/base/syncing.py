"""Bringing files of a local graph to the disk, so that a power cut does not take what was acknowledged.

Lance leaves that to the operating system, which may write a name seconds before the bytes behind it. So an acknowledged
commit could be gone after a power cut, and the newest version of a table could be an empty file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache

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

    Files all at once: a file system writes its journal once for those who wait for it together. Then directories: their
    names are in the journal that was just written, so that there is nothing to wait for and no thread is worth it.
    """
    wanted = set(paths)
    directories = {os.path.dirname(path) for path in wanted} & wanted
    files = sorted(wanted - directories)
    if files:
        with translated(files[0]):
            _sync_files(files)
            for path in sorted(directories):
                _sync(path)


def _sync_files(files: list[str]) -> None:
    *others, last = files
    try:
        beside = [_threads().submit(_sync, path) for path in others]
    except RuntimeError:  # no thread can be started while the interpreter ends
        beside = []
        for path in others:
            _sync(path)
    try:
        _sync(last)
    finally:
        wait(beside)
    for done in beside:
        done.result()


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    """Threads that are kept: starting some for every step took a commit 2 ms of processor time."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="omnigraph-sync")


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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process has no thread of its parent
