"""One engine in a process of its own: `python -m bench.peers build|measure|cold NAME STORE …`; JSON on stdout."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench.measure import peak_mib
from bench.peers.engine import CASES, Engine
from bench.peers.registry import engine_class

# A case is repeated this often, or for so many seconds, whichever ends first.
_REPEATS = 60
_WARMUP = 40
_SECONDS = 4.0
_ANSWERS = 8


def main(verb: str, name: str, store: str, *rest: str) -> None:
    """Do one thing with one engine."""
    engine = engine_class(name)(Path(store))
    if verb == "build":
        engine.build(Path(rest[0]))
        return
    engine.open()
    if verb == "cold":
        print(engine.two_hop(rest[0]))
        return
    seeds = json.loads(Path(rest[0]).read_text(encoding="utf-8"))
    found = {case: _measured(engine, case, seeds) for case in CASES if case not in engine.lacks}
    peak = peak_mib()
    print(json.dumps({"cases": found, "peak_mb": peak, "lacks": engine.lacks, "remarks": engine.remarks}))


def _measured(engine: Engine, case: str, seeds: list[str]) -> dict[str, Any]:
    answers = [_plain(engine.ask(case, seeds, number)) for number in range(_ANSWERS)]
    end = time.perf_counter() + _SECONDS / 2
    for number in range(_WARMUP):
        engine.ask(case, seeds, number)
        if time.perf_counter() > end:
            break
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < _REPEATS and (len(times) < 3 or time.perf_counter() < end):
        begin = time.perf_counter()
        # Seeds that were not asked for before, here or in the warm-up: who keeps answers has none of these.
        engine.ask(case, seeds, _WARMUP + len(times))
        times.append((time.perf_counter() - begin) * 1000)
    return {"ms": statistics.median(times), "best_ms": min(times), "runs": len(times), "answers": answers}


def _plain(answer: Any) -> Any:
    """Answers in a form that compares across engines; one hop promises no order."""
    if isinstance(answer, int):
        return answer
    rows = [list(row) for row in answer]
    return sorted(rows) if rows and len(rows[0]) == 1 else rows


if __name__ == "__main__":
    main(*sys.argv[1:])
