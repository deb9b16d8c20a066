"""The files that one version of a table consists of, wherever they lie, and whether they are as they were written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.errors import StorageError
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.lance.checksums import DATA_DIR
from omnigraph.storage.lance.fragments import path_of
from omnigraph.storage.lance.handle import TableHandle


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file: the directory of the lineage that wrote it, its name in there, and its size where lance noted that."""

    home: str
    name: str
    size: int | None = None

    @property
    def path(self) -> str:
        return f"{self.home}/{self.name}"


def version_contents(table: TableHandle) -> Iterator[TableFile]:
    """The data files, deletion files and directories of indexes of a version."""
    with table.translated():
        bases = {number: str(base.path) for number, base in table.dataset._ds.base_paths().items()}
        own = table.address.uri
        for fragment in (each.metadata for each in table.dataset.get_fragments()):
            for file in fragment.files:
                home = own if file.base_id is None else bases[file.base_id]
                yield TableFile(home, f"{DATA_DIR}/{path_of(file)}", file.file_size_bytes)
            deleted = fragment.deletion_file
            if deleted is not None:
                home = own if deleted.base_id is None else bases[deleted.base_id]
                yield TableFile(home, str(deleted.path(fragment.id)))


def index_directories(table: TableHandle) -> Iterator[tuple[str, TableFile]]:
    """The name of each index of a version and the directories that hold its segments."""
    with table.translated():
        bases = {number: str(base.path) for number, base in table.dataset._ds.base_paths().items()}
        for found in table.dataset.describe_indices():
            for segment in found.segments:
                home = table.address.uri if segment.base_id is None else bases[segment.base_id]
                yield found.name, TableFile(home, f"_indices/{segment.uuid}")


def size_of(objects: Objects, root: str, file: TableFile) -> int | None:
    """The size of a file, or None when it is not there."""
    if os.path.isabs(file.path):
        try:
            return os.stat(file.path).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageError(f"'{file.path}': {error.strerror}") from error
    found = objects.stat(file.path.removeprefix(f"{root}/"))
    return None if found is None else found.size


def is_empty(objects: Objects, root: str, directory: TableFile) -> bool:
    """Whether a directory contains no file, or does not exist."""
    if os.path.isabs(directory.path):
        return not any(files for _, _, files in os.walk(directory.path))
    return not any(True for _ in objects.list_tree(directory.path.removeprefix(f"{root}/")))
