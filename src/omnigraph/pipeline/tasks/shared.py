"""What all tasks of a stage know, sent once: a large value goes to a file, and its tasks are told where that is.

A closure is unpacked by every task, so what grows with the number of parts does not belong into it. Spark Connect has
no broadcasts; a file beside the graph serves every runner. It is believed only with the digest that came with the task,
because unpickling runs code, and others may write where scratch files are.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

from omnigraph.engine.intake.inputs.files import open_input, open_output
from omnigraph.errors import Corrupt
from omnigraph.ids import new_ulid

Value = TypeVar("Value")

# Up to so many bytes travel with every task.
FEW_BYTES = 1 << 16


class Shared(Generic[Value]):
    """A value for the tasks of a stage; what runs in this process has it as it is.

    It is written to a new file in `place` when it is first sent elsewhere, unless it is small.
    """

    def __init__(self, value: Value, place: str) -> None:
        self.value = value
        self._place = place
        self._sent: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self._sent is None:
            data = pickle.dumps(self.value)
            self._sent = (Received, (data,))
            if len(data) > FEW_BYTES:
                path = f"{self._place}/shared-{new_ulid()}"
                with open_output(path) as file:
                    file.write(data)
                self._sent = (Fetched, (path, hashlib.sha256(data).digest()))
        return self._sent


class Received(Generic[Value]):
    """A value that came along."""

    def __init__(self, data: bytes) -> None:
        self.value: Value = pickle.loads(data)


class Fetched(Generic[Value]):
    """A value in a file, which a process reads once."""

    def __init__(self, path: str, digest: bytes) -> None:
        self._path = path
        self._digest = digest

    @property
    def value(self) -> Value:
        found: Value = _fetched(self._path, self._digest)
        return found


@lru_cache(2)
def _fetched(path: str, digest: bytes) -> Any:
    with open_input(path) as file:
        data = file.read()
    if hashlib.sha256(data).digest() != digest:
        raise Corrupt(f"'{path}' is not what was written there")
    return pickle.loads(data)
