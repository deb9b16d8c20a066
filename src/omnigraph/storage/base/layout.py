"""Where things live: graph roots, dataset addresses and the names reserved inside a root."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from omnigraph.errors import BadRequest
from omnigraph.ids import fnv1a64
from omnigraph.memory.budget import NOTHING_KEPT, MemoryBudget, worker_budget
from omnigraph.storage.base.clouds import (
    CLOUDS,
    DEFAULT_RETRY_SECONDS,
    RETRY_OPTION,
    cloud_options,
    cloud_uri,
    environment,
)
from omnigraph.storage.base.syncing import sync_by_default

MANIFEST = "__manifest"
RECOVERY_DIR = "__recovery"
LOADS_DIR = "__loads"
RECOVERY_AUDIT = "_graph_commit_recoveries.lance"
INIT_CLAIM = "__init_claim.json"
PROBE_PREFIX = "__create_if_absent_probe_"
TAGS_DIR = "__tags"
RESERVE = "__reserve"
SCHEMAS_DIR = "__schemas"
CHECKSUMS_DIR = "__checksums"
REFS_DIR = "_refs/branches"  # inside a dataset
SCHEMA_LOCK_REF = "__schema_apply_lock__"
PRIVATE_PREFIX = "__transaction__"  # of the branches of transactions, which no listing shows

_RETRIES = "1000"  # more than fit into the time
# Lance repeats what failed after all retries of its client up to ten times more, and a commit has several such steps:
# measured with a store that goes away in the middle of one, forty times the limit of one request.
_LANCE_SHARE = 5
_TABLE_DIRS = {"node": "nodes", "edge": "edges"}
TABLE_DIRS = frozenset(_TABLE_DIRS.values())
_LOCATION = re.compile(r"(nodes|edges)/[0-9a-f]{16}(-[0-9a-f]{16}(-\d+)?)?")


class Backing(Protocol):
    """What keeps a graph instead of the disk or object store that its URI would name."""

    @property
    def library(self) -> Any:
        """What takes the place of lance (`storage.lance.library.Library`)."""
        ...

    def open_objects(self, root: Root) -> Any:
        """The adapter for small objects (`storage.base.objects.Objects`)."""
        ...


@dataclass(frozen=True, slots=True)
class Root:
    """A normalized graph root; `options` are the storage options of an object store, sorted pairs.

    `memory` is that of the graph opened here; it says nothing about where the graph is, and stays in this process.
    So does `backing`, which keeps the graph in something else than files.
    `cache_bytes` is how much disk of this machine may hold what was read from an object store; a graph that was opened
    `read_only` keeps what it derives only there. `sync` says whether commits wait for the disk (None: as
    the environment says).
    """

    uri: str
    options: tuple[tuple[str, str], ...] = ()
    memory: MemoryBudget = field(default=NOTHING_KEPT, compare=False, repr=False)
    backing: Backing | None = field(default=None, compare=False, repr=False)
    cache_bytes: int | None = field(default=None, compare=False, repr=False)
    read_only: bool = field(default=False, compare=False, repr=False)
    sync: bool | None = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        return _received, (self.uri, self.options, self.cache_bytes, self.sync)

    @property
    def is_local(self) -> bool:
        return "://" not in self.uri

    @property
    def is_remote(self) -> bool:
        """Whether every request of it goes to an object store."""
        return not self.is_local and self.backing is None

    @property
    def syncs(self) -> bool:
        """Whether what is written here has to be brought to a disk: object stores do so by themselves."""
        return self.is_local and self.backing is None and (sync_by_default() if self.sync is None else self.sync)

    @property
    def scheme(self) -> str:
        """Which object store it is on; "" on this machine."""
        return self.uri.partition("://")[0] if not self.is_local else ""

    @property
    def container(self) -> str:
        """The bucket, or on Azure the container."""
        return urlsplit(self.uri).netloc

    @property
    def prefix(self) -> str:
        """The path of the graph inside its bucket; "" when it has all of it."""
        return self.uri.partition("://")[2].partition("/")[2]

    @property
    def storage_options(self) -> dict[str, str] | None:
        """The options in the form that lance and the object store adapter both take."""
        return dict(self.options) or None

    @property
    def lance_options(self) -> dict[str, str] | None:
        """The options with which lance repeats requests that failed: for a time, not a number of times."""
        if self.is_local:
            return None
        options = dict(self.options)
        limit = int(options.pop(RETRY_OPTION, DEFAULT_RETRY_SECONDS))
        return {**options, "client_max_retries": _RETRIES, RETRY_OPTION: str(max(limit // _LANCE_SHARE, 1))}

    @property
    def canonical(self) -> str:
        """One spelling per graph: symlinks resolved locally, object-store URIs as they are."""
        return os.path.realpath(self.uri) if self.is_local else self.uri

    def child(self, name: str) -> str:
        return f"{self.uri}/{name}"

    def table(self, location: str, ref: str | None = None) -> Address:
        return Address(self, location, ref)

    def manifest(self, ref: str | None = None) -> Address:
        return Address(self, MANIFEST, ref)


def _received(
    uri: str, options: tuple[tuple[str, str], ...], cache_bytes: int | None = None, sync: bool | None = None
) -> Root:
    """A root that another process has sent."""
    return Root(uri, options, worker_budget(), cache_bytes=cache_bytes, sync=sync)


@dataclass(frozen=True, slots=True)
class Address:
    """One lineage of one dataset: its root-relative location and its ref (None is the main lineage)."""

    root: Root
    location: str
    ref: str | None = None

    @property
    def path(self) -> str:
        """The root-relative directory of this lineage."""
        return self.location if self.ref is None else f"{self.location}/tree/{self.ref}"

    @property
    def uri(self) -> str:
        return f"{self.root.uri}/{self.path}"

    @property
    def trunk(self) -> Address:
        """The main lineage of the same dataset; refs are listed and created through it."""
        return Address(self.root, self.location)

    def on(self, ref: str | None) -> Address:
        """Another lineage of the same dataset."""
        return Address(self.root, self.location, ref)


def normalize_root(uri: str | os.PathLike[str], *, env: Mapping[str, str] | None = None) -> Root:
    """The root a user meant: a local path, a file:// URL or a URI of an object store; anything else is refused."""
    text = os.fspath(uri).strip()
    if not text:
        raise BadRequest("the graph location is empty")
    if not is_storable(text):
        raise BadRequest("the graph location contains a character that no path can have")
    scheme = urlsplit(text).scheme.lower() if "://" in text else ""
    match scheme:
        case "" | "file":
            path = _local_path(text) if scheme else text
            return Root(os.path.abspath(Path(path).expanduser() if path.startswith("~") else path))
        case store if store in CLOUDS:
            return Root(cloud_uri(store, text), cloud_options(store, environment() if env is None else env))
        case "http" | "https":
            raise BadRequest(f"'{text}' is a server address, not a graph location; use a path, s3://, az:// or gs://")
        case _:
            raise BadRequest(
                f"'{text}': unsupported storage scheme '{scheme}' (use a path, file://, s3://, az:// or gs://)"
            )


