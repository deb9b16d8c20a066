"""Search on 100,000 texts with vectors of 128 dimensions, side by side with lancedb, each in a process of its own.

The vectors are drawn twice: around a thousand centres, as embeddings lie, and without any structure, which is the hard
case for an approximate index. Recall is measured against exact distances in double precision.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import Measurement, median_ms, peak_mib

COUNT = 100_000
DIM = 128
TOP = 10
QUERIES = 100
_WORDS = 20_000
_TEXT_LENGTH = 20
_CENTRES = 1_000
_SHARE = 10  # the filter keeps this percentage
_REPEATS = 40
_WARMUP = 40  # what is searched again and again is held in memory after a while, by either engine
_ROUNDS = 3  # the engines take turns, so that both see the same machine
_TIMES = (
    "vector top-10",
    "vector top-10, filtered",
    "bm25 top-10",
    "hybrid top-10 (rrf)",
    "point look-up by text equality",
)

_RECALL = 0.95
_GOOD = f"vector top-10, recall at least {_RECALL}"
_GOOD_FILTERED = f"vector top-10, filtered, recall at least {_RECALL}"

Vectors = npt.NDArray[np.float32]


def run() -> Iterator[Measurement]:
    """Both engines on the same data; times of omnigraph as a ratio to those of lancedb."""
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-") as folder:
        data = Path(folder)
        write_data(data)
        rounds = [{engine: _in_a_process(engine, data) for engine in ("omnigraph", "lancedb")} for _ in range(_ROUNDS)]
    found = {engine: _best([each[engine] for each in rounds]) for engine in rounds[0]}
    ours, peer = found["omnigraph"], found["lancedb"]
    for case in (*_TIMES, _GOOD, _GOOD_FILTERED, "build the indexes"):
        yield Measurement("search", case, ours[case], "lancedb", ours[case] / peer[case])
        yield Measurement("search", f"lancedb: {case}", peer[case])
    for engine, values in found.items():
        kinds = ("clustered", "random", "filtered")
        recalls = "recall@10 " + ", ".join(f"{kind} {values[f'recall {kind}']:.3f}" for kind in kinds)
        memory = f"peak memory {values['peak MB']:.0f} MB, {values['peak MB'] - values['MB before']:.0f} MB after load"
        yield Measurement("search", f"{engine}: recall and memory", 0.0, note=f"{recalls}; {memory}")


def _best(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The first round also built everything; of the times, whatever other work the machine had, the best counts."""
    return {**rounds[0], **{case: min(each[case] for each in rounds) for case in (*_TIMES, _GOOD, _GOOD_FILTERED)}}


# --- data -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Data:
    """What is searched for."""

    clustered: Vectors
    random: Vectors
    words: list[str]
    clustered_truth: list[list[int]]
    random_truth: list[list[int]]
    filtered_truth: list[list[int]]


def write_data(folder: Path) -> None:
    """The rows as Parquet, the queries and their exact answers as JSON."""
    random = np.random.default_rng(17)
    centres = random.standard_normal((_CENTRES, DIM))
    clustered = _around(random, centres, COUNT)
    plain = random.standard_normal((COUNT, DIM)).astype(np.float32)
    words = [f"{syllable(number)}" for number in range(_WORDS)]
    chosen = np.minimum(random.zipf(1.3, (COUNT, _TEXT_LENGTH)) - 1, _WORDS - 1)
    numbers = random.integers(0, 100, COUNT).astype(np.int32)
    rows = {
        "code": pa.array([f"d{number:06}" for number in range(COUNT)]),
        "n": pa.array(numbers),
        "body": pa.array([" ".join(words[word] for word in text) for text in chosen]),
        "near": _column(clustered),
        "wild": _column(plain),
    }
    pq.write_table(pa.table(rows), folder / "docs.parquet")
    near, wild = _around(random, centres, QUERIES), random.standard_normal((QUERIES, DIM)).astype(np.float32)
    found = {
        "clustered": near.tolist(),
        "random": wild.tolist(),
        "words": [f"{words[50 + number]} {words[500 + number]}" for number in range(QUERIES)],
        "clustered_truth": [_exact(clustered, query) for query in near],
        "random_truth": [_exact(plain, query) for query in wild],
        "filtered_truth": [_exact(clustered, query, numbers < _SHARE) for query in near],
    }
    (folder / "queries.json").write_text(json.dumps(found), encoding="utf-8")


