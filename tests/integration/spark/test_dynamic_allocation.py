"""Executors that come and go while a load runs: no row is lost, and none is there twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.testing.services.spark_cluster import DYNAMIC_ALLOCATION, driver_environment, running_cluster
from omnigraph.testing.services.spark_events import attempts, event_log, executors, stage_times

# The first task that stages ends when an executor has gone because it had nothing to do, and the first check begins when
# none is left. Items travel as rows of a frame, so that executors also have blocks of a shuffle.
PROGRAM = """
import json, os, sys, threading, time
from pathlib import Path
import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.pipeline.spark.session import spark_session
from omnigraph.pipeline.tasks import jobs
from omnigraph.pipeline.tasks.export import export_files
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.testing.one_commit.proof import stray_files

place, master = Path(sys.argv[1]), sys.argv[2]
jobs.FEW_BYTES = 0
SCHEMA = "node P { name: String @key  age: I64? } edge K: P -> P"
LOADS = {"append": (range(3_000), "append"), "merge": (range(1_500, 4_500), "merge")}


def written(name, numbers):
    "Every hundredth row is refused by itself, and every two hundredth edge because of that."
    with Path(place, f"{name}.jsonl").open("w") as file:
        for n in numbers:
            age = "old" if n % 100 == 99 else n
            print(json.dumps({"type": "P", "data": {"name": f"p{n}", "age": age}}), file=file)
            to = n - 1 if n % 200 == 100 else n - n % 100
            print(json.dumps({"edge": "K", "from": f"p{n - n % 100}", "to": f"p{to}", "data": {"id": f"k{n}"}}), file=file)
    return str(file.name)


def active():
    return {each.id() for each in listed() if each.isActive() and each.id() != "driver"}


def listed():
    found = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return [found.apply(at) for at in range(found.size())]


def wait_for(holds):
    while not holds():
        time.sleep(0.05)


class Waiting(SparkTasks):
    seen = ()

    def run(self, work, items, *, stage, **options):
        first = stage not in self.seen
        self.seen = (*self.seen, stage)
        # Executors that have rows of the exchange in a running job stay, so a job has to begin with few of them.
        if first and stage in ("stage", "check"):
            wait_for(lambda: not active())
        if not first or stage != "stage":
            return super().run(work, items, stage=stage, **options)
        gone = place / f"gone-{time.monotonic_ns()}"

        def waiting(item):
            at, mine = item
            found = work(mine)
            while at == 0 and not gone.exists():
                time.sleep(0.05)
            return found

        def watch():
            known, last = set(), time.monotonic() + 90  # then the events show that none has gone
            while not known - active() and time.monotonic() < last:
                known |= active()
                time.sleep(0.05)
            gone.touch()

        watcher = threading.Thread(target=watch)
        watcher.start()
        found = super().run(waiting, list(enumerate(items)), stage=stage, **options)
        watcher.join()
        return found


graphs = [og.init(place / name, SCHEMA) for name in ("graph", "other")]
spark = spark_session(master)
found = []
for name, (numbers, mode) in LOADS.items():
    path = written(name, numbers)
    for graph, tasks in zip(graphs, (Waiting(spark), LocalTasks())):
        request = LoadRequest(data=path, mode=mode, on_error="skip")
        tuning = Tuning(split_bytes=os.path.getsize(path) // 8 + 1, bucket_rows=1_000, partition_rows=1_000)
        done = load(access(graph), request, tasks, tuning)
        found.append([done.nodes, done.edges, dict(done.rejected)])
        graph.refresh()
texts = []
for graph in graphs:
    export_files(graph.view(), f"{graph.uri}.jsonl", (), LocalTasks())
    texts.append(sorted(Path(f"{graph.uri}.jsonl").read_text().splitlines()))
graph = graphs[0]
left = [name for _, _, names in os.walk(f"{graph.uri}/__loads") for name in names]
print(json.dumps({"found": found, "rows": list(map(len, texts)), "same": texts[0] == texts[1], "left": left,
                  "commits": len(graph.commits.list()), "strays": stray_files(graph),
                  "sound": not graph.check().findings, "adaptive": spark.conf.get("spark.sql.adaptive.enabled")}))
spark.stop()
"""


@pytest.mark.slow
def test_a_load_is_exact_while_executors_come_and_go(tmp_path: Path) -> None:
    events = tmp_path / "events"
    with running_cluster(2, connect_server=False) as cluster:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path), cluster.master],
            env=os.environ | driver_environment(DYNAMIC_ALLOCATION | event_log(events)),
            capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip
    told = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    assert done.returncode == 0, "\n".join(told)[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    appended, expected, merged, expected_of_merge = found["found"]
    assert (appended, merged) == (expected, expected_of_merge)
    nodes, edges, rejected = appended
    assert (nodes, edges) == ({"P": 2_970}, {"K": 3_000 - rejected["W013"]})
    assert found["rows"][0] > 4_400
    assert found["same"], "the rows are those of a load in one process"
    assert (found["commits"], found["left"], found["strays"], found["sound"]) == (3, [], [], True)
    assert found["adaptive"] == "true"

    known = executors(events)
    staged, ((checked, _), *_) = stage_times(events, "stage"), stage_times(events, "check")
    idle = [each.removed for each in known.values() if each.why == "Executor killed by driver." and each.removed]
    assert any(begin < each.added < end for each in known.values() for begin, end in staged), "came during a job"
    assert any(begin < removed < end for removed in idle for begin, end in staged), "went during a job"
    before = {number for number, each in known.items() if each.added < checked}
    left = {number for number in before if (removed := known[number].removed) is None or removed > checked}
    assert (len(before) > 1, left) == (True, set())
    assert {each.executor for each in attempts(events) if each.stage == "check"}.isdisjoint(before)
