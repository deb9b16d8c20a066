"""Writes a social network of any size as Parquet files: skewed follows, posts and likes, always the same."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CITIES = ("Oslo", "Kyoto", "Turin", "Accra", "Lima", "Graz", "Quito", "Pune")
OPENINGS = ("Look at", "Dreaming of", "Nobody told me about", "Two hours of", "Once more")
THINGS = ("the harbour at night", "fresh bread", "a broken bicycle", "graph databases", "the mountain railway")


def generate(folder: Path, *, people: int, seed: int = 3) -> dict[str, int]:
    """Write the files into `folder` and return the rows of each: about 20 follows, 2 posts and 6 likes a person."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    posts = people * 2
    tables = {
        "people": _people(people, rng),
        "posts": _posts(posts, rng),
        "follows": _follows(people, people * 20, rng),
        "posted": pa.table({"a": _ids("u", rng.integers(0, people, posts)), "b": _ids("t", np.arange(posts))}),
        "likes": pa.table({"a": _ids("u", rng.integers(0, people, people * 6)), "b": _popular(posts, people * 6, rng)}),
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=500_000)
    return {name: table.num_rows for name, table in tables.items()}


def _people(count: int, rng: np.random.Generator) -> pa.Table:
    joined = np.datetime64("2012-01-01") + rng.integers(0, 5_000, count).astype("timedelta64[D]")
    city = np.array(CITIES, dtype=object)[rng.integers(0, len(CITIES), count)]
    return pa.table({"handle": _ids("u", np.arange(count)), "city": pa.array(city), "joined": pa.array(joined)})


def _posts(count: int, rng: np.random.Generator) -> pa.Table:
    opening = np.array(OPENINGS, dtype=object)[rng.integers(0, len(OPENINGS), count)]
    thing = np.array(THINGS, dtype=object)[rng.integers(0, len(THINGS), count)]
    posted = np.datetime64("2020-01-01T00:00:00", "ms") + rng.integers(0, 190_000_000_000, count)
    return pa.table({"slug": _ids("t", np.arange(count)), "text": pa.array(opening + " " + thing), "posted": posted})


def _follows(people: int, count: int, rng: np.random.Generator) -> pa.Table:
    source = rng.integers(0, people, count)
    target = (people * rng.random(count) ** 3).astype(np.int64)
    pairs = np.unique(source * people + target)
    pairs = pairs[pairs // people != pairs % people]
    since = np.datetime64("2015-01-01") + rng.integers(0, 4_000, len(pairs)).astype("timedelta64[D]")
    return pa.table({"a": _ids("u", pairs // people), "b": _ids("u", pairs % people), "since": pa.array(since)})


def _popular(posts: int, count: int, rng: np.random.Generator) -> pa.Array:
    return _ids("t", (posts * rng.random(count) ** 4).astype(np.int64))


def _ids(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pa.array(np.char.add(prefix, numbers.astype(str)))


if __name__ == "__main__":
    for file, rows in generate(Path(sys.argv[1]), people=int(sys.argv[2])).items():
        print(f"{rows:>12,}  {file}")
