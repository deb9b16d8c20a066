"""Tasks on Spark: one for each item however many there are, called by what they do, and measured."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from omnigraph.errors import BadRequest
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks


def test_items_travel_to_their_own_tasks_only(spark: Any) -> None:
    """A closure with all items would make what is sent grow with the square of their number."""
    items = [f"{at}-{'x' * 3_000}" for at in range(60)]
    tasks = SparkTasks(spark)

    def work(item: str) -> tuple[int, int]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        return int(item.partition("-")[0]), context.partitionId()

    found = tasks.run(work, items, stage="numbers", report=None)
    assert [at for at, _ in found] == list(range(60))
    assert len({partition for _, partition in found}) == 60
    assert tasks.measured[-1].tasks == 60
    assert 0 < tasks.measured[-1].answer_bytes < 60 * 200


def test_jobs_are_called_by_their_stage_and_what_was_set_comes_back(spark: Any) -> None:
    context = spark.sparkContext
    context.setLocalProperty("spark.job.description", "mine")
    before = set(context.statusTracker().getJobIdsForGroup("omnigraph-check"))
    SparkTasks(spark).run(lambda item: item, [1, 2], stage="check", report=None, about="edge:Knows")
    assert len(set(context.statusTracker().getJobIdsForGroup("omnigraph-check")) - before) == 1
    assert context.getLocalProperty("spark.job.description") == "mine"
    context.setLocalProperty("spark.job.description", None)


def test_answers_of_tasks_are_guarded_in_size(spark: Any) -> None:
    if spark.conf.get("spark.app.name") == "omnigraph":
        assert spark.conf.get("spark.driver.maxResultSize") == "1g"


def test_tasks_in_this_process_may_run_side_by_side() -> None:
    """Each waits for the other, so that one after the other would never end."""
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        end = time.monotonic() + 30
        while len(begun) < 2 and time.monotonic() < end:
            time.sleep(0.001)
        assert len(begun) == 2, os.getpid()
        return item * 10

    tasks = LocalTasks(cores=2)
    assert tasks.run(work, [1, 2], stage="both", report=None) == [10, 20]
    assert (tasks.measured[0].stage, tasks.measured[0].tasks) == ("both", 2)


@pytest.mark.parametrize("cores", [1, 3])
def test_the_error_of_the_first_item_is_raised(cores: int) -> None:
    def work(item: int) -> int:
        if item:
            raise BadRequest(f"item {item}")
        return item

    with pytest.raises(BadRequest, match="item 1"):
        LocalTasks(cores).run(work, [0, 1, 2, 3], stage="some", report=None)