def is_storable(text: str) -> bool:
    """Whether text can be a path or a stored string: no NUL, no half of a surrogate pair."""
    if "\0" in text:
        return False
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def table_location(table_key: str, *, taken: Mapping[str, str] | None = None, incarnation: int = 1) -> str:
    """The directory for a new registration; `taken` maps the locations of live tables to their keys.

    >>> table_location("node:Person")
    'nodes/40d76f1f51639ec0'
    """
    kind, name = split_key(table_key)
    location = f"{_TABLE_DIRS[kind]}/{fnv1a64(name):016x}"
    if (taken or {}).get(location, table_key) != table_key:
        return f"{location}-{incarnation:016x}"
    return location


def is_table_location(location: str) -> bool:
    """Whether a root-relative path is one that `table_location` gives.

    >>> is_table_location("nodes/40d76f1f51639ec0"), is_table_location("__manifest")
    (True, False)
    """
    return _LOCATION.fullmatch(location) is not None


def split_key(table_key: str) -> tuple[str, str]:
    """('node' or 'edge', type name) of a table key."""
    kind, separator, name = table_key.partition(":")
    if kind not in _TABLE_DIRS or not separator or not name:
        raise BadRequest(f"'{table_key}' is not a table key; expected node:<Type> or edge:<Type>")
    return kind, name


def normalize_branch(name: str | None) -> str | None:
    """None for main, the trimmed name otherwise; an empty name is an error."""
    if name is None:
        return None
    trimmed = name.strip()
    if not trimmed:
        raise BadRequest("the branch name is empty")
    return None if trimmed == "main" else trimmed


def is_public(ref: str) -> bool:
    """Whether a ref of the manifest is a public branch: neither a lock nor a transaction's."""
    return ref != SCHEMA_LOCK_REF and not ref.startswith(PRIVATE_PREFIX)


def ref_file(ref: str) -> str:
    """The dataset-relative path of the object that makes a ref exist.

    >>> ref_file("review/x")
    '_refs/branches/review%2Fx.json'
    """
    return f"{REFS_DIR}/{ref.replace('/', '%2F')}.json"


def _local_path(url: str) -> str:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise BadRequest(f"'{url}': a file:// URL must not name a host")
    return unquote(parts.path)
