"""Streams: the change feed as a source, sinks that apply a batch once, and frames written by Spark's own writer."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from load_cases import PEOPLE, SCHEMA, lines, person
from pyspark.errors import PySparkException

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.errors import BadRequest, StorageError
from omnigraph.pipeline.spark.datasource import OmnigraphSource
from omnigraph.pipeline.spark.sink import Sink
from omnigraph.pipeline.tasks.load import load_here
from omnigraph.storage.base import failpoints
from omnigraph.storage.manifest.epochs import EpochSeen
from omnigraph.storage.manifest.note import Epoch


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load(PEOPLE, runner="inline")
    return made


def drained(source: Any, place: Path, sink: Any) -> None:
    """Run a stream over everything that is there, and stop."""
    finished(source.writeStream.foreachBatch(sink).option("checkpointLocation", str(place)))


def finished(stream: Any) -> None:
    """Run a stream to its end, again if a machine under load could not start Python fast enough.

    Spark gives the Python process of a source or a sink ten seconds to import PySpark and to connect, and has no setting
    for it. A stream that failed so is started again, as whoever runs it would: it goes on where it stopped.
    """
    for _ in range(20):
        query = stream.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
            return
        except PySparkException as error:
            if "connect back" not in str(error):
                raise
    raise AssertionError("no Python worker could connect in twenty tries")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "xyz"}, "a feed starts at 'now', 'beginning' or 'after:<commit id>', not 'xyz'"),
        ({"colour": "red"}, "unknown option 'colour' of a change stream"),
        ({"max_commits": "0"}, "the option 'max_commits' is a number of commits, at least 1, not '0'"),
    ],
)
def test_a_change_stream_that_is_refused_says_why(
    graph: og.Graph, spark: Any, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    if "colour" not in options:
        with pytest.raises(BadRequest, match=message):
            graph.spark.changes(**{name: int(given) if given == "0" else given for name, given in options.items()})
    spark.dataSource.register(OmnigraphSource)
    source = spark.readStream.format("omnigraph").option("graph", graph.uri).options(**options)
    with pytest.raises(PySparkException) as refused:
        drained(source.load(), tmp_path / "checkpoint", lambda frame, number: None)
    assert message in str(refused.value)
    assert "UnboundLocalError" not in str(refused.value)
    assert "Traceback" not in str(refused.value)


def test_the_change_feed_is_a_stream_that_goes_on_where_it_stopped(graph: og.Graph, spark: Any, tmp_path: Path) -> None:
    seen: list[tuple[Any, ...]] = []

    def collect(frame: Any, batch: int) -> None:
        seen.extend((batch, row.commit_id, row.op, row.type, row.id, row.after) for row in frame.collect())

    feed = graph.spark.changes("beginning", types="Person", max_commits=1)
    drained(feed, tmp_path / "point", collect)
    first = graph.changes.poll(start="beginning", types="Person", limit=1_000)
    expected = [
        (block.cause.graph_commit_id, change["op"], change["id"]) for block in first.blocks for change in block.changes
    ]
    assert sorted((commit, op, entity) for _, commit, op, _, entity, _ in seen) == sorted(expected)
    assert json.loads(next(after for *_, entity, after in seen if entity == "p3"))["properties"]["name"] == "p3"
    seen.clear()
    graph.mutate('query q() { update Person set { age: 77 } where name = "p1" }')
    graph.mutate('query q() { delete Person where name = "p2" }')
    drained(feed, tmp_path / "point", collect)
    assert [(op, entity) for _, _, op, _, entity, _ in seen] == [("update", "p1"), ("delete", "p2")]
    assert len({batch for batch, *_ in seen}) == 2, "max_commits bounds a batch"


def batch(name: str, number: int, checkpoint: str = "c1", stream: str = "s") -> LoadRequest:
    epoch = Epoch(stream, checkpoint, number)
    return LoadRequest(data=lines(person(name)), mode="append", epoch=epoch)


@pytest.mark.parametrize(
    "step", ["load.post_checks", "mutation.post_effects_pre_publish", "publish.pre_commit", "load.pre_discard"]
)
def test_a_batch_that_was_interrupted_anywhere_is_applied_once(graph: og.Graph, step: str) -> None:
    before = len(graph.commits.list())
    with failpoints.armed(f"{step}=raise"), pytest.raises(StorageError):
        load_here(access(graph), batch("streamed", 7))
    with contextlib.suppress(EpochSeen):  # where the commit was made before the interruption
        load_here(access(graph), batch("streamed", 7))
    with pytest.raises(EpochSeen):
        load_here(access(graph), batch("other", 7))
    assert len(graph.commits.list()) == before + 1, "one commit a batch"
    assert graph.get("Person", "streamed") is not None
    assert graph.commits.list()[0].epoch == Epoch("s", "c1", 7)


def test_a_new_checkpoint_under_an_old_name_is_refused_instead_of_losing_rows(graph: og.Graph) -> None:
    load_here(access(graph), batch("a", 0))
    load_here(access(graph), batch("b", 1))
    with pytest.raises(BadRequest, match=r"stream 's' has written batches 0 to 1 from another checkpoint .*a new name"):
        load_here(access(graph), batch("c", 0, "c2"))
    load_here(access(graph), batch("c", 0, "c2", "s2"))
    load_here(access(graph), batch("d", 2))
    assert [graph.get("Person", name) is not None for name in "abcd"] == [True] * 4


def test_two_drivers_that_write_the_same_batch_at_once_make_one_commit(graph: og.Graph) -> None:
    others = [batch("rival", 0)]

    def rival() -> None:
        if others:
            load_here(access(graph), others.pop())

    with failpoints.armed({"load.post_checks": rival}), pytest.raises(EpochSeen):
        load_here(access(graph), batch("late", 0))
    assert (graph.get("Person", "rival") is not None, graph.get("Person", "late")) == (True, None)


def test_a_sink_loads_each_batch_of_a_stream_once(graph: og.Graph, spark: Any, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "1.json").write_text('{"name": "s1", "age": 1}\n{"name": "s2", "age": 2}\n')
    rows = spark.readStream.schema("name string, age int").json(str(inbox))
    sink = graph.spark.sink("people", type="Person")
    drained(rows, tmp_path / "point", sink)
    before = len(graph.commits.list())
    epoch = graph.commits.list()[0].epoch
    assert epoch is not None
    again = spark.createDataFrame([("s1", 99)], "name string, age int")
    assert sink.apply(epoch.checkpoint, 0, lambda graph, epoch: sink._load(graph, epoch, again)) is False
    assert len(graph.commits.list()) == before, "batch 0 was applied already"
    (inbox / "2.json").write_text('{"name": "s2", "age": 22}\n')
    drained(rows, tmp_path / "point", sink)
    found = [graph.get("Person", name) for name in ("s1", "s2")]
    assert [None if row is None else row["age"] for row in found] == [1, 22]
    with pytest.raises(
        PySparkException, match=r"BadRequest: stream 'people' has written .* from another checkpoint"
    ) as told:
        drained(rows, tmp_path / "another", sink)
    assert "Traceback" not in str(told.value)
    assert "py4j" not in str(told.value)


def test_a_batch_writes_and_removes_rows_in_one_commit(graph: og.Graph, spark: Any) -> None:
    sink = graph.spark.sink("changes", type="Person", mode="patch", op="op", order_by="at")
    shape = "op string, name string, age int, at int"
    before = len(graph.commits.list())
    rows = [("update", "p1", 41, 1), ("update", "p1", 42, 2), ("delete", "p2", None, 3), ("insert", "p2", 7, 2)]
    rows += [("d", "p4", 0, 1), ("c", "p4", 44, 9), ("delete", "nowhere", None, 1)]
    sink(spark.createDataFrame(rows, shape), 0)
    graph.refresh()
    assert [None if row is None else row["age"] for row in map(graph.get, ["Person"] * 3, ["p1", "p2", "p4"])] == [
        42, None, 44,
    ]  # fmt: skip
    assert graph.get("Person", "p1") == {"id": "p1", "name": "p1", "age": 42, **_others(graph, "p1")}
    newest = graph.commits.list()[0]
    assert (len(graph.commits.list()), newest.epoch) == (before + 1, Epoch("changes", "by-hand", 0))
    assert newest.message == "batch 0 of stream changes"
    sink(spark.createDataFrame([("delete", "p1", 0, 1)], shape), 0)  # it comes again, and late
    sink(spark.createDataFrame([("delete", "nowhere", 0, 1)], shape), 1)  # nothing changes, but it was applied
    sink(spark.createDataFrame([("delete", "p1", 0, 1)], shape), 1)
    graph.refresh()
    assert graph.get("Person", "p1") is not None
    assert (len(graph.commits.list()), graph.branches.list()) == (before + 2, ["main"])


def _others(graph: og.Graph, name: str) -> dict[str, Any]:
    """What a partial row does not say."""
    first = graph.at(graph.commits.list()[-2].graph_commit_id).get("Person", name)
    assert first is not None
    return {key: value for key, value in first.items() if key not in ("id", "name", "age")}


def test_edges_are_removed_by_their_ends_and_a_feed_keeps_a_copy_in_step(
    graph: og.Graph, spark: Any, tmp_path: Path
) -> None:
    from pyspark.sql import functions as f

    copy = og.init(tmp_path / "copy", SCHEMA)
    edges = graph.spark.sink("edges", edge="Knows", op="op")
    edges(
        spark.createDataFrame([("insert", "p1", "p9"), ("delete", "p0", "p1")], "op string, src string, dst string"), 0
    )
    sinks = [
        copy.spark.sink("nodes", type="Person", op="op", order_by="place"),
        copy.spark.sink("edges", edge="Knows", op="op", order_by="place", columns={"from": "src", "to": "dst"}),
    ]

    def hand_over(frame: Any, number: int) -> None:
        place = f.row_number().over(_in_order()).alias("place")
        changes = frame.select("type", "op", "id", "before", "after", place).persist()
        node = "properties struct<name string, age int, email string>"
        parsed = f.from_json(f.coalesce("after", "before"), f"{node}, endpoints struct<from string, to string>")
        told = changes.withColumn("row", parsed)
        people = told.where("type = 'Person'").select("op", "place", "row.properties.name", "row.properties.age")
        sinks[0](people, number)
        knows = told.where("type = 'Knows'")
        sinks[1](
            knows.select(
                "op", "place", "id", f.col("row.endpoints.from").alias("src"), f.col("row.endpoints.to").alias("dst")
            ),
            number,
        )

    feed = graph.spark.changes("beginning")
    drained(feed, tmp_path / "point", hand_over)
    graph.mutate('query q() { delete Person where name = "p5" }')
    graph.mutate('query q() { update Person set { age: 3 } where name = "p6" }')
    drained(feed, tmp_path / "point", hand_over)
    copy.refresh()
    assert not graph.query('query q() { match { $a: Person { name: "p0" }  $a knows $b } return { $b.name } }').rows()
    text = "query q() { match { $a: Person  $a knows $b } return { $a.name, $b.name } order { $a.name, $b.name } }"
    assert copy.query(text).rows() == graph.query(text).rows()
    ages = "query q() { match { $a: Person } return { $a.name, $a.age } order { $a.name } }"
    assert copy.query(ages).rows() == graph.query(ages).rows()


def _in_order() -> Any:
    from pyspark.sql import Window

    return Window.orderBy("authored_at", "position")


def test_columns_that_do_not_fit_are_all_told_before_anything_is_written(graph: og.Graph, spark: Any) -> None:
    people = graph.spark.sink("people", type="Person")
    before = len(graph.commits.list())
    told = r"batch 4 of stream 'people' does not fit 'Person': column 'shoe' is not a property; required property 'name' has no column"
    with pytest.raises(BadRequest, match=told):
        people(spark.createDataFrame([(1, 2)], "age int, shoe int"), 4)
    with pytest.raises(BadRequest, match="there is no column 'kind'"):
        graph.spark.sink("b", type="Person", op="kind")(spark.createDataFrame([("a",)], "name string"), 0)
    changes = graph.spark.sink("c", type="Person", op="op")
    with pytest.raises(BadRequest, match=r"column 'op' says 'truncate'; it may say insert, .* or delete"):
        changes(spark.createDataFrame([("truncate", "p1")], "op string, name string"), 0)
    with pytest.raises(BadRequest, match=r"writes and removes \('p1',\): also pass order_by="):
        changes(spark.createDataFrame([("delete", "p1"), ("insert", "p1")], "op string, name string"), 0)
    with pytest.raises(BadRequest, match="can only be removed by name"):
        changes(spark.createDataFrame([("delete", 3)], "op string, age int"), 0)
    assert len(graph.commits.list()) == before


def test_a_stream_can_be_written_by_format_too(graph: og.Graph, spark: Any, tmp_path: Path) -> None:
    spark.dataSource.register(OmnigraphSource)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "1.json").write_text('{"name": "f1", "age": 1}\n')
    rows = spark.readStream.schema("name string, age int").json(str(inbox))
    target = rows.writeStream.format("omnigraph").option("graph", graph.uri).option("type", "Person")
    finished(target.option("stream", "by-format").option("checkpointLocation", str(tmp_path / "point")))
    assert graph.get("Person", "f1") is not None
    assert graph.branches.list() == ["main"]


def test_options_of_streams_and_writers_that_make_no_sense_are_told() -> None:
    with pytest.raises(BadRequest, match="with order_by= merges or patches rows"):
        Sink("graph", "s", type="Person", order_by="at", mode="append")
    with pytest.raises(BadRequest, match="mode 'append' does neither"):
        Sink("graph", "s", type="Person", op="op", mode="append")
    with pytest.raises(BadRequest, match="needs the option 'graph'"):
        OmnigraphSource({}).streamReader(None).initialOffset()  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="a feed starts at"):
        OmnigraphSource({"graph": "g", "start": "soon"}).streamReader(None).initialOffset()  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="unknown option 'colour'"):
        OmnigraphSource({"graph": "g", "type": "P", "colour": "red"}).writer(None, overwrite=False)  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match=r"'type' .* and 'edge'"):
        OmnigraphSource({"graph": "g"}).writer(None, overwrite=False)  # type: ignore[arg-type]


# --- df.write ----------------------------------------------------------------------------------------------


def written(frame: Any, graph: og.Graph, mode: str = "append", **options: str) -> None:
    writer = frame.write.format("omnigraph").option("graph", graph.uri).mode(mode)
    writer.options(**options).save()


def test_a_frame_is_written_in_one_commit_in_every_mode(graph: og.Graph, spark: Any) -> None:
    spark.dataSource.register(OmnigraphSource)
    frame = spark.createDataFrame([(f"w{n}", n) for n in range(50)], "name string, age int").repartition(3)
    before = len(graph.commits.list())
    written(frame, graph, type="Person")
    assert len(graph.commits.list()) == before + 1
    assert graph.get("Person", "w49") is not None
    with pytest.raises(PySparkException) as told:
        written(frame, graph, type="Person")
    assert "node:Person already has this id" in str(told.value)
    assert "Traceback" not in str(told.value)
    with pytest.raises(PySparkException, match="BadRequest: writing to omnigraph needs one of the options") as told:
        written(frame, graph)
    assert "Traceback" not in str(told.value)
    few = spark.createDataFrame([("x1", 1), ("x2", 2)], "name string, age int").repartition(5)
    written(few, graph, type="Person", load_mode="merge")
    assert [graph.get("Person", name)["age"] for name in ("x1", "x2")] == [1, 2]  # type: ignore[index]
    before += 1
    changed = spark.createDataFrame([("w1", 60)], "who string, years int")
    graph.branches.create("side")
    written(changed, graph, type="Person", branch="side", columns="name=who,age=years", load_mode="merge")
    row = graph.branch("side").get("Person", "w1")
    assert row is not None
    assert row["age"] == 60
    written(spark.createDataFrame([("p0", "p1")], "src string, dst string"), graph, edge="Knows")
    assert len(graph.commits.list()) == before + 2
    known = spark.createDataFrame([("w1", "w2"), ("w2", "w3"), ("w3", "w1")], "src string, dst string")
    written(known.repartition(2), graph, mode="overwrite", edge="Knows")
    assert len(graph.commits.list()) == before + 3
    pairs = graph.query("query q() { match { $a knows $b } return { $a.name as a, $b.name as b } order { a } }")
    assert pairs.rows() == [{"a": f"w{n}", "b": f"w{n % 3 + 1}"} for n in (1, 2, 3)], "and none of those before"


def test_a_frame_with_a_bad_row_writes_nothing_and_leaves_nothing(graph: og.Graph, spark: Any) -> None:
    spark.dataSource.register(OmnigraphSource)
    head = graph.commits.list()[0]
    with pytest.raises(PySparkException) as told:
        written(spark.createDataFrame([("x1",), (None,)], "name string"), graph, type="Person")
    assert "required" in str(told.value) or "null" in str(told.value) or "W001" in str(told.value)
    assert graph.commits.list()[0] == head
    assert not list(Path(graph.uri.removeprefix("file://")).glob("__loads/*/*"))
