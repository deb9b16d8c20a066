"""Search on texts with vectors beside LanceDB, DuckDB, kuzu and tantivy, each in a process of its own.

`OMNIGRAPH_BENCH_SEARCH=1000000,256` says how many rows and dimensions there are, and `OMNIGRAPH_BENCH_SEARCH_ENGINES`
which engines are asked. `OMNIGRAPH_BENCH_SEARCH_PYTHON` is an interpreter for those that cannot be installed beside us:
the extensions of DuckDB are published for an older release, and kuzu is archived.

Vectors are drawn around a thousand centres, as embeddings lie. Recall is measured against exact distances in double
precision. Rows behind a hop are those of one of a thousand topics; engines without hops filter by a column.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import Measurement, peak_mib
from bench.search_engines import BEHIND, ENGINES, EQUAL, FILTERED, HYBRID, SHARE, TOP, VECTOR, WORDS, Ask, SearchEngine

COUNT, DIM = (int(number) for number in os.environ.get("OMNIGRAPH_BENCH_SEARCH", "100000,128").split(","))
QUERIES = 100
_WORDS = 20_000
_TEXT_LENGTH = 20
_CENTRES = _TOPICS = 1_000
_REPEATS = 40
_WARMUP = 40  # what is searched again and again is held in memory after a while, by either engine
_RECALL = 0.95
_TRUTHS = {VECTOR: "vector", FILTERED: "filtered", BEHIND: "behind"}
_ASKED = (VECTOR, FILTERED, BEHIND, WORDS, HYBRID, EQUAL)
_BLOCK = 1 << 16
_OWN_INTERPRETER = ("omnigraph", "lancedb")
_SECONDS = float(os.environ.get("OMNIGRAPH_BENCH_SEARCH_SECONDS", "900"))

Vectors = npt.NDArray[np.float32]


def run() -> Iterator[Measurement]:
    """All engines on the same data; times of omnigraph as a ratio to those of each."""
    names = os.environ.get("OMNIGRAPH_BENCH_SEARCH_ENGINES", "omnigraph,lancedb").split(",")
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-") as folder:
        write_data(Path(folder))
        found = {name: taken for name in names if (taken := _in_a_process(name, Path(folder))) is not None}
    ours = found["omnigraph"]
    for name, values in found.items():
        for case, taken in values["ms"].items():
            beside = ("", None) if name == "omnigraph" or case not in ours["ms"] else (name, ours["ms"][case] / taken)
            yield Measurement("search", f"{name}: {case}", taken, *beside)
        recalls = ", ".join(f"{case} {recall:.3f}" for case, recall in values["recall"].items())
        memory = f"peak memory {values['peak MB']:.0f} MB, of that {values['MB before']:.0f} MB for loading"
        yield Measurement("search", f"{name}: recall and memory", 0.0, note=f"recall@10 {recalls or '-'}; {memory}")


def _in_a_process(name: str, folder: Path) -> dict[str, Any] | None:
    other = os.environ.get("OMNIGRAPH_BENCH_SEARCH_PYTHON")
    interpreter = other if other and name not in _OWN_INTERPRETER else sys.executable
    try:
        done = subprocess.run(
            [interpreter, "-m", "bench.search", name, str(folder)],
            check=True, stdout=subprocess.PIPE, text=True, timeout=_SECONDS, env={**os.environ, "RUST_LOG": "error"},
        )  # fmt: skip
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None
    print(f"{name}: {done.stdout.splitlines()[-1]}", file=sys.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- data -------------------------------------------------------------------------------------------------


def write_data(folder: Path) -> None:
    """The rows as Parquet, the queries and their exact answers as JSON."""
    random = np.random.default_rng(17)
    centres = random.standard_normal((_CENTRES, DIM)).astype(np.float32)
    vectors = _around(random, centres, COUNT)
    words = [syllable(number) for number in range(_WORDS)]
    chosen = np.minimum(random.zipf(1.3, (COUNT, _TEXT_LENGTH)) - 1, _WORDS - 1)
    numbers = random.integers(0, 100, COUNT).astype(np.int32)
    topics = random.integers(0, _TOPICS, COUNT)
    rows = {
        "code": pa.array([code(number) for number in range(COUNT)]),
        "n": pa.array(numbers),
        "topic": pa.array([f"t{topic}" for topic in topics.tolist()]),
        "body": pa.array([" ".join([words[word] for word in text]) for text in chosen.tolist()]),
        "near": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIM),
    }
    pq.write_table(pa.table(rows), folder / "docs.parquet")
    asked = _around(random, centres, QUERIES)
    about = random.integers(0, _TOPICS, QUERIES)
    every = np.ones(COUNT, np.bool_)
    found = {
        "vectors": asked.tolist(),
        "words": [f"{words[50 + number]} {words[500 + number]}" for number in range(QUERIES)],
        "topics": [f"t{topic}" for topic in about.tolist()],
        "body": rows["body"][COUNT // 2].as_py(),
        "vector": _exact(vectors, asked, [every] * QUERIES),
        "filtered": _exact(vectors, asked, [numbers < SHARE] * QUERIES),
        "behind": _exact(vectors, asked, [topics == topic for topic in about.tolist()]),
    }
    (folder / "queries.json").write_text(json.dumps(found), encoding="utf-8")


def code(number: int) -> str:
    """The key of a document."""
    return f"d{number:07}"


def syllable(number: int) -> str:
    """A pronounceable word for a number, ended so that no stemmer changes it."""
    sounds = [f"{consonant}{vowel}" for consonant in "bdfgklmnprtvz" for vowel in "aou"]
    text = ""
    while number or not text:
        number, place = divmod(number, len(sounds))
        text += sounds[place]
    return f"{text}x"


def _around(random: np.random.Generator, centres: Vectors, count: int) -> Vectors:
    found = np.empty((count, centres.shape[1]), np.float32)
    for low in range(0, count, _BLOCK):
        part = found[low : low + _BLOCK]
        part[:] = centres[random.integers(0, len(centres), len(part))]
        part += 0.5 * random.standard_normal(part.shape, dtype=np.float32)
    return found


def _exact(vectors: Vectors, queries: Vectors, among: list[npt.NDArray[np.bool_]]) -> list[list[str]]:
    """The nearest rows: about a hundred by single precision, of which double precision chooses."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    found = []
    for query, allowed in zip(queries, among, strict=True):
        rough = np.where(allowed, squares - 2 * (vectors @ query), np.inf)
        few = np.argpartition(rough, TOP * 10)[: TOP * 10]
        few = few[allowed[few]]
        distance = ((vectors[few].astype(np.float64) - query.astype(np.float64)) ** 2).sum(axis=1)
        found.append([code(int(place)) for place in few[np.argsort(distance)[:TOP]]])
    return found


