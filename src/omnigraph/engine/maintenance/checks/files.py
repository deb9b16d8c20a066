"""The files of every table version: present, of the noted size, and of the checksum they were written with."""

from __future__ import annotations

from typing import Any

from omnigraph.engine.maintenance.checks.columns import wrong_columns
from omnigraph.engine.maintenance.checks.history import History, Pinned, pin_of
from omnigraph.engine.maintenance.checks.report import Checking
from omnigraph.engine.views.core import Core
from omnigraph.errors import HistoricalVersionReclaimed, StorageError
from omnigraph.storage.base.errors import is_missing
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.checksums import Checksum, checksum_of
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.version_contents import (
    TableFile,
    index_directories,
    is_empty,
    size_of,
    version_contents,
)
from omnigraph.storage.lance.version_files import version_evidence
from omnigraph.storage.maintenance.checksum_ledger import known_checksums
from omnigraph.storage.maintenance.missing import explain_missing


def check_files(core: Core, checking: Checking, history: History, *, quick: bool) -> None:
    """Look at every version that exists; with `quick` only at those of heads and tags, and at no file's content."""
    pins = [pinned for pinned in history.pins.values() if pinned.required or not quick]
    checking.expect(len(pins))
    files: dict[TableFile, Pinned] = {}
    for pinned in pins:
        _version(core, checking, history, pinned, files)
        checking.done()
    if not quick:
        _content(core.store, checking, files)


def _version(core: Core, checking: Checking, history: History, pinned: Pinned, files: dict[TableFile, Pinned]) -> None:
    entry = pinned.entry
    if not pinned.required and not history.exists(core, entry):
        return  # reclaimed, as cleanup may, or reported with its commit
    where: dict[str, Any] = {"type_key": entry.table_key, "branch": pinned.branch, "version": entry.version}
    with checking.looking("version", **where):
        checking.damaged.add(pin_of(entry))  # until proven otherwise
        if _changed(core, checking, pinned):
            return
        table = tables.open_table(
            entry.address(core.store.root),
            entry.version,
            control=True,
            missing=lambda error: explain_missing(core.store, entry, error),
        )
        wrong = next((text for each in pinned.columns if (text := wrong_columns(table.schema, each))), None)
        if wrong is not None:
            message = f"{wrong}; restore the version file from a backup"
            checking.found("columns", message, file=entry.evidence.manifest_path, **where)
            return
        _present(core.store, checking, table, pinned, files)
        checking.counts.versions += 1
        checking.damaged.discard(pin_of(entry))


def _changed(core: Core, checking: Checking, pinned: Pinned) -> bool:
    """Whether the version file is another one than was published; counts those for which this cannot be decided."""
    entry, noted = pinned.entry, pinned.entry.evidence
    try:
        found = version_evidence(core.store.objects, entry.address(core.store.root), entry.version)
    except (HistoricalVersionReclaimed, StorageError) as error:
        if is_missing(error):
            return False  # opening it says what that means
        raise
    wrong = None
    if noted.crc32 is not None and found.crc32 != noted.crc32:
        wrong = f"CRC-32 {found.crc32 or 0:08x} of {found.manifest_size} bytes instead of {noted.crc32:08x}"
    elif noted.manifest_size is not None and found.manifest_size != noted.manifest_size:
        wrong = f"{found.manifest_size} bytes instead of {noted.manifest_size}"
    elif noted.crc32 is None and (noted.e_tag is None or noted.e_tag != found.e_tag):
        checking.counts.unverified_versions += 1  # a copy has other tags, so one that differs says nothing
    if wrong is None:
        return False
    checking.found(
        "checksum",
        f"the version file was changed: {wrong}; restore the file from a backup",
        type_key=entry.table_key,
        branch=pinned.branch,
        version=entry.version,
        file=noted.manifest_path,
    )
    return True


def _present(
    store: Store, checking: Checking, table: TableHandle, pinned: Pinned, files: dict[TableFile, Pinned]
) -> None:
    root = store.root.uri
    for file in version_contents(table):
        if file in files:
            continue
        files[file] = pinned
        checking.counts.files += 1
        size = size_of(store.objects, root, file)
        if size is None:
            _file(checking, root, file, pinned, "the file is missing")
        elif file.size is not None and size != file.size:
            _file(checking, root, file, pinned, f"the file has {size} bytes instead of {file.size}")
    for name, directory in index_directories(table):
        if is_empty(store.objects, root, directory):
            _file(checking, root, directory, pinned, f"the files of index '{name}' are missing")


def _file(checking: Checking, root: str, file: TableFile, pinned: Pinned, message: str) -> None:
    entry = pinned.entry
    checking.found(
        "file",
        message,
        type_key=entry.table_key,
        branch=pinned.branch,
        version=entry.version,
        file=file.path.removeprefix(f"{root}/"),
    )


def _content(store: Store, checking: Checking, files: dict[TableFile, Pinned]) -> None:
    if not store.root.is_local:
        checking.counts.unverified_files = len(files)  # an object store verifies what it stores by itself
        return
    known = _known(store, checking, {file.home for file in files})
    named = {file.name for file in files}
    # Blobs lie in files of their own beside the data file that refers to them.
    beside = {
        TableFile(home, name): files[owner]
        for home, kept in known.items()
        for name in kept.keys() - named
        if (owner := _owner(home, name, files)) is not None
    }
    checking.expect(len(files) + len(beside))
    for file, pinned in (files | beside).items():
        expected = known.get(file.home, {}).get(file.name)
        if expected is None:
            checking.counts.unverified_files += 1
        else:
            _verify(store, checking, file, pinned, expected)
        checking.done()


def _verify(store: Store, checking: Checking, file: TableFile, pinned: Pinned, expected: Checksum) -> None:
    try:
        found = checksum_of(file.path)
    except FileNotFoundError:
        if file.size is None:  # else it was reported with its version
            _file(checking, store.root.uri, file, pinned, "the file is missing")
        return
    except OSError as error:
        _file(checking, store.root.uri, file, pinned, f"the file cannot be read: {error.strerror}")
        return
    checking.counts.verified_files += 1
    checking.counts.bytes_verified += found.size
    if found != expected:
        checking.found(
            "checksum",
            f"the content was changed: CRC-32 {found.crc32:08x} of {found.size} bytes instead of "
            f"{expected.crc32:08x} of {expected.size}; restore the file from a backup",
            type_key=pinned.entry.table_key,
            branch=pinned.branch,
            version=pinned.entry.version,
            file=file.path.removeprefix(f"{store.root.uri}/"),
        )


def _known(store: Store, checking: Checking, homes: set[str]) -> dict[str, dict[str, Checksum]]:
    """The checksums that are kept of the files below each of some directories of lineages."""
    known = {}
    for home in homes:
        address = _address(store, home)
        with checking.looking("version", f"the newest version of {address.path}: "):
            known[home] = known_checksums(store.objects, tables.open_table(address, control=True))
    return known


def _address(store: Store, home: str) -> Address:
    location, _, ref = home.removeprefix(f"{store.root.uri}/").partition("/tree/")
    return store.root.table(location, ref or None)


def _owner(home: str, name: str, files: dict[TableFile, Pinned]) -> TableFile | None:
    directory, slash, _ = name.rpartition("/")
    if not slash or directory == "data":
        return None
    return next((file for file in files if file.home == home and file.name == f"{directory}.lance"), None)
