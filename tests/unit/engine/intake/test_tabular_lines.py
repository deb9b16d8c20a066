"""Rows of a CSV file with too many or too few cells are refused one by one, and quotes that are not closed by line."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest, run_load
from omnigraph.engine.intake.inputs import csv_lines, table_files
from omnigraph.errors import BadRequest, ValueViolation
from omnigraph.pipeline.runners import RUNNERS
from omnigraph.pipeline.tasks import unpack
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning

SCHEMA = "node P { k: String @key  n: String? }"
SMALL = Tuning(split_bytes=200, bucket_rows=50)
Run = Callable[..., Any]
RUNS: dict[str, Run] = {
    "inline": lambda graph, request: run_load(RUNNERS, graph, request, "inline"),
    "tasks": partial(load, tasks=LocalTasks()),
    "pieces": partial(load, tasks=LocalTasks(), tuning=SMALL),
}


def request(path: Path, **options: Any) -> LoadRequest:
    return LoadRequest(data=str(path), mode="append", type="P", **options)


def loaded(place: Path, path: Path, run: Run) -> tuple[list[dict[str, Any]], list[tuple[int, str, str]]]:
    """The rows of a file, and line, reason and content of those that were refused."""
    graph = og.init(place / "g", SCHEMA)
    done = run(access(graph), request(path, on_error="skip", rejects=str(place / "out")))
    found = [json.loads(line) for line in (place / "out" / "rejects.jsonl").read_text().splitlines()]
    assert all(
        (each["file"], each["code"], each["type"], len(each["reasons"])) == (str(path), "W019", "P", 1)
        for each in found
    )
    assert done.rejected == ({"W019": len(found)} if found else {})
    told = [(each["line"], each["reasons"][0]["message"], each["content"]) for each in found]
    return graph.query("match { $p: P } return { $p.k as k, $p.n as n } order { $p.k }").rows(), told


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_ragged_row_is_refused_and_the_others_load(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "in.csv"
    path.write_text("k,n\n1,x\n2\n3,y,z\n4,w\n5\n")
    rows, told = loaded(tmp_path, path, run)
    assert rows == [{"k": "1", "n": "x"}, {"k": "4", "n": "w"}]
    assert told == [
        (3, "line 3: expected 2 columns, got 1", "2"),
        (4, "line 4: expected 2 columns, got 3", "3,y,z"),
        (6, "line 6: expected 2 columns, got 1", "5"),
    ]


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_load_that_stops_counts_ragged_rows_with_others(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "in.csv"
    path.write_text("k,n\n1,x\n2\n,y\n3,y,z\n")
    with pytest.raises(ValueViolation) as refused:
        run(access(og.init(tmp_path / "g", SCHEMA)), request(path))
    assert str(refused.value) == f"W019: {path}: line 3: expected 2 columns, got 1"
    assert refused.value.refused == {"W001": 1, "W019": 2}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("header", [True, False], ids=["header", "no header"])
def test_lines_count_blank_ones_and_breaks_within_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, packed: bool, ending: str, header: bool
) -> None:
    monkeypatch.setattr(unpack, "_READ_BYTES", 90)
    monkeypatch.setattr(table_files, "_BLOCKS", (60, 1 << 20))  # so that lines go on through blocks, and over again
    draw, texts, wanted, good, line = random.Random(7), list[str](), list[tuple[int, str, str]](), [], 1 + header
    for at in range(400):
        text = ("\n" * draw.choice([0, 0, 1, 3])).join("ab")
        kind = draw.choice(["good", "good", "short", "long", "bad key"])
        cells = {
            "good": [f"{at:03}", f'"{text}"'],
            "short": [f'"{text}"'],
            "long": [f"{at:03}", f'"{text}"', "c"],
            "bad key": ["", f'"{text}"'],
        }[kind]
        row = ",".join(cells).replace("\n", ending)
        if kind == "good":
            good.append({"k": f"{at:03}", "n": text.replace("\n", ending)})
        elif kind != "bad key":
            wanted.append((line, f"line {line}: expected 2 columns, got {len(cells)}", row))
        blank = draw.choice([0, 0, 0, 1, 2])
        texts.append(row + ending + ending * blank)
        line += row.count("\n") + 1 + blank
    whole = ("k,n" + ending) * header + "".join(texts)
    data, path = whole.encode(), tmp_path / ("in.csv.gz" if packed else "in.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    source = {"path": str(path), **({} if header else {"names": ["k", "n"], "header": False})}
    mapping = {"sources": {"p": source}, "nodes": {"P": {"from": "p"}}}
    graph = og.init(tmp_path / "g", SCHEMA)
    asked = LoadRequest(data=None, mapping=mapping, mode="append", on_error="skip", rejects=str(tmp_path / "out"))
    run(access(graph), asked)
    found = [json.loads(each) for each in (tmp_path / "out" / "rejects.jsonl").read_text().splitlines()]
    ragged = [
        (each["line"], each["reasons"][0]["message"], each["content"]) for each in found if each["code"] == "W019"
    ]
    assert ragged == wanted
    assert graph.query("match { $p: P } return { $p.k as k, $p.n as n } order { $p.k }").rows() == good
    lines = whole.split("\n")
    missing = [each["line"] for each in found if each["code"] == "W001"]
    assert missing
    assert all(lines[at - 1].startswith(',"') for at in missing)


@pytest.mark.parametrize("rows", [1, 3, 5_000])
@pytest.mark.parametrize("run", [RUNS["inline"], RUNS["tasks"]], ids=["inline", "tasks"])
def test_a_file_without_any_row_of_the_right_width_is_refused_as_a_whole(tmp_path: Path, run: Run, rows: int) -> None:
    path = tmp_path / "in.csv"
    path.write_text("k;n\n" + "1,5;x\n" * rows)
    asked = request(path, on_error="skip", rejects=str(tmp_path / "out"))
    with pytest.raises(BadRequest) as refused:
        run(access(og.init(tmp_path / "g", SCHEMA)), asked)
    assert str(refused.value) == (
        f"'{path}' cannot be read: its rows do not have as many columns as its header (expected 1 column, got 2: 1,5;x);"
        " does a mapping have to name its delimiter?"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('k,n\n1,"x\n2,y\n', 2),
        ('k,n\n1,x\n"2,y\n3,z\n', 3),
        ('k,n\n1,"a\nb"\n\n2,"x\n3,"y"\n4,z\n', 5),
        ('k,n\n1,"a ""b"" c\n', 2),
        ('k,"n\n1,x\n', 1),
        ('k,n\r\n1,x\r\n2,"y\r\n', 3),
    ],
)
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_quote_that_is_not_closed_is_told_with_its_line(tmp_path: Path, run: Run, text: str, line: int) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(text.encode() + b"9,end\n" * 60)
    graph = og.init(tmp_path / "g", SCHEMA)
    with pytest.raises(BadRequest) as refused:
        run(access(graph), request(path, on_error="skip", rejects=str(tmp_path / "out")))
    assert str(refused.value) == (
        f"'{path}' cannot be read: the quote that begins a cell on line {line} is not closed, so the lines after it would"
        ' be part of the cell; close it, or write a quote inside a cell in quotes as ""'
    )
    assert not graph.query("match { $p: P } return { $p.k }").rows()


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 20])
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_quote_inside_a_cell_without_quotes_is_a_character(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, size: int
) -> None:
    monkeypatch.setattr(csv_lines, "_READ_BYTES", size)
    path = tmp_path / "in.csv"
    path.write_text('k,n\n1,5" pipe\n2,"a\nb, ""c"""\n3,"d" e"\n' + "".join(f'{at},"x\n{at}"\n' for at in range(4, 90)))
    rows, told = loaded(tmp_path, path, run)
    assert not told
    by_key = {each["k"]: each["n"] for each in rows}
    assert (by_key["1"], by_key["2"], by_key["3"]) == ('5" pipe', 'a\nb, "c"', 'd e"')
    assert [by_key[str(at)] for at in range(4, 90)] == [f"x\n{at}" for at in range(4, 90)]
