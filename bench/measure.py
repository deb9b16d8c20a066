"""What a measurement is, and how to take one."""

from __future__ import annotations

import json
import resource
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table: a median, and how it compares with its peer in the same run."""

    bench: str
    case: str
    median_ms: float
    peer: str = ""
    ratio: float | None = None
    note: str = ""

    def to_json(self) -> str:
        """One line of machine-readable output."""
        return json.dumps(asdict(self), sort_keys=True)


def median_ms(run: Callable[[], object], *, repeats: int = 200, warmup: int = 20) -> float:
    """Median wall time of one warm call, in milliseconds."""
    for _ in range(warmup):
        run()
    times: list[int] = []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e6


def peak_mib() -> float:
    """What this process needed at most; getrusage would also count what its parent held when it was started."""
    status = Path("/proc/self/status")
    if status.exists():
        high = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(high.split()[1]) / 1_024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_048_576


class MemoryWatch:
    """The most of this process that was resident at a time, looked at fifty times a second: its own, and mapped files.

    Mapped files are pages that the system takes back when it needs them; the sum of both is what `peak_mib` tells.
    """

    def __init__(self) -> None:
        self.anon_mb = self.file_mb = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self._look()

    def _look(self) -> None:
        status = Path("/proc/self/status")
        if status.exists():
            lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
            anon, file = (int(lines[name].split()[0]) / 1_024 for name in ("RssAnon", "RssFile"))
            self.anon_mb, self.file_mb = max(self.anon_mb, anon), max(self.file_mb, file)
