"""Small text objects beside the datasets: schema files, sidecars, claims; one behaviour on disk and on object stores.

Names are relative to the graph root and use '/'. Every method raises only `StorageError` (with a kind), never an
OSError or a client library's exception.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from omnigraph.errors import StorageError
from omnigraph.ids import new_ulid
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import PROBE_PREFIX, Root

_PROBE_ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """Size, entity tag (on object stores) and time of the last change, in seconds since 1970, of one object."""

    size: int
    e_tag: str | None
    modified_at: float


class Objects(Protocol):
    """The storage adapter; two implementations share one behaviour suite."""

    def read(self, name: str) -> str:
        """The object's text; StorageError(kind=NotFound) when absent."""
        ...

    def read_if_exists(self, name: str) -> str | None:
        """The object's text, or None only when the store says that it does not exist."""
        ...

    def write(self, name: str, text: str, *, durable: bool = True) -> None:
        """Replace the object atomically: readers see the old or the new text, never a part.

        With `durable=False` a local file need not survive a power cut, which spares two round trips to the disk.
        """
        ...

    def write_if_absent(self, name: str, text: str, *, durable: bool = True) -> bool:
        """Create the object; False (and no change) when it exists. One winner among concurrent callers."""
        ...

    def read_tagged(self, name: str) -> tuple[str, str] | None:
        """The object's text with a tag that names exactly this version of it, or None when absent."""
        ...

    def write_if_match(self, name: str, text: str, tag: str) -> bool:
        """Replace the version that `tag` names; False (and no change) when it is not there any more."""
        ...

    def exists(self, name: str) -> bool:
        """Whether an object of this name, or any object below it, exists; permission errors are loud."""
        ...

    def stat(self, name: str) -> ObjectInfo | None:
        """What is known of one object, or None when absent."""
        ...

    def delete(self, name: str) -> None:
        """Delete the object; absent is success."""
        ...

    def list_dir(self, name: str) -> list[str]:
        """Names (not paths) of the files directly inside a directory, unordered; missing directory is empty."""
        ...

    def list_entries(self, name: str) -> list[str]:
        """Names of the files and directories directly inside a directory, unordered; missing directory is empty."""
        ...

    def list_tree(self, name: str) -> list[str]:
        """Root-relative names of every file below a directory, unordered; missing directory is empty."""
        ...

    def list_sizes(self, name: str) -> dict[str, int]:
        """Root-relative names of every file below a directory, with their sizes in bytes."""
        ...

    def list_infos(self, name: str) -> dict[str, ObjectInfo]:
        """Root-relative names of every file below a directory, with what is known of each."""
        ...

    def read_pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of an object of any size, piece by piece."""
        ...

    def write_pieces(self, name: str, pieces: Iterable[bytes]) -> None:
        """Store bytes of any length under a name; nothing is there until the last piece has arrived."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Move an object over the target; on S3 a crash may leave both."""
        ...

    def copy(self, source: str, target: str) -> None:
        """Give an immutable object a second name; the bytes may be shared."""
        ...

    def delete_prefix(self, name: str) -> None:
        """Delete everything below a directory, and the directory; idempotent, not atomic."""
        ...


_CLIENTS: CacheKind[Objects] = CacheKind("object store clients", lambda client: 64 << 10, entries=16)


def open_objects(root: Root) -> Objects:
    """The adapter for a root; does no I/O."""
    if root.backing is not None:
        adapter: Objects = root.backing.open_objects(root)
        return adapter
    if root.is_local:
        from omnigraph.storage.base.objects_local import LocalObjects

        return LocalObjects(root.uri)
    from omnigraph.storage.base.objects_remote import RemoteObjects

    return RemoteObjects(root)


def client_of(root: Root) -> Objects:
    """The adapter that all readers of an opened graph share, with its connections."""
    return root.memory.cache(_CLIENTS).get_or_build(root, lambda: open_objects(root))


def prove_create_if_absent(objects: Objects) -> None:
    """Show that create-if-absent has one winner here, or raise StorageError with nothing left behind.

    The whole write protocol rests on this primitive, so a store without it is refused before the first write.
    """
    for _ in range(_PROBE_ATTEMPTS):
        name = f"{PROBE_PREFIX}{new_ulid()}"
        hit("storage.local_create_if_absent_probe")
        if not objects.write_if_absent(name, "probe"):
            continue  # Somebody else's file: leave it alone and try another name.
        try:
            second = objects.write_if_absent(name, "probe")
        finally:
            objects.delete(name)
        if second:
            raise StorageError(
                "this storage overwrites on create-if-absent; it cannot hold a graph", kind="Configuration"
            )
        return
    raise StorageError("no unused name for the create-if-absent probe", kind="Unknown")
