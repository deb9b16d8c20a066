"""The processes of the proof of one commit: a driver that loads and may kill itself, and a reader that looks on."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph.engine.views.entity import type_named
from omnigraph.engine.views.view import View
from omnigraph.testing.one_commit.data import State

ACTOR = "loader"
_LOOK_SECONDS = 0.02
_ATTEMPTS = {"written": 1, "written twice": 2}


def drive(root: str, mapping: str, mode: Any, moment: str, master: str) -> None:
    """Load through Spark, and say how much memory that took; die at a moment, if one is named.

    The moments are the starts of stages (`stage`, `check`), `written`, when the first part of the input is on disk, and
    `written twice`, when two attempts at the same task have written theirs.
    """
    from omnigraph.pipeline.spark.session import spark_session

    spark_session(master, quiet=True)
    graph = og.open(root, actor=ACTOR)
    if moment in _ATTEMPTS:
        threading.Thread(target=_die_once_written, args=(Path(root), _ATTEMPTS[moment]), daemon=True).start()

    def report(progress: Any) -> None:
        if progress.stage == moment:
            _die()

    begin = time.monotonic()
    graph.load(mapping=mapping, mode=mode, runner="spark", progress=report, no_build=True)
    print(json.dumps({"seconds": round(time.monotonic() - begin, 1), "driver_mib": _peak_mib()}))


def _peak_mib() -> int:
    # Not by getrusage: what it tells includes the memory of the process that started this one.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


def _die_once_written(root: Path, attempts: int) -> None:
    while _most_attempts(root / "__loads") < attempts:
        time.sleep(_LOOK_SECONDS)
    _die()


def _most_attempts(loads: Path) -> int:
    """How many attempts at the same task have written something; each has a directory that begins with its number."""
    places = {part.parents[2].name for part in loads.glob("*/*/*/data/*.lance")}
    return max(Counter(place.partition("-")[0] for place in places).values(), default=0)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def watch(root: str, seen: str, stop: str) -> None:
    """Look at the graph until the file `stop` is there, and write down each state that differs from the one before.

    One more look follows, so that the state of that moment is reported. The last line counts looks.
    """
    with og.open(root, read_only=True) as graph, open(seen, "w") as file:
        looks = 0
        for state in _states(graph, Path(stop)):
            looks += 1
            if state is not None:
                print(json.dumps(state), file=file, flush=True)
        print(json.dumps({"looks": looks}), file=file)


def _states(graph: og.Graph, stop: Path) -> Iterator[dict[str, Any] | None]:
    known: tuple[str | None, int, int] | None = None
    last = False
    while not last:
        last = stop.exists()
        view = graph.view()
        found = (view.head, *_counts(view))
        yield None if found == known else {"commit": view.head, **asdict(state_of(view))}
        known = found
        time.sleep(_LOOK_SECONDS)


def state_of(view: View) -> State:
    """The state that a view shows, counted in its tables."""
    return State(*_counts(view), *_counts(view, "generation = 2"))


def _counts(view: View, predicate: str | None = None) -> tuple[int, int]:
    people, knows = (view.table(type_named(view, name)).count_rows(predicate) for name in ("Person", "Knows"))
    return people, knows


if __name__ == "__main__":
    _verb, *_given = sys.argv[1:]
    if _verb == "drive":
        drive(*_given)
    else:
        watch(*_given)