# --- one engine -------------------------------------------------------------------------------------------


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Everything about one engine."""
    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    begin, cpu = time.perf_counter(), time.process_time()
    store = ENGINES[name](folder, DIM)
    loaded, loaded_cpu = time.perf_counter(), time.process_time()
    before = peak_mib()
    if store.fresh:
        store.build()
    built, built_cpu = time.perf_counter(), time.process_time()
    times = {"load": (loaded - begin) * 1000, "build the indexes": (built - loaded) * 1000}
    times |= {"load, processor": (loaded_cpu - cpu) * 1000, "build, processor": (built_cpu - loaded_cpu) * 1000}
    recalls: dict[str, float] = {}
    efforts: dict[str, Any] = {}
    cases = store.cases()
    for case in [case for case in _ASKED if case in cases]:
        texts = {BEHIND: queries["topics"], EQUAL: [queries["body"]] * QUERIES}.get(case, queries["words"])
        times |= _each(case, cases[case], queries["vectors"], texts)
        good = f"{case}, recall at least {_RECALL}"
        if case in _TRUTHS:
            truth = queries[_TRUTHS[case]]
            recalls[case] = _recall(cases[case], queries["vectors"], texts, truth)
            taken, recalls[good], efforts[case] = _with_recall(
                store, good, cases[case], queries["vectors"], texts, truth
            )
            times |= taken
        elif case == HYBRID:
            # With the effort that a search for vectors alone needs.
            store.effort = efforts[VECTOR]
            times |= _each(good, cases[case], queries["vectors"], texts)
            store.effort = None
    return {"ms": times, "recall": recalls, "MB before": before, "peak MB": peak_mib()}


def _with_recall(store: SearchEngine, case: str, search: Ask, *asked: Any) -> tuple[dict[str, float], float, Any]:
    """(times, recall, effort) of a search with the least effort that has the recall we ask of ourselves."""
    vectors, texts, truth = asked
    recall = _recall(search, vectors, texts, truth)
    for effort in store.efforts:
        if recall >= _RECALL:
            break
        store.effort = effort
        recall = _recall(search, vectors, texts, truth)
    taken, effort = _each(case, search, vectors, texts), store.effort
    store.effort = None
    return taken, recall, effort


def _each(case: str, search: Ask, vectors: list[list[float]], texts: list[str]) -> dict[str, float]:
    """The medians of wall time and processor time over different queries."""
    wall, processor = [], []
    for place in range(_WARMUP + _REPEATS):
        begin, cpu = time.perf_counter(), time.process_time()
        search(vectors[place % QUERIES], texts[place % QUERIES])
        wall.append((time.perf_counter() - begin) * 1000)
        processor.append((time.process_time() - cpu) * 1000)
    return {case: median(wall[_WARMUP:]), f"{case}, processor": median(processor[_WARMUP:])}


def _recall(search: Ask, vectors: list[list[float]], texts: list[str], truth: list[list[str]]) -> float:
    shares = [len({*exact} & {*search(*asked)}) / TOP for *asked, exact in zip(vectors, texts, truth, strict=True)]
    return float(np.mean(shares))


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))
