"""One engine in its own process: `python -m bench.peers build|measure|first|writes|cold NAME STORE …`; prints JSON."""

from __future__ import annotations

import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import MemoryWatch, peak_mib
from bench.peers.engine import PAIR, QUESTIONS, SEED, TRAVERSALS, Engine, Question, params_of
from bench.peers.registry import engine_class

# A question is repeated for so many seconds, or as often as there are seeds that were not asked for before, whichever
# ends first. Sixty calls of 50 µs would be 3 ms after the first ones: what is mapped and cached then decides.
_REPEATS = 800
_WARMUP = 200
_WHOLE_REPEATS = 60
_SECONDS = float(os.environ.get("OMNIGRAPH_BENCH_SECONDS", "3"))
_SLOW = 10.0  # seconds of a call, after which it is repeated once
_FIRST_SECONDS = 0.5
_ANSWERS = 8
_THREADS = (1, 2, 4)
_THREAD_SECONDS = _SECONDS / 2
_INSERTS = 20


def main(verb: str, name: str, store: str, *rest: str) -> None:
    """Do one thing with one engine."""
    engine = engine_class(name)(Path(store))
    if verb == "build":
        _build(engine, Path(rest[0]))
        return
    engine.open()
    seeds = json.loads(Path(rest[0]).read_text(encoding="utf-8"))
    if verb == "cold":
        question = TRAVERSALS[2]
        print(engine.ask(question, params_of(question, seeds, int(rest[1]))))
        return
    if verb == "writes":
        print(json.dumps(_inserts(engine)))
        return
    if verb == "first":
        print(json.dumps(_first(engine, next(each for each in QUESTIONS if each.name == rest[1]), seeds)))
        return
    wanted = [question for question in QUESTIONS if engine.answers(question) and _chosen(question, rest[1:])]
    with MemoryWatch() as memory:
        found = {question.name: _measured(engine, question, seeds) for question in wanted}
    peak = peak_mib()
    rates = {question.name: _rates(engine, question, seeds) for question in wanted if question.starts == SEED}
    kinds = {"anon_mb": memory.anon_mb, "file_mb": memory.file_mb}
    print(json.dumps({"cases": found, "rates": rates, "peak_mb": peak, **kinds, "remarks": engine.remarks}))


def _build(engine: Engine, data: Path) -> None:
    begin, cpu = time.perf_counter(), time.process_time()
    engine.build(data)
    taken = {"s": time.perf_counter() - begin, "cpu_s": time.process_time() - cpu, "peak_mb": peak_mib()}
    taken["disk_mb"] = sum(_sizes(engine.store)) / 1e6
    print(json.dumps(taken))


def _sizes(store: Path) -> list[int]:
    """What lies at the store and beside it under names that begin with its own; links are not followed.

    A file with several names takes its place once.
    """
    files = [path for root in store.parent.glob(f"{store.name}*") for path in (root, *root.rglob("*"))]
    found = [path.lstat() for path in files if path.is_file() and not path.is_symlink()]
    return list({each.st_ino: each.st_size for each in found}.values())


def _chosen(question: Question, words: tuple[str, ...]) -> bool:
    return not words or any(word in question.name for word in words)


def _measured(engine: Engine, question: Question, seeds: list[str]) -> dict[str, Any]:
    """Time and processor time, of all threads, of one call; seeds that are measured were not asked for before."""
    began = time.process_time()
    answers = [_plain(engine.ask(question, params_of(question, seeds, 0)))]
    first = time.process_time() - began
    more = range(1, _answers(question))
    answers += [_plain(engine.ask(question, params_of(question, seeds, number))) for number in more]
    fewest = 3 if first < _SLOW else 1
    end = time.perf_counter() + _SECONDS / 2
    for number in range(_WARMUP if first < _SLOW else 0):
        engine.ask(question, params_of(question, seeds, number))
        if time.perf_counter() > end:
            break
    times: list[float] = []
    cpu: list[float] = []
    end = time.perf_counter() + _SECONDS
    most = _REPEATS if question.starts in (SEED, PAIR) else _WHOLE_REPEATS
    while len(times) < most and (len(times) < fewest or time.perf_counter() < end):
        params = params_of(question, seeds, _WARMUP + len(times))
        begin, cpu_begin = time.perf_counter(), time.process_time()
        engine.ask(question, params)
        times.append((time.perf_counter() - begin) * 1000)
        cpu.append((time.process_time() - cpu_begin) * 1000)
    taken = {"ms": statistics.median(times), "cpu_ms": statistics.median(cpu), "runs": len(times)}
    return {**taken, "first_cpu_ms": first * 1000, "answers": answers}


def _first(engine: Engine, question: Question, seeds: list[str]) -> dict[str, float]:
    """The first half second of processor time of a process that was just started, seed by seed."""
    taken: list[float] = []
    while sum(taken) < _FIRST_SECONDS and len(taken) < len(seeds):
        params, begin = params_of(question, seeds, len(taken)), time.process_time()
        engine.ask(question, params)
        taken.append(time.process_time() - begin)
    return {"cpu_ms": statistics.median(taken) * 1000, "slowest_ms": max(taken) * 1000, "calls": len(taken)}


def _answers(question: Question) -> int:
    return _ANSWERS if question in TRAVERSALS else 1


def _rates(engine: Engine, question: Question, seeds: list[str]) -> dict[int, float]:
    """Answers a second with so many threads, while all of them ask."""
    return {threads: _rate(engine, question, seeds, threads) for threads in _THREADS}


def _rate(engine: Engine, question: Question, seeds: list[str], threads: int) -> float:
    counts = [0] * threads
    stop = threading.Event()

    def work(place: int) -> None:
        ask = engine.asker()
        ask(question, params_of(question, seeds, place))
        ready.wait()
        number = place
        while not stop.is_set():
            ask(question, params_of(question, seeds, number))
            number += threads
            counts[place] += 1

    ready = threading.Barrier(threads + 1)
    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for worker in workers:
        worker.start()
    ready.wait()
    begin = time.perf_counter()
    time.sleep(_THREAD_SECONDS)
    rate = sum(counts) / (time.perf_counter() - begin)
    stop.set()
    for worker in workers:
        worker.join()
    return rate


def _inserts(engine: Engine) -> dict[str, float]:
    wall, cpu = _repeated(engine.insert)
    found = {"ms": wall, "cpu_ms": cpu}
    if engine.has_branches:
        found["branch_ms"], found["branch_cpu_ms"] = _repeated(engine.branch)
    return found


def _repeated(write: Callable[[int], None]) -> tuple[float, float]:
    """Median time and processor time of some writes."""
    times: list[float] = []
    cpu: list[float] = []
    for number in range(_INSERTS):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        write(number)
        times.append((time.perf_counter() - begin) * 1000)
        cpu.append((time.process_time() - cpu_begin) * 1000)
    return statistics.median(times), statistics.median(cpu)


def _plain(answer: Any) -> Any:
    """Answers in a form that compares across engines; only questions of one row or with an order promise an order."""
    if hasattr(answer, "num_rows"):
        import pyarrow.compute as pc

        return [answer.num_rows, pc.sum(answer.column(0)).as_py()]
    return sorted([_rounded(value) for value in row] for row in answer)


def _rounded(value: Any) -> Any:
    return round(value, 9) if isinstance(value, float) else value


if __name__ == "__main__":
    main(*sys.argv[1:])
