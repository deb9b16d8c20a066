"""Objects outside the graph that its blobs refer to: whether they are there. They are looked for, never opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote, urlsplit

from omnigraph.errors import StorageError
from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.base.objects import Objects, open_objects

_AT_ONCE = 8
# What a store says may hold addresses and keys, so a failure is told by its kind.
_REASONS = {"Configuration": "access to it is denied", "Transient": "its store does not answer"}


def probed(uris: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Each normalized `file://` or `s3://` URI with why its object cannot be referred to, or None when it is there."""
    if not uris:
        return
    buckets = {urlsplit(uri).netloc for uri in uris} - {""}
    stores = {bucket: open_objects(normalize_root(f"s3://{bucket}")) for bucket in buckets}
    pool = ThreadPoolExecutor(_AT_ONCE, "probe")
    try:
        yield from zip(uris, pool.map(lambda uri: _trouble_with(uri, stores), uris), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)


def _trouble_with(uri: str, stores: Mapping[str, Objects]) -> str | None:
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return _file_trouble(unquote(parts.path))
    try:
        found = stores[parts.netloc].stat(unquote(parts.path[1:]))
    except StorageError as error:
        return _REASONS.get(error.kind, "its store cannot say whether it exists")
    return None if found is not None else "there is no such object"


def _file_trouble(path: str) -> str | None:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "there is no such file"
    except OSError as error:
        return f"it cannot be looked at ({error.strerror})"
    return None if stat.S_ISREG(mode) else "it is not a file"
