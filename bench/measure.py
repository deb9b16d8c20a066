"""What a measurement is, and how to take one."""

from __future__ import annotations

import json
import resource
import statistics
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
