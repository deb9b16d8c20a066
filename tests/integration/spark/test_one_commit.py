"""One commit at a small size: a reader in another process sees a Spark load of every mode happen at once.

`python -m omnigraph.testing.one_commit.proof` is the same with millions of rows, and kills drivers and workers on the way;
with `--speculation` on a cluster that attempts tasks twice, of which some trials are here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.values.result import LoadMode
from omnigraph.testing.one_commit.child import ACTOR
from omnigraph.testing.one_commit.data import MODES, Sizes, write_base, write_input
from omnigraph.testing.one_commit.proof import Report, Trial, judge, run_trial, tidy, trials, watching
from omnigraph.testing.services.spark_cluster import running_cluster

SIZES = Sizes(200, 2_000)


@pytest.mark.parametrize("mode", MODES)
def test_a_reader_sees_the_old_state_or_the_new_one(tmp_path: Path, spark: Any, mode: LoadMode) -> None:
    root, trial = tmp_path / "graph", Trial(mode, "undisturbed", "", "", "new")
    report = Report(trial)
    mapping = write_input(tmp_path / "input", SIZES)
    write_base(root, SIZES, mode)
    with og.open(root, actor=ACTOR) as graph:
        known = graph.commits.head()
        with watching(root, tmp_path, report, SIZES.before(), SIZES.after(mode)):
            graph.load(mapping=mapping, mode=mode, runner="spark", spark=spark)
    judge(trial, root, known, SIZES, report)
    tidy(root, report)
    assert report.problems == []
    assert report.seen == ["old", "new"]


# Second attempts have written before first ones do.
LATE = "load.split_begun_at_first=sleep:15"
TWICE = {
    "merge, undisturbed": [""],
    "append, driver killed: writing parts": ["", LATE],
}


@pytest.mark.slow
def test_a_task_that_is_attempted_twice_is_committed_once(tmp_path: Path) -> None:
    mapping = write_input(tmp_path / "input", SIZES)
    with running_cluster(2, connect_server=False) as cluster:
        wanted = [(each, more) for each in trials(speculation=True) for more in TWICE.get(each.name, ())]
        for mode in {trial.mode for trial, _ in wanted}:
            write_base(tmp_path / mode, SIZES, mode)
        for number, (trial, more) in enumerate(wanted):
            (place := tmp_path / str(number)).mkdir()
            trial = replace(trial, failpoints=";".join(filter(None, (trial.failpoints, more))))
            report = run_trial(trial, place, tmp_path / trial.mode, mapping, SIZES, cluster=cluster)
            assert report.problems == [], trial
            assert report.twice is not None
            assert report.twice["stage"] >= 1
            assert f"stage {report.twice['stage']}" in report.line()
