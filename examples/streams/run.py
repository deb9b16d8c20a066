"""A minute of streaming: a producer writes changes, a stream brings them into the graph, a reader follows the graph.

    python examples/streams/run.py [FOLDER] [--seconds 60]

Half way through the stream is stopped and started again from its checkpoint. At the end the graph is compared with what
the producer did: every change is there once, whatever was interrupted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph.pipeline.spark.session import spark_session

HERE = Path(__file__).parent
SHAPE = "op string, name string, city string, at long"


def main() -> int:
    """Run everything, and say whether the graph is what it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="a new folder; a temporary one by default")
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    place = Path(given.folder or tempfile.mkdtemp(prefix="omnigraph-streams-"))
    try:
        return show(place, given.seconds)
    finally:
        if given.folder is None:
            shutil.rmtree(place, ignore_errors=True)


def show(place: Path, seconds: float) -> int:
    inbox, expected = place / "inbox", place / "expected.json"
    inbox.mkdir(parents=True)
    graph = og.init(place / "graph.omni", schema=HERE / "schema.pg")
    spark = spark_session("local[2,4]")
    reader = Reader(graph.uri)
    command = [sys.executable, str(HERE / "generate.py"), str(inbox), str(expected), str(seconds)]
    with subprocess.Popen(command) as producer:
        begin = time.monotonic()
        stream = started(graph, spark, place)
        restarted = False
        while producer.poll() is None or not restarted:
            time.sleep(min(2, seconds / 4))
            reader.tell(time.monotonic() - begin)
            if not restarted and time.monotonic() - begin > seconds / 2:
                stream.stop()
                print("the stream is stopped, and started again from its checkpoint")
                stream, restarted = started(graph, spark, place), True
    stream.processAllAvailable()
    stream.stop()
    reader.stop()
    spark.stop()
    return compared(graph, json.loads(expected.read_text()), reader)


def started(graph: og.Graph, spark: Any, place: Path) -> Any:
    """The stream: the files of the inbox, a few in a batch; `patch` leaves what the rows do not say, here the score."""
    rows = spark.readStream.schema(SHAPE).option("maxFilesPerTrigger", "5").json(str(place / "inbox"))
    sink = graph.spark.sink("customers", type="Customer", mode="patch", op="op", order_by="at")
    return rows.writeStream.foreachBatch(sink).option("checkpointLocation", str(place / "checkpoint")).start()


class Reader:
    """Follows the change feed of the graph beside the stream, in a thread of its own."""

    def __init__(self, uri: str) -> None:
        self.seen: Counter[str] = Counter()
        self.commits: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, args=(uri,), daemon=True)
        self._thread.start()

    def _follow(self, uri: str) -> None:
        with og.open(uri, read_only=True) as graph:
            page = graph.changes.poll(start="beginning")
            while True:
                for block in page.blocks:
                    self.commits.add(block.cause.graph_commit_id)
                    self.seen.update(change["op"] for change in block.changes)
                if page.caught_up and self._over.wait(0.5) and self._caught_up(graph, page.cursor):
                    return
                page = graph.changes.poll(page.cursor, page_token=page.next_page_token)

    @staticmethod
    def _caught_up(graph: og.Graph, cursor: str | None) -> bool:
        return not graph.changes.poll(cursor).blocks

    def tell(self, seconds: float) -> None:
        print(f"{seconds:4.0f} s: the reader has seen {len(self.commits)} commits: {dict(self.seen)}", flush=True)

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def compared(graph: og.Graph, expected: dict[str, Any], reader: Reader) -> int:
    graph.refresh()
    found = graph.query("query q() { match { $c: Customer } return { $c.name, $c.city } }").rows()
    same = {row["c.name"]: {"city": row["c.city"]} for row in found} == expected["customers"]
    epochs = [commit.epoch for commit in graph.commits.list() if commit.epoch is not None]
    print(f"{expected['changes']} changes in {expected['files']} files became {len(epochs)} commits")
    print(f"the reader counted {dict(reader.seen)}; customers now: {len(found)}")
    left = reader.seen["insert"] - reader.seen["delete"]
    if not same or left != len(found) or len({each.batch for each in epochs}) != len(epochs):
        print("the graph is NOT what the producer made")
        return 1
    print("the graph is what the producer made: nothing lost, nothing twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
