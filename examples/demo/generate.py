"""Writes the demo's raw files: people, companies, papers and documents with a million edges, always the same."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from themes import THEMES

FIRST = (
    "Ada",
    "Bruno",
    "Chen",
    "Dana",
    "Emre",
    "Farah",
    "Goran",
    "Hana",
    "Ivo",
    "Jia",
    "Kofi",
    "Lena",
    "Milo",
    "Nadia",
)
LAST = (
    "Abe",
    "Bauer",
    "Costa",
    "Dang",
    "Eriksen",
    "Fischer",
    "Gupta",
    "Hansen",
    "Ito",
    "Jansen",
    "Kim",
    "Lopez",
    "Meyer",
)
CITIES = ("Oslo", "Kyoto", "Turin", "Accra", "Lima", "Graz", "Quito", "Pune", "Lyon", "Perth")
TRADES = ("Analytics", "Robotics", "Foundry", "Optics", "Logistics", "Genomics", "Energy", "Software")
ROLES = ("engineer", "researcher", "manager", "founder")


def generate(folder: Path, *, people: int = 100_000, seed: int = 7) -> dict[str, int]:
    """Write every raw file into `folder` and return the rows of each; the same bytes for the same arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    companies, papers, documents = people // 50, people // 5, people // 10
    tables = {
        "people.csv": _people(people, rng),
        "companies.csv": _companies(companies, rng),
        "papers.parquet": _papers(papers, rng),
        "documents.parquet": _documents(documents, rng),
        "knows.parquet": _knows(people, people * 8, rng),
        "works_at.parquet": _works_at(people, companies, rng),
        "wrote.parquet": _links(rng, people, "p", papers, "paper-", each=2),
        "cites.parquet": _cites(papers, rng),
        "owns.parquet": _links(rng, companies, "c", documents, "doc-", each=1),
    }
    for name, table in tables.items():
        if name.endswith(".csv"):
            pa.csv.write_csv(table, folder / name)
        else:
            pq.write_table(table, folder / name, row_group_size=200_000)
    return {name: table.num_rows for name, table in tables.items()}


def _people(count: int, rng: np.random.Generator) -> pa.Table:
    joined = np.datetime64("2005-01-01") + rng.integers(0, 7_600, count).astype("timedelta64[D]")
    role = np.array(ROLES, dtype=object)[rng.integers(0, len(ROLES), count)]
    role[17] = "researcher"  # the story gives p17 two other roles
    return pa.table(
        {
            "login": _ids("p", np.arange(count)),
            "full_name": _phrase(rng, count, FIRST, LAST),
            "age": pa.array(rng.integers(20, 71, count), mask=rng.random(count) < 0.1),
            "role": pa.array(role),
            "joined": pa.array(joined),
        }
    )


def _companies(count: int, rng: np.random.Generator) -> pa.Table:
    city = np.array(CITIES, dtype=object)[rng.integers(0, len(CITIES), count)]
    last = np.array(LAST, dtype=object)[rng.integers(0, len(LAST), count)]
    trade = np.array(TRADES, dtype=object)[rng.integers(0, len(TRADES), count)]
    name = city + " " + last + " " + trade
    return pa.table({"slug": _ids("c", np.arange(count)), "name": pa.array(name), "city": pa.array(city)})


def _papers(count: int, rng: np.random.Generator) -> pa.Table:
    theme = rng.integers(0, len(THEMES), count)
    return pa.table(
        {
            "doi": _ids("paper-", np.arange(count)),
            "title": _by_theme(rng, theme, "titles"),
            "year": pa.array(rng.integers(1995, 2027, count), pa.int32()),
        }
    )


def _documents(count: int, rng: np.random.Generator) -> pa.Table:
    theme = rng.integers(0, len(THEMES), count)
    number = np.char.add("Note ", np.arange(count).astype(str)).astype(object)
    body = [_by_theme(rng, theme, "sentences").to_numpy(zero_copy_only=False) for _ in range(2)]
    return pa.table(
        {
            "slug": _ids("doc-", np.arange(count)),
            "title": pa.array(number + ": " + np.array([theme.name for theme in THEMES], dtype=object)[theme]),
            "body": pa.array(body[0] + " " + body[1]),
        }
    )


def _knows(people: int, count: int, rng: np.random.Generator) -> pa.Table:
    """Some people are known by many: targets are skewed, pairs are distinct."""
    source = rng.integers(0, people, count)
    target = (people * rng.random(count) ** 2).astype(np.int64)
    pairs = np.unique(source * people + target)
    source, target = pairs // people, pairs % people
    keep = source != target
    source, target = source[keep], target[keep]
    since = np.datetime64("2000-01-01") + rng.integers(0, 9_400, len(source)).astype("timedelta64[D]")
    return pa.table({"a": _ids("p", source), "b": _ids("p", target), "since": pa.array(since)})


def _works_at(people: int, companies: int, rng: np.random.Generator) -> pa.Table:
    employed = np.flatnonzero(rng.random(people) < 0.9)
    return pa.table({"a": _ids("p", employed), "b": _ids("c", rng.integers(0, companies, len(employed)))})


def _links(rng: np.random.Generator, sources: int, source: str, targets: int, target: str, *, each: int) -> pa.Table:
    """Every target gets `each` random sources."""
    ends = np.repeat(np.arange(targets), each)
    return pa.table({"a": _ids(source, rng.integers(0, sources, len(ends))), "b": _ids(target, ends)})


def _cites(papers: int, rng: np.random.Generator) -> pa.Table:
    """A paper cites earlier ones."""
    source = np.repeat(np.arange(1, papers), 3)
    return pa.table(
        {"a": _ids("paper-", source), "b": _ids("paper-", (rng.random(len(source)) * source).astype(np.int64))}
    )


def _ids(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pa.array(np.char.add(prefix, numbers.astype(str)))


def _phrase(rng: np.random.Generator, count: int, first: tuple[str, ...], second: tuple[str, ...]) -> pa.Array:
    heads = np.array(first, dtype=object)[rng.integers(0, len(first), count)]
    return pa.array(heads + " " + np.array(second, dtype=object)[rng.integers(0, len(second), count)])


def _by_theme(rng: np.random.Generator, theme: np.ndarray, field: str) -> pa.Array:
    texts = [getattr(entry, field) for entry in THEMES]
    width = min(len(group) for group in texts)
    table = np.array([group[:width] for group in texts], dtype=object)
    return pa.array(table[theme, rng.integers(0, width, len(theme))])


if __name__ == "__main__":
    for file, rows in generate(Path(sys.argv[1]), people=int(sys.argv[2])).items():
        print(f"{rows:>10,}  {file}")
