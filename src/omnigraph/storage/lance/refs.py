"""Refs of one dataset: lance branches as values, their creation and their removal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.errors import Corrupt, StorageError
from omnigraph.storage.base.errors import translated
from omnigraph.storage.base.layout import REFS_DIR, Address, ref_file
from omnigraph.storage.base.objects import client_of
from omnigraph.storage.lance.durable import sync_ref
from omnigraph.storage.lance.handle import TableHandle

_LIST_ATTEMPTS = 3

Identifier = tuple[tuple[int, str], ...]
"""Lance's branch identifier; () is main. It differs between a ref and its re-created namesake."""


@dataclass(frozen=True, slots=True)
class Ref:
    """One live ref of a dataset and where it was forked from."""

    name: str
    parent: str | None
    parent_version: int
    identifier: Identifier
    created_at: int


def list_refs(trunk: TableHandle) -> dict[str, Ref]:
    """Every ref of the dataset, read fresh; a ref that vanishes under the listing is retried a few times."""
    for attempt in range(_LIST_ATTEMPTS):
        try:
            with translated(f"{trunk.address.uri}: refs"):
                return {name: _ref(name, raw) for name, raw in trunk.dataset.branches.list().items()}
        except StorageError as error:
            if error.kind == "Unknown" and trunk.address.root.is_local:
                place = f"{trunk.address.location}/{REFS_DIR}"
                raise Corrupt(f"{error.message}; a file in {place} is damaged, restore it from a backup") from error
            if error.kind != "NotFound" or attempt == _LIST_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def ref_names(trunk: Address) -> list[str]:
    """The names of all refs of a dataset, by one listing and without reading any of them."""
    names = client_of(trunk.root).list_dir(f"{trunk.location}/{REFS_DIR}")
    return [name.removesuffix(".json").replace("%2F", "/") for name in names if name.endswith(".json")]


def read_ref(trunk: Address, name: str) -> Ref | None:
    """One live ref of a dataset, read fresh from its own file; listing would read the file of every ref."""
    text = client_of(trunk.root).read_if_exists(f"{trunk.location}/{ref_file(name)}")
    if text is None:
        return None
    try:
        raw = json.loads(text)
        described = {
            "parent_branch": raw["parentBranch"],
            "parent_version": raw["parentVersion"],
            "branch_identifier": raw["identifier"]["version_mapping"],
            "create_at": raw["createAt"],
        }
        return _ref(name, described)
    except (ValueError, KeyError, TypeError) as error:
        file = f"{trunk.location}/{ref_file(name)}"
        raise Corrupt(f"{trunk.uri}: the file of ref '{name}' is unreadable; restore {file} from a backup") from error


class LazyRefs(Mapping[str, Ref]):
    """The refs of a dataset, each read when it is asked for: a line of ancestors needs few of many."""

    def __init__(self, trunk: Address) -> None:
        self._trunk = trunk
        self._read: dict[str, Ref | None] = {}

    def __getitem__(self, name: str) -> Ref:
        if name not in self._read:
            self._read[name] = read_ref(self._trunk, name)
        found = self._read[name]
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name, found in self._read.items() if found is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def create_ref(trunk: TableHandle, name: str, *, source: str | None, version: int) -> None:
    """Fork a ref from an exact version; any failure is a StorageError whose outcome the caller re-reads."""
    with translated(f"{trunk.address.uri}: create ref '{name}'"):
        trunk.dataset.create_branch(name, (source, version))
    sync_ref(trunk.address, name)


def delete_ref(trunk: TableHandle, name: str) -> None:
    """Delete a ref and its tree; the caller proves that nothing depends on it."""
    with translated(f"{trunk.address.uri}: delete ref '{name}'"):
        trunk.dataset.branches.delete(name)


def _ref(name: str, raw: dict[str, Any]) -> Ref:
    return Ref(
        name=name,
        parent=raw.get("parent_branch"),
        parent_version=int(raw["parent_version"]),
        identifier=tuple((int(version), str(uuid)) for version, uuid in raw["branch_identifier"]),
        created_at=int(raw.get("create_at") or 0),
    )
