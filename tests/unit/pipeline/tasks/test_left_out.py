"""Rows that are left out, round by round, are those that a plain list of them names, and each counts once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from omnigraph.engine.intake.violations import Violation
from omnigraph.pipeline.tasks.left_out import (
    NOWHERE,
    Findings,
    Joined,
    join_findings,
    original_positions,
    positions_left_out,
    reasons_in,
    said_of_no_row,
    shares,
    write_codes,
    write_violations,
)

ROWS = 60
TABLES = ("edge:K", "node:P")


@pytest.mark.parametrize("seed", range(20))
def test_positions_after_rows_were_dropped_lead_back_to_the_original_rows(seed: int) -> None:
    generator = np.random.default_rng(seed)
    dropped = np.sort(generator.choice(100, 30, replace=False))
    kept = np.setdiff1d(np.arange(100), dropped)
    assert original_positions(np.arange(70), dropped).tolist() == kept.tolist()


def code(split: int, position: int) -> int:
    return (split << 40) + position


def joined(place: Path, files: list[Findings], splits: int, tasks: int, before: dict[int, str], **how: bool) -> Joined:
    how = {"in_words": False, **how}
    return sum((join_findings(str(place), files, share, **how) for share in shares(splits, tasks, before)), Joined())


@pytest.mark.parametrize("splits", [1, 3, 2_500])
@pytest.mark.parametrize("tasks", [1, 2, 7])
def test_rounds_of_findings_leave_out_what_a_list_of_rows_would(tmp_path: Path, splits: int, tasks: int) -> None:
    generator = np.random.default_rng(splits * tasks)
    some = sorted({0, splits // 2, splits - 1})
    left = {(key, split): list(range(ROWS)) for key in TABLES for split in some}
    files: dict[int, str] = {}
    for round in range(4):
        found, counts = [], Counter[tuple[str, str]]()
        gone: dict[tuple[str, int], set[int]] = {place: set() for place in left}
        for number in range(5):
            key, kind = TABLES[number % 2], f"W{number}"
            chosen = [
                (split, int(at)) for split in some for at in generator.choice(len(left[key, split]), 4, replace=False)
            ]
            found.append(Findings(key, str(tmp_path / f"found-{round}-{number}")))
            codes = np.array([code(split, at) for split, at in chosen], np.int64)
            write_codes(found[-1].path, [(kind, codes)], splits)
            for split, at in chosen:
                counts[key, kind] += at not in gone[key, split]
                gone[key, split].add(at)
        done = joined(tmp_path, found, splits, tasks, files)
        assert done.counts == counts, "a row counts once, under what was found first"
        files |= done.files
        for place, positions in gone.items():
            left[place] = [row for at, row in enumerate(left[place]) if at not in positions]
    for (key, split), rows in left.items():
        named = positions_left_out(files[split])[key]
        assert np.setdiff1d(np.arange(ROWS), named).tolist() == rows
        assert np.all(np.diff(named) > 0)


def violation(line: int | None, name: str | None, kind: str = "W013", entity: str = "e") -> Violation:
    return Violation(kind, f"{entity} {name}", "edge:K", name, (entity, "end"), line)


def test_words_are_kept_by_row_and_those_about_no_row_apart(tmp_path: Path) -> None:
    files = [Findings("edge:K", str(tmp_path / f"found-{at}")) for at in range(2)]
    write_violations(files[0].path, [violation(code(1, 5), "dst"), violation(None, "src", entity="z")], 3)
    write_violations(files[1].path, [violation(code(1, 5), "src"), violation(None, "src", entity="a")], 3)
    done = joined(tmp_path, files, 3, 2, {}, in_words=True)
    assert sorted(done.files) == [NOWHERE, 1]
    assert done.counts == {("edge:K", "W013"): 3}
    told = reasons_in(done.files[1])
    assert [each.property_name for each in told["edge:K"][5]] == ["src", "dst"]
    assert [each.entity_id for each in said_of_no_row(done.files[NOWHERE])] == ["a", "z"]
    again = joined(tmp_path, files[:1], 3, 2, done.files)
    assert positions_left_out(again.files[1])["edge:K"].tolist() == [5, 6], "the row that was the sixth by then"
    assert list(reasons_in(again.files[1])["edge:K"]) == [5], "nothing is said about rows that are only left out"


def test_nothing_is_left_out_without_a_file() -> None:
    assert (positions_left_out(""), reasons_in("")) == ({}, {})
