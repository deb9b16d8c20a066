"""What belongs to a consistent copy of a live graph: the files behind one captured state of every branch.

Data files, deletion files and version files are written once under names that never come again, and a commit publishes
table versions only after they are complete. So a copy is consistent when the states of the branches are captured first,
the files are listed after that, and version files above what a captured state publishes are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from omnigraph.errors import NotFound, OmnigraphError, StorageError
from omnigraph.storage.base.derived import DERIVED_DIR
from omnigraph.storage.base.layout import (
    INIT_CLAIM,
    LOADS_DIR,
    MANIFEST,
    PRIVATE_PREFIX,
    PROBE_PREFIX,
    RECOVERY_DIR,
    REFS_DIR,
    SCHEMA_LOCK_REF,
)
from omnigraph.storage.base.ref_names import owner_of, ref_of_file
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.lance.refs import ref_names
from omnigraph.storage.lance.transaction_log import TRANSACTIONS_DIR
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import Loaded

CLONE_RECORD = "__clone.json"
_SKIPPED = (f"{RECOVERY_DIR}/", f"{LOADS_DIR}/", f"{DERIVED_DIR}/")
_SKIPPED_NAMES = (INIT_CLAIM, CLONE_RECORD)
_HINT = "latest_version_hint.json"
_VERSIONS = "_versions"
_LAST_VERSION = (1 << 64) - 1
# Files that are replaced under their name; everything else is written once.
_REPLACED = ("_schema.pg", "_schema.ir.json", "__schema_state.json")
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Listing:
    """One consistent state as files: what is copied with its size, small texts to be written as they are, and heads."""

    files: Mapping[str, int]
    texts: Mapping[str, str]
    heads: Mapping[str, str | None]

    @property
    def total(self) -> int:
        """All bytes of the files."""
        return sum(self.files.values())

    def ordered(self) -> Iterator[str]:
        """The files in the order in which they may appear: nothing can be opened before what it refers to is there."""
        return iter(sorted(self.files, key=lambda name: (copy_stage(name), name)))


def capture_listing(store: Store, branches: list[str] | None = None) -> Listing:
    """The files of one consistent state of main and of the given branches, by default all of them."""
    for remaining in reversed(range(_ATTEMPTS)):
        try:
            return _capture(store, branches)
        except _Moved:
            if not remaining:
                raise StorageError(
                    f"{store.root.uri}: the schema kept changing while the graph was being copied; try again later",
                    kind="Transient",
                ) from None
    raise AssertionError


class _Moved(OmnigraphError):
    """The schema files do not belong to the captured state."""


def _capture(store: Store, branches: list[str] | None) -> Listing:
    names = _chosen(store, branches)
    loaded = {name: manifest.load(store.root, None if name == "main" else name) for name in names}
    limits = _limits(loaded)
    refs = set(ref_names(store.root.manifest())) if branches is None else _refs(loaded)
    sizes = store.objects.list_sizes("")
    texts = {name: store.objects.read(name) for name in sizes if name in _REPLACED}
    if manifest.load(store.root, None).state.schema != loaded["main"].state.schema:
        raise _Moved("the schema changed")
    files = {name: size for name, size in sizes.items() if _belongs(name, limits, refs)}
    heads = {name: each.state.effective_head for name, each in loaded.items()}
    return Listing(files, {**texts, **_hints(files)}, heads)


def _chosen(store: Store, branches: list[str] | None) -> list[str]:
    known = list_branches(store)
    unknown = sorted(set(branches or ()) - set(known))
    if unknown:
        raise NotFound(f"there is no branch '{unknown[0]}' in {store.root.uri} (branches: {', '.join(sorted(known))})")
    return sorted({"main", *(known if branches is None else branches)})


def _limits(loaded: Mapping[str, Loaded]) -> dict[str, int]:
    """The greatest version that belongs to the copy, by the directory of the lineage."""
    limits: dict[str, int] = {}
    for each in loaded.values():
        limits[each.handle.address.path] = each.state.version
        for entry in each.state.snapshot:
            place = each.handle.address.root.table(entry.location, entry.ref).path
            limits[place] = max(limits.get(place, 0), entry.version)
    return limits


def _refs(loaded: Mapping[str, Loaded]) -> set[str]:
    """The refs that the captured states are on and point at."""
    found = {each.handle.address.ref for each in loaded.values()}
    found |= {entry.ref for each in loaded.values() for entry in each.state.snapshot}
    return {ref for ref in found if ref is not None}


def _belongs(name: str, limits: Mapping[str, int], refs: set[str]) -> bool:
    base = name.rpartition("/")[2]
    if name.startswith(_SKIPPED) or name in _SKIPPED_NAMES or name in _REPLACED or base.startswith((PROBE_PREFIX, ".")):
        return False
    if f"/{TRANSACTIONS_DIR}/" in name:
        return False  # each version file repeats its own, and writers remove these
    if SCHEMA_LOCK_REF in name or PRIVATE_PREFIX in name or base == _HINT or not _of_refs(name, refs):
        return False
    version = version_of(name)
    if version is None:
        return True
    lineage = name.rpartition(f"/{_VERSIONS}/")[0]
    return version <= limits.get(lineage, _LAST_VERSION)


def _of_refs(name: str, refs: set[str]) -> bool:
    """Whether a file is of main or of one of the refs; what deleted branches have left is of none."""
    _, tree, below = name.partition("/tree/")
    _, listed, file = name.partition(f"/{REFS_DIR}/")
    ref = ref_of_file(below) if tree else file.removesuffix(".json").replace("%2F", "/") if listed else None
    if ref is None:
        return not tree
    return ref in refs or owner_of(ref) in refs


def version_of(name: str) -> int | None:
    """The version of a version file; None for any other file.

    >>> version_of("nodes/af/_versions/18446744073709551612.manifest")
    3
    """
    folder, _, base = name.rpartition("/")
    stem, _, suffix = base.partition(".")
    if not folder.endswith(f"/{_VERSIONS}") or suffix != "manifest" or not stem.isdigit():
        return None
    return _LAST_VERSION - int(stem)


def _hints(files: Mapping[str, int]) -> dict[str, str]:
    """Lance's hint of the newest version, for each lineage as far as it is copied."""
    newest: dict[str, int] = {}
    for name in files:
        version = version_of(name)
        if version is not None:
            folder = name.rpartition("/")[0]
            newest[folder] = max(newest.get(folder, 0), version)
    return {f"{folder}/{_HINT}": f'{{"version":{version}}}' for folder, version in newest.items()}


def copy_stage(name: str) -> tuple[int, int]:
    """Tables first, then refs, then the manifest; of main's manifest the newest version first of all."""
    is_manifest = name.startswith(f"{MANIFEST}/")
    version = version_of(name)
    if version is None:
        return (3 if is_manifest else 0) + ("/_refs/" in name), 0
    if not is_manifest:
        return 2, 0
    in_tree = "/tree/" in name
    # Were the newest one not the first, a copy that breaks off could be opened at an older state.
    return (4, 0) if in_tree else (5, -version)
