"""One engine of `bench/search.py`, in a process of its own: what it has found so far is a line of JSON a phase."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.measure import peak_mib
from bench.search_engines import BEHIND, ENGINES, EQUAL, FILTERED, HYBRID, VECTOR, WORDS, Ask, SearchEngine

RECALL = 0.95
GOOD = f", recall at least {RECALL}"
_TRUTHS = {VECTOR: "vector", FILTERED: "filtered", BEHIND: "behind"}
_ORDER = (WORDS, EQUAL, VECTOR, FILTERED, BEHIND, HYBRID)
_REPEATS = 40
_WARMUP = 40  # what is searched again and again is held in memory after a while, by either engine
_CASE_SECONDS = 4.0  # a slow search is asked less often, once before it counts
_RECALLED = 50


def measure(name: str, folder: Path, dim: int, tell: Callable[[dict[str, Any]], None]) -> None:
    """Load, build and ask; after each of them what it took is told."""
    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    begin, cpu = time.perf_counter(), time.process_time()
    store = ENGINES[name](folder, dim)
    wall, processor = time.perf_counter() - begin, time.process_time() - cpu
    tell({"phase": "loading", "load": wall, "load, processor": processor, "MB": peak_mib()})
    built = built_processor = 0.0
    asked: set[str] = set()
    efforts: dict[str, Any] = {}
    for what, build in store.builds():
        begin, cpu = time.perf_counter(), time.process_time()
        build()
        built += time.perf_counter() - begin
        built_processor += time.process_time() - cpu
        tell({"phase": f"building {what}", "build": built, "build, processor": built_processor, "MB": peak_mib()})
        cases = store.cases(what)
        for case in [case for case in _ORDER if case in cases and case not in asked]:
            asked.add(case)
            tell({"phase": f"asking, {case}", **_asked(store, case, cases[case], queries, efforts), "MB": peak_mib()})
    tell({"phase": "done"})


def _asked(store: SearchEngine, case: str, search: Ask, queries: Any, efforts: dict[str, Any]) -> dict[str, Any]:
    """Times and recall of one case: as the engine comes, and with the least effort that finds enough."""
    texts = {BEHIND: queries["topics"], EQUAL: [queries["body"]] * len(queries["words"])}.get(case, queries["words"])
    vectors = queries["vectors"]
    found: dict[str, Any] = {"ms": {case: _median(search, vectors, texts)}}
    if case in _TRUTHS:
        truth = queries[_TRUTHS[case]]
        recall = _recall(search, vectors, texts, truth)
        found["recall"] = {case: recall}
        for effort in store.efforts:
            store.effort = effort
            recall = _recall(search, vectors, texts, truth)
            if recall >= RECALL:
                break
        again = store.effort is not None
        found["ms"][case + GOOD] = _median(search, vectors, texts) if again else found["ms"][case]
        found["recall"][case + GOOD] = recall
        efforts[case], store.effort = store.effort, None
    elif case == HYBRID:
        store.effort = efforts.get(VECTOR)  # with the effort that a search for vectors alone needs
        again = store.effort is not None
        found["ms"][case + GOOD] = _median(search, vectors, texts) if again else found["ms"][case]
        store.effort = None
    return found


def _median(search: Ask, vectors: list[list[float]], texts: list[str]) -> float:
    """The median of the wall time over different queries, in milliseconds."""
    times: list[float] = []
    end = time.perf_counter() + _CASE_SECONDS
    warmup, place = _WARMUP, 0
    while len(times) < warmup + _REPEATS:
        if time.perf_counter() > end and len(times) >= 2:
            warmup = min(warmup, len(times) // 2)
            break
        begin = time.perf_counter()
        search(vectors[place % len(vectors)], texts[place % len(texts)])
        times.append((time.perf_counter() - begin) * 1000)
        place += 1
    return median(times[warmup:])


def _recall(search: Ask, vectors: list[list[float]], texts: list[str], truth: list[list[str]]) -> float:
    asked = [each for each in zip(vectors, texts, truth, strict=True) if each[2]][:_RECALLED]
    return float(np.mean([len({*exact} & {*search(vector, text)}) / len(exact) for vector, text, exact in asked]))


if __name__ == "__main__":
    measure(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), lambda found: print(json.dumps(found), flush=True))
