"""One suite of loads, three ways to run them: the same graph, or the same error with the same line."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from load_cases import Case, bad, good
from outcomes import inline, outcome

from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning

CASES = [pytest.param(case, id=case.name) for case in (*good(), *bad())]
REFUSED = {case.name for case in bad()}
# So small that every input has many splits and every check many buckets.
TINY = Tuning(split_bytes=700, bucket_rows=7, keyed_rows=0)
FEW = Tuning(split_bytes=3_000, bucket_rows=50)
ON_SPARK = {
    "everything-twice-merged", "everything-overwritten", "many", "limits", "merge-keeps-the-last-of-an-id",
    "empty", "not-utf8", "first-of-several", "repeated-key", "unique-against-committed", "missing-target",
    "too-many-edges", "edges-left-dangling",
}  # fmt: skip


def compare(tmp_path: Path, case: Case, run: Any) -> None:
    expected = outcome(tmp_path / "inline", case, inline)
    found = outcome(tmp_path / "tasks", case, run)
    assert found == expected
    assert ("error" in expected) == (case.name in REFUSED)
    assert expected["moved"] != (case.name in REFUSED)


@pytest.fixture(autouse=True)
def places(tmp_path: Path) -> None:
    for name in ("inline", "tasks"):
        (tmp_path / name).mkdir()


@pytest.mark.parametrize("case", CASES)
def test_tasks_in_this_process_do_what_a_plain_load_does(tmp_path: Path, case: Case) -> None:
    compare(tmp_path, case, partial(load, tasks=LocalTasks()))


@pytest.mark.parametrize("case", CASES)
def test_many_splits_and_buckets_change_nothing(tmp_path: Path, case: Case) -> None:
    compare(tmp_path, case, partial(load, tasks=LocalTasks(), tuning=TINY))


@pytest.mark.parametrize("case", [each for each in CASES if each.id in ON_SPARK])
def test_spark_does_what_a_plain_load_does(tmp_path: Path, case: Case, spark: Any) -> None:
    compare(tmp_path, case, partial(load, tasks=SparkTasks(spark), tuning=FEW))


class TwiceTasks(LocalTasks):
    """What speculation makes of tasks: each runs twice to its end, and the answer of either may be taken."""

    def run(self, work: Any, items: Any, **options: Any) -> list[Any]:
        answers = [super(TwiceTasks, self).run(work, items, **options) for _ in range(2)]
        return [answers[at % 2][at] for at in range(len(items))]


@pytest.mark.parametrize("case", [each for each in CASES if each.id in ON_SPARK])
def test_tasks_that_run_twice_duplicate_and_lose_nothing(tmp_path: Path, case: Case) -> None:
    compare(tmp_path, case, partial(load, tasks=TwiceTasks(), tuning=TINY))
    assert list((tmp_path / "tasks").rglob("__loads/*")) == []
