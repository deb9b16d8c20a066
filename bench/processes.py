"""Processor time and memory of this process and of everything it has started; Linux only."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = ("driver", "JVM", "workers")


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds, and seconds of the processor."""

    seconds: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s ({self.cpu:.1f})"


def timed(action: Callable[[], Any]) -> tuple[Spent, Any]:
    """Time and processor time of this process and of everything that it has started."""
    begin, before = time.perf_counter(), cpu_seconds()
    value = action()
    return Spent(time.perf_counter() - begin, cpu_seconds() - before), value


def cpu_seconds() -> float:
    """What this process and everything it started has used so far."""
    ticks = 0
    for process in (os.getpid(), *_descendants(os.getpid())):
        with suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class TreeMemory:
    """The largest resident memory of this process, of the JVM and of the Python workers together, in MiB, sampled."""

    def __enter__(self) -> TreeMemory:
        self.peak = dict.fromkeys(KINDS, 0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            seen = {"driver": _resident(os.getpid()), "JVM": 0, "workers": 0}
            for process in _descendants(os.getpid()):
                name = Path(f"/proc/{process}/comm")
                with suppress(OSError):
                    seen["JVM" if name.read_text().strip() == "java" else "workers"] += _resident(process)
            self.peak = {name: max(self.peak[name], kib // 1_024) for name, kib in seen.items()}


def _resident(process: int) -> int:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
    return 0


def _descendants(process: int) -> Iterator[int]:
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _descendants(child)
