"""How far a run is, kept beside the graph while it goes on, so that others can follow it: `pipeline runs`, or HTTP."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.runs.records import ALIVE_SECONDS

_log = logging.getLogger(__name__)
# Progress is written this often at most: on an object store each time is a request.
_WRITE_SECONDS = 1.0

Write = Callable[[Mapping[str, Any] | None], None]


class Following:
    """Writes what a run reports from a thread of its own, so that the run does not wait for storage.

    The record of the end is written by the run, after the thread has ended: nothing overtakes it.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._newest: Mapping[str, Any] | None = None
        self._over = threading.Event()
        self._writing = threading.Lock()

    def report(self, progress: Any) -> None:
        """Take note of how far the run is; cheap, and never fails."""
        self._newest = asdict(progress)

    def step(self, name: str) -> None:
        """Take note of a step that has no tasks: gates, checks, the merge."""
        self._newest = {"stage": name, "done": 0, "total": 1, "rows": 0, "bytes": 0}

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Keep the record of the run up to date until the end of the block."""
        self.tell()
        thread = threading.Thread(target=self._follow, name="omnigraph-run-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _follow(self) -> None:
        told, at = self._newest, time.monotonic()
        while not self._over.wait(_WRITE_SECONDS):
            if self._newest != told or time.monotonic() - at >= ALIVE_SECONDS:
                told, at = self._newest, time.monotonic()
                self.tell()

    def tell(self) -> None:
        """Write now how far the run is; what is written later is newer."""
        try:
            with self._writing:
                self._write(self._newest)
        except OmnigraphError as error:  # the run itself will meet the same trouble, or none
            _log.warning("the progress of a run could not be kept: %s", error.message)
