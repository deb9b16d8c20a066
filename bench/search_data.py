"""The documents of `bench/search.py`: texts, vectors, topics, and the exact answers to the questions about them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.search_engines import SHARE, TOP

QUERIES = 100
_WORDS = 20_000
_TEXT_LENGTH = 20
_CENTRES = _TOPICS = 1_000
_BLOCK = 1 << 16

Vectors = npt.NDArray[np.float32]
Masks = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Documents:
    table: pa.Table
    vectors: Vectors
    numbers: npt.NDArray[np.int32]
    topics: npt.NDArray[np.int64]


def write_data(folders: dict[int, Path], dim: int) -> None:
    """For each number of rows a folder with the first so many as Parquet, questions and exact answers as JSON."""
    random = np.random.default_rng(17)
    centres = random.standard_normal((_CENTRES, dim)).astype(np.float32)
    words = [syllable(number) for number in range(_WORDS)]
    documents = _documents(random, centres, words, max(folders))
    asked = _around(random, centres, QUERIES)
    about = random.integers(0, _TOPICS, QUERIES)
    for count, folder in folders.items():
        folder.mkdir(exist_ok=True)
        table = documents.table.slice(0, count)
        pq.write_table(table, folder / "docs.parquet", use_dictionary=["n", "topic"], row_group_size=_BLOCK)
        numbers, topics = documents.numbers[:count], documents.topics[:count]
        every, few = np.ones(count, np.bool_)[None], (numbers < SHARE)[None]
        behind = [topics[low : low + _BLOCK] == about[:, None] for low in range(0, count, _BLOCK)]
        vectors = documents.vectors[:count]
        found = {
            "vectors": asked.tolist(),
            "words": [f"{words[50 + number]} {words[500 + number]}" for number in range(QUERIES)],
            "topics": [f"t{topic}" for topic in about.tolist()],
            "body": table["body"][count // 2].as_py(),
            "vector": _exact(vectors, asked, _blocks(every)),
            "filtered": _exact(vectors, asked, _blocks(few)),
            "behind": _exact(vectors, asked, behind),
        }
        (folder / "queries.json").write_text(json.dumps(found), encoding="utf-8")


def _documents(random: np.random.Generator, centres: Vectors, words: list[str], count: int) -> _Documents:
    vectors = _around(random, centres, count)
    chosen = np.minimum(random.zipf(1.3, (count, _TEXT_LENGTH)) - 1, _WORDS - 1)
    numbers = random.integers(0, 100, count).astype(np.int32)
    topics = random.integers(0, _TOPICS, count)
    spelt = pa.array(words).take(pa.array(chosen.reshape(-1)))
    bodies = pc.binary_join(pa.FixedSizeListArray.from_arrays(spelt, _TEXT_LENGTH).cast(pa.list_(pa.string())), " ")
    rows = {
        "code": pa.array([code(number) for number in range(count)]),
        "n": pa.array(numbers),
        "topic": pa.array([f"t{topic}" for topic in topics.tolist()]),
        "body": bodies,
        "near": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), centres.shape[1]),
    }
    return _Documents(pa.table(rows), vectors, numbers, topics)


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


def _blocks(allowed: Masks) -> list[Masks]:
    return [allowed[:, low : low + _BLOCK] for low in range(0, allowed.shape[1], _BLOCK)]


def _exact(vectors: Vectors, queries: Vectors, among: Sequence[Masks]) -> list[list[str]]:
    """The nearest rows: of every block about a hundred by single precision, of which double precision chooses."""
    candidates: list[list[npt.NDArray[np.int64]]] = [[] for _ in queries]
    for number, allowed in enumerate(among):
        low = number * _BLOCK
        block = vectors[low : low + _BLOCK]
        rough = np.einsum("ij,ij->i", block, block) - 2 * (queries @ block.T)
        rough = np.where(allowed, rough, np.inf)
        few = np.argpartition(rough, min(TOP * 10, len(block) - 1), axis=1)[:, : TOP * 10]
        for query, (found, values) in enumerate(zip(few, np.take_along_axis(rough, few, axis=1), strict=True)):
            candidates[query].append(found[np.isfinite(values)] + low)
    exact = []
    for query, parts in zip(queries, candidates, strict=True):
        places = np.concatenate(parts)
        distance = ((vectors[places].astype(np.float64) - query.astype(np.float64)) ** 2).sum(axis=1)
        exact.append([code(int(place)) for place in places[np.argsort(distance)[:TOP]]])
    return exact