def syllable(number: int) -> str:
    """A pronounceable word for a number, ended so that no stemmer changes it."""
    sounds = [f"{consonant}{vowel}" for consonant in "bdfgklmnprtvz" for vowel in "aou"]
    text = ""
    while number or not text:
        number, place = divmod(number, len(sounds))
        text += sounds[place]
    return f"{text}x"


def _around(random: np.random.Generator, centres: Any, count: int) -> Vectors:
    chosen = centres[random.integers(0, len(centres), count)]
    found: Vectors = (chosen + 0.5 * random.standard_normal((count, DIM))).astype(np.float32)
    return found


def _column(vectors: Vectors) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIM)


def _exact(vectors: Vectors, query: Any, among: npt.NDArray[np.bool_] | None = None) -> list[int]:
    places = np.arange(len(vectors)) if among is None else np.flatnonzero(among)
    distance = ((vectors[places].astype(np.float64) - np.asarray(query, np.float64)) ** 2).sum(axis=1)
    return [int(place) for place in places[np.argsort(distance)[:TOP]]]


# --- one engine -------------------------------------------------------------------------------------------


def _in_a_process(engine: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.search", engine, str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


class _Ours:
    """The queries in the language of omnigraph."""

    efforts = ()

    def __init__(self, folder: Path) -> None:
        import omnigraph as og

        if (folder / "docs.omni").exists():
            self.graph = og.open(folder / "docs.omni")
            return
        schema = f"""node Doc {{ code: String @key  n: I32 @index  body: String @index
                     near: Vector({DIM}) @index  wild: Vector({DIM}) @index }}"""
        self.graph = og.init(folder / "docs.omni", schema=schema)
        self.graph.load(folder / "docs.parquet", type="Doc", runner="inline", no_build=True)

    def build(self) -> None:
        self.graph.ensure_indices()

    def vector(self, column: str, vector: list[float]) -> list[str]:
        return self._codes(f"nearest($d.{column}, $v)", v=vector)

    def filtered(self, vector: list[float]) -> list[str]:
        return self._codes("nearest($d.near, $v)", f"$d.n < {_SHARE}", v=vector)

    def words(self, text: str) -> list[str]:
        return self._codes("bm25($d.body, $t)", t=text)

    def hybrid(self, vector: list[float], text: str) -> list[str]:
        return self._codes("rrf(nearest($d.near, $v), bm25($d.body, $t))", v=vector, t=text)

    def equal(self, text: str) -> list[str]:
        found = self.graph.query(
            "query q($t: String) { match { $d: Doc { body: $t } } return { $d.code } }", params={"t": text}
        )
        return [row["d.code"] for row in found.rows()]

    def _codes(self, rank: str, where: str = "", **params: Any) -> list[str]:
        kinds = {"v": f"$v: Vector({DIM})", "t": "$t: String"}
        declared = ", ".join(kinds[name] for name in params)
        text = (
            f"query q({declared}) {{ match {{ $d: Doc {where} }} return {{ $d.code }} order {{ {rank} }} limit {TOP} }}"
        )
        return [row["d.code"] for row in self.graph.query(text, params=params).rows()]


class _Lancedb:
    """The same with lancedb's own defaults, until it is told to try harder."""

    # (partitions that are searched, how many times the wanted rows are measured exactly)
    efforts = ((50, 10), (100, 30), (200, 100), (400, 300))

    def __init__(self, folder: Path) -> None:
        import lancedb

        self.effort: tuple[int, int] | None = None
        store = lancedb.connect(folder / "docs.lancedb")
        if (folder / "docs.lancedb" / "docs.lance").exists():
            self.table = store.open_table("docs")
        else:
            self.table = store.create_table("docs", pq.read_table(folder / "docs.parquet"))

    def build(self) -> None:
        for column in ("near", "wild"):
            self.table.create_index(metric="l2", vector_column_name=column)
        for column in ("code", "n"):
            self.table.create_scalar_index(column)
        self.table.create_fts_index("body", use_tantivy=False)

    def vector(self, column: str, vector: list[float]) -> list[str]:
        return self._codes(self._search(column, vector))

    def filtered(self, vector: list[float]) -> list[str]:
        return self._codes(self._search("near", vector).where(f"n < {_SHARE}", prefilter=True))

    def _search(self, column: str, vector: list[float]) -> Any:
        search: Any = self.table.search(vector, vector_column_name=column)
        return search if self.effort is None else search.nprobes(self.effort[0]).refine_factor(self.effort[1])

    def words(self, text: str) -> list[str]:
        return self._codes(self.table.search(text, query_type="fts", fts_columns="body"))

    def hybrid(self, vector: list[float], text: str) -> list[str]:
        from lancedb.rerankers import RRFReranker

        search = self.table.search(query_type="hybrid", vector_column_name="near", fts_columns="body")
        return self._codes(search.vector(vector).text(text).rerank(RRFReranker()))

    def equal(self, text: str) -> list[str]:
        return self._codes(self.table.search().where(f"body = '{text}'"))

    def _codes(self, search: Any) -> list[str]:
        found: list[str] = search.limit(TOP).select(["code"]).to_arrow()["code"].to_pylist()
        return found


def measure(engine: str, folder: Path) -> dict[str, float]:
    """Everything about one engine."""
    queries = Data(**json.loads((folder / "queries.json").read_text(encoding="utf-8")))
    kind, place = (_Ours, "docs.omni") if engine == "omnigraph" else (_Lancedb, "docs.lancedb")
    fresh = not (folder / place).exists()
    store = kind(folder)
    before = peak_mib()
    begin = time.perf_counter()
    if fresh:
        store.build()
    built = (time.perf_counter() - begin) * 1000
    body = pq.read_table(folder / "docs.parquet", columns=["body"])["body"][COUNT // 2].as_py()
    times = [
        _each(lambda place: store.vector("near", queries.clustered[place])),
        _each(lambda place: store.filtered(queries.clustered[place])),
        _each(lambda place: store.words(queries.words[place])),
        _each(lambda place: store.hybrid(queries.clustered[place], queries.words[place])),
        _each(lambda place: store.equal(body)),
    ]
    found = {
        **dict(zip(_TIMES, times, strict=True)),
        "build the indexes": built,
        "recall clustered": _recall(lambda q: store.vector("near", q), queries.clustered, queries.clustered_truth),
        "recall random": _recall(lambda q: store.vector("wild", q), queries.random, queries.random_truth),
        "recall filtered": _recall(store.filtered, queries.clustered, queries.filtered_truth),
        "MB before": before,
        "peak MB": peak_mib(),
    }
    plain = (queries.clustered, queries.clustered_truth, found["recall clustered"])
    some = (queries.clustered, queries.filtered_truth, found["recall filtered"])
    found[_GOOD] = _with_recall(store, lambda q: store.vector("near", q), *plain) or times[0]
    found[_GOOD_FILTERED] = _with_recall(store, store.filtered, *some) or times[1]
    return found


def _with_recall(store: Any, search: Callable[[Any], list[str]], asked: Any, truth: Any, recall: float) -> float | None:
    """The time of a search with the least effort that has the recall we ask of ourselves; None: it had it already."""
    if recall >= _RECALL:
        return None
    for effort in store.efforts:
        store.effort = effort
        if _recall(search, asked, truth) >= _RECALL:
            break
    taken = _each(lambda place: search(asked[place]))
    store.effort = None
    return taken


def _each(call: Callable[[int], object]) -> float:
    """The median over different queries."""
    places = iter(range(10**9))
    return median_ms(lambda: call(next(places) % QUERIES), repeats=_REPEATS, warmup=_WARMUP)


def _recall(search: Callable[[Any], list[str]], queries: Any, truth: list[list[int]]) -> float:
    shares = [
        len({f"d{place:06}" for place in exact} & set(search(query))) / TOP
        for query, exact in zip(queries, truth, strict=True)
    ]
    return float(np.mean(shares))


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))
