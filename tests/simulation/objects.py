"""Simulated object storage: one dictionary that all processes share, asked through requests that can fail.

A value is text, or whatever the simulated tables keep in a file. Every method of `Objects` is one or a few requests;
before each of them another process may go first, and its answer, or the request itself, may be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.errors import StorageError
from omnigraph.storage.base.layout import RECOVERY_DIR
from omnigraph.storage.base.objects import ObjectInfo
from tests.simulation.world import Reading

if TYPE_CHECKING:
    from tests.simulation.process import Process

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stored:
    """One object: its value, its size, a tag that no other version has, and when it was written."""

    value: Any
    size: int
    tag: str
    modified_at: float


class Bucket:
    """Everything that is stored; changed only through `put` and `remove`, which tell a listener."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.files: dict[str, Stored] = {}
        self._clock = clock
        self._number = 0
        self.on_put: Callable[[str, Any], None] = lambda name, value: None
        self.on_remove: Callable[[str, Any], None] = lambda name, value: None

    def put(self, name: str, value: Any, *, size: int | None = None) -> None:
        self._number += 1
        length = size if size is not None else _length(value)
        self.files[name] = Stored(value, length, f"tag-{self._number}", self._clock())
        self.on_put(name, value)

    def put_if_absent(self, name: str, value: Any) -> bool:
        if name in self.files:
            return False
        self.put(name, value)
        return True

    def put_if_match(self, name: str, value: Any, tag: str) -> bool:
        found = self.files.get(name)
        if found is None or found.tag != tag:
            return False
        self.put(name, value)
        return True

    def remove(self, name: str) -> None:
        found = self.files.pop(name, None)
        if found is not None:
            self.on_remove(name, found.value)

    def below(self, name: str) -> list[str]:
        prefix = f"{name}/" if name else ""
        return [path for path in self.files if path.startswith(prefix)]


class SimulatedObjects:
    """The storage adapter of one simulated process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._bucket = process.bucket

    def read(self, name: str) -> str:
        text = self.read_if_exists(name)
        if text is None:
            raise StorageError(f"{name}: not found", kind="NotFound")
        return text

    def read_if_exists(self, name: str) -> str | None:
        text = self._ask(f"read {name}", lambda: self._text(name))
        world = self._process.world
        if world.running is not None and name.startswith(RECOVERY_DIR):
            world.read[world.running.name, name] = Reading(self._process.host.owner(), text, world.now)
        return text

    def write(self, name: str, text: str, *, durable: bool = True) -> None:
        self._change(f"write {name}", lambda: self._bucket.put(name, text))

    def write_if_absent(self, name: str, text: str, *, durable: bool = True) -> bool:
        return self._change(f"create {name}", lambda: self._bucket.put_if_absent(name, text))

    def read_tagged(self, name: str) -> tuple[str, str] | None:
        def look() -> tuple[str, str] | None:
            found = self._bucket.files.get(name)
            return None if found is None else (str(found.value), found.tag)

        return self._ask(f"read {name}", look)

    def write_if_match(self, name: str, text: str, tag: str) -> bool:
        return self._change(f"replace {name}", lambda: self._bucket.put_if_match(name, text, tag))

    def exists(self, name: str) -> bool:
        return self._ask(f"exists {name}", lambda: name in self._bucket.files or bool(self._bucket.below(name)))

    def stat(self, name: str) -> ObjectInfo | None:
        def look() -> ObjectInfo | None:
            found = self._bucket.files.get(name)
            return None if found is None else ObjectInfo(found.size, found.tag, found.modified_at)

        return self._ask(f"stat {name}", look)

    def delete(self, name: str) -> None:
        self._change(f"delete {name}", lambda: self._bucket.remove(name))

    def list_dir(self, name: str) -> list[str]:
        return self._ask(f"list {name}", lambda: [path for path in self._inside(name) if "/" not in path])

    def list_entries(self, name: str) -> list[str]:
        found = self._ask(f"list {name}", lambda: self._inside(name))
        return list(dict.fromkeys(path.partition("/")[0] for path in found))

    def list_tree(self, name: str) -> list[str]:
        return self._ask(f"list {name}", lambda: self._bucket.below(name))

    def list_sizes(self, name: str) -> dict[str, int]:
        return self._ask(
            f"list {name}", lambda: {path: self._bucket.files[path].size for path in self._bucket.below(name)}
        )

    def list_infos(self, name: str) -> dict[str, ObjectInfo]:
        def look() -> dict[str, ObjectInfo]:
            found = {path: self._bucket.files[path] for path in self._bucket.below(name)}
            return {path: ObjectInfo(each.size, each.tag, each.modified_at) for path, each in found.items()}

        return self._ask(f"list {name}", look)

    def read_pieces(self, name: str) -> Iterator[bytes]:
        value = self._ask(f"read {name}", lambda: self._bucket.files.get(name))
        if value is None:
            raise StorageError(f"{name}: not found", kind="NotFound")
        yield value.value if isinstance(value.value, bytes) else str(value.value).encode()

    def write_pieces(self, name: str, pieces: Iterable[bytes]) -> None:
        content = b"".join(pieces)
        self._change(f"write {name}", lambda: self._bucket.put(name, content))

    def rename(self, source: str, target: str) -> None:
        self.copy(source, target)
        self.delete(source)

    def copy(self, source: str, target: str) -> None:
        def act() -> bool:
            found = self._bucket.files.get(source)
            if found is not None:
                self._bucket.put(target, found.value, size=found.size)
            return found is not None

        if not self._change(f"copy {source} to {target}", act):
            raise StorageError(f"{source}: not found", kind="NotFound")

    def delete_prefix(self, name: str) -> None:
        while paths := self.list_tree(name):
            for path in paths:
                self.delete(path)

    def _inside(self, name: str) -> list[str]:
        cut = len(name) + 1 if name else 0
        return [path[cut:] for path in self._bucket.below(name)]

    def _text(self, name: str) -> str | None:
        found = self._bucket.files.get(name)
        if found is None:
            return None
        return found.value.decode() if isinstance(found.value, bytes) else str(found.value)

    def _ask(self, label: str, action: Callable[[], T]) -> T:
        return self._process.request(label, action, lost=_lost)

    def _change(self, label: str, action: Callable[[], T]) -> T:
        return self._process.request(label, action, lost=_lost, changes=True)


def _lost(label: str) -> StorageError:
    return StorageError(f"{label}: connection reset by peer", kind="Transient")


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode())
    return len(value) if isinstance(value, bytes) else 1_000
