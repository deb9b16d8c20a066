"""One load of `bench/spark_load.py` in a process of its own, as those of its peers are.

    python -m bench.spark_one '{"what": "load", "root": …, "source": …}'

`what` is `floor` (one process, pyarrow → lance), `load`, `ready` (a load with everything that it leaves built, and a
first query), or `branch` (the merge of a branch that has loaded the same). The session is started and one small load is
made before the clock. Prints what was found as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lance
import pyarrow.parquet as pq

import omnigraph as og
from bench.processes import TreeMemory, timed
from bench.spark_data import SCHEMA
from omnigraph.pipeline.spark.session import spark_session

_FIRST = (
    'query q() { match { $a: Person { handle: "p7" }  $a knows $b  $b knows $c } return { count(distinct $c) as n } }'
)


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, measured."""
    root = Path(asked["root"])
    if asked["what"] == "floor":
        return {"spent": asdict(timed(lambda: _floor(root.parent, root))[0])}
    started, spark = timed(lambda: spark_session("local[2,4]"))
    warmed, _ = timed(lambda: _warm(spark))
    found = {"started": asdict(started), "warmed": asdict(warmed)}
    if asked["what"] == "branch":
        return {**found, **_merged(root, asked["source"])}
    found |= _loaded(root, asked)
    if asked["what"] == "ready":
        with og.open(root) as graph:
            found["first"] = asdict(timed(lambda: graph.query(_FIRST).rows())[0])
        found["disk_mb"] = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) / 1e6
    return found


def _loaded(root: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """A load with its stages, processor time, memory, and what came to the driver."""
    no_build = asked["what"] != "ready"
    with og.open(root) if root.exists() else og.init(root, SCHEMA) as graph, TreeMemory() as memory:
        load = {**asked["source"], "mode": asked.get("mode", "append")}
        spent, done = timed(lambda: graph.load(**load, runner="spark", no_build=no_build))
    assert done.runner == "spark", done
    return {
        "spent": asdict(spent),
        "stages": {stage.name: (stage.seconds, stage.tasks, stage.skew) for stage in done.profile.stages},
        "memory": memory.peak,
        "sent": sum(stage.answer_bytes for stage in done.profile.stages),
    }


def _merged(root: Path, source: dict[str, Any]) -> dict[str, Any]:
    """A load on a branch, and the merge that brings it into main, with its indexes."""
    with og.init(root, SCHEMA) as graph:
        graph.branches.create("ingest")
        graph.load(**source, mode="append", runner="spark", branch="ingest")
        with TreeMemory() as memory:
            spent, _ = timed(lambda: graph.branches.merge("ingest", delete=True))
    return {"merge": asdict(spent), "merge_memory": memory.peak}


def _floor(place: Path, out: Path) -> None:
    for name in ("people", "knows"):
        lance.write_dataset(pq.read_table(place / f"{name}.parquet"), str(out / name), data_storage_version="2.2")


def _warm(spark: Any) -> None:
    with tempfile.TemporaryDirectory() as place, og.init(f"{place}/warm.omni", SCHEMA) as graph:
        graph.load('{"type":"Person","data":{"handle":"a","name":"A"}}', runner="spark", spark=spark)


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
