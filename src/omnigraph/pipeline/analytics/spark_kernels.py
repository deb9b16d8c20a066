"""The algorithms of `kernels` on Spark: as arrays for as many nodes as one has room for, else as frames.

A frame of node values is (n, value); every round is a job, and its lineage is cut after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import functions as f

from omnigraph.pipeline.analytics import spark_triangles, spark_vectors
from omnigraph.pipeline.analytics.kernels import Teleport
from omnigraph.pipeline.analytics.spark_network import SparkEdges
from omnigraph.pipeline.analytics.spark_vectors import NodeArray


def pagerank(nodes: Any, edges: SparkEdges, walk: Teleport) -> tuple[Any, int]:
    """Ranks and rounds, as in memory."""
    if _few(nodes):
        return spark_vectors.pagerank(nodes, edges, walk)
    count, steps = max(nodes.count(), 1), edges.frame
    leaving = steps.groupBy("s").agg(f.sum("w").alias("leaving")).where("leaving > 0")
    steps = _kept(steps.join(leaving, "s").select("s", "t", (f.col("w") / f.col("leaving")).alias("part")))
    marked = nodes.select("n").join(leaving.select(f.col("s").alias("n"), f.lit(0.0).alias("stuck")), "n", "left")
    ranks = _kept(marked.select("n", f.lit(1.0 / count).alias("value"), f.coalesce("stuck", f.lit(1.0)).alias("stuck")))
    lost = ranks.agg(f.sum(f.col("value") * f.col("stuck")).alias("lost")).first().lost or 0.0
    for done in range(1, walk.iterations + 1):
        carried = steps.join(ranks.withColumnRenamed("n", "s"), "s")
        arriving = carried.groupBy(f.col("t").alias("n")).agg(f.sum(f.col("part") * f.col("value")).alias("arriving"))
        fresh = (1 - walk.damping) / count + walk.damping * (f.coalesce("arriving", f.lit(0.0)) + lost / count)
        joined = ranks.join(arriving, "n", "left")
        ranks = _kept(joined.select("n", fresh.alias("value"), "stuck", f.col("value").alias("old")))
        told = ranks.agg(
            f.sum(f.abs(f.col("value") - f.col("old"))).alias("moved"),
            f.sum(f.col("value") * f.col("stuck")).alias("lost"),
        ).first()
        ranks, lost = ranks.select("n", "value", "stuck"), told.lost or 0.0
        if (told.moved or 0.0) < walk.tolerance:
            return ranks, done
    return ranks, walk.iterations


def components(nodes: Any, edges: SparkEdges) -> Any:
    """The smallest connected node of each, by rounds of large and small stars until they stand still."""
    if _few(nodes):
        return spark_vectors.components(nodes, edges)
    links = _kept(
        edges.frame.where("s != t").select(f.greatest("s", "t").alias("u"), f.least("s", "t").alias("v")).distinct()
    )
    before = _fingerprint(links)
    while True:
        links = _kept(_small_star(_large_star(links)))
        after = _fingerprint(links)
        if after == before:
            break
        before = after
    roots = links.groupBy(f.col("u").alias("n")).agg(f.min("v").alias("root"))
    return nodes.select("n").join(roots, "n", "left").select("n", f.coalesce("root", "n").alias("value"))


def _large_star(links: Any) -> Any:
    """Every larger neighbour of a node links to the smallest of its neighbourhood instead."""
    both = links.union(links.select(f.col("v").alias("u"), f.col("u").alias("v")))
    least = both.groupBy("u").agg(f.min("v").alias("least"))
    moved = both.join(least, "u").where("v > u")
    return moved.select(f.col("v").alias("u"), f.least("u", "least").alias("v")).distinct()


def _small_star(links: Any) -> Any:
    """A node and its smaller neighbours link to the smallest of these."""
    least = links.groupBy("u").agg(f.min("v").alias("least"))
    moved = links.join(least, "u").where("v != least").select(f.col("v").alias("u"), f.col("least").alias("v"))
    return moved.union(least.select("u", f.col("least").alias("v"))).distinct()


def _fingerprint(links: Any) -> tuple[Any, ...]:
    found = links.agg(
        f.count("*").alias("links"), f.sum(f.xxhash64("u", "v").cast("decimal(38,0)")).alias("sum")
    ).first()
    return tuple(found)


def label_propagation(nodes: Any, edges: SparkEdges, iterations: int) -> tuple[Any, int]:
    """Labels and rounds, as in memory."""
    if _few(nodes):
        return spark_vectors.label_propagation(nodes, edges, iterations)
    own = nodes.select(f.col("n").alias("near"), f.col("n").alias("far"))
    out = edges.frame.select(f.col("s").alias("near"), f.col("t").alias("far"))
    votes = _kept(out.union(out.select(f.col("far").alias("near"), f.col("near").alias("far"))).union(own))
    labels = _kept(nodes.select("n", f.col("n").alias("value")))
    for done in range(1, iterations + 1):
        cast = votes.join(labels.withColumnRenamed("n", "far"), "far")
        tallies = cast.groupBy("near", "value").count()
        best = tallies.groupBy(f.col("near").alias("n")).agg(f.max(f.struct("count", -f.col("value"))).alias("best"))
        after = _kept(
            labels.withColumnRenamed("value", "old")
            .join(best.select("n", (-f.col("best.col2")).alias("value")), "n")
            .select("n", "value", "old")
        )
        moved = after.where("value != old").limit(1).count()
        labels = after.select("n", "value")
        if not moved:
            return labels, done
    return labels, iterations


def triangles(nodes: Any, edges: SparkEdges) -> Any:
    """Triangles at each node, found once at their two lower corners."""
    if edges.listed is not None and _few(nodes):
        return spark_triangles.triangles(nodes, edges, edges.listed)
    simple = (
        edges.frame.where("s != t").select(f.least("s", "t").alias("a"), f.greatest("s", "t").alias("b")).distinct()
    )
    ends = simple.select(f.col("a").alias("n")).union(simple.select(f.col("b").alias("n")))
    degree = ends.groupBy("n").count()
    low, high = (degree.select(f.col("n").alias(end), f.col("count").alias(f"d{end}")) for end in "ab")
    ranked = simple.join(low, "a").join(high, "b")
    first = (f.col("da") < f.col("db")) | ((f.col("da") == f.col("db")) & (f.col("a") < f.col("b")))
    upward = _kept(
        ranked.select(
            f.when(first, f.col("a")).otherwise(f.col("b")).alias("x"),
            f.when(first, f.col("b")).otherwise(f.col("a")).alias("y"),
        )
    )
    wedges = upward.join(upward.select(f.col("x").alias("y"), f.col("y").alias("z")), "y")
    closed = _kept(wedges.join(upward.select("x", f.col("y").alias("z")), ["x", "z"]))
    corners = closed.select(f.col("x").alias("n"))
    for corner in "yz":
        corners = corners.union(closed.select(f.col(corner).alias("n")))
    counted = corners.groupBy("n").count()
    joined = nodes.select("n").join(counted, "n", "left")
    return joined.select("n", f.coalesce("count", f.lit(0)).alias("value"))


def degrees(nodes: Any, edges: SparkEdges, direction: str) -> Any:
    """Edges at each node."""
    if _few(nodes):
        return spark_vectors.degrees(nodes, edges, direction)
    rows = edges.frame
    ends = [rows.select(f.col("s").alias("n"))] if direction != "in" else []
    ends += [rows.select(f.col("t").alias("n"))] if direction != "out" else []
    counted = (ends[0] if len(ends) == 1 else ends[0].union(ends[1])).groupBy("n").count()
    return nodes.select("n").join(counted, "n", "left").select("n", f.coalesce("count", f.lit(0)).alias("value"))


def distances(nodes: Any, edges: SparkEdges, start: Sequence[int], depth: int | None) -> Any:
    """Hops from the start nodes; a node that is not reached has none."""
    if _few(nodes):
        return spark_vectors.distances(nodes, edges, start, depth)
    steps = _kept(edges.frame.select("s", "t").distinct())
    found = _kept(nodes.where(f.col("n").isin(list(start))).select("n", f.lit(0).cast("long").alias("value")))
    frontier = found
    hops = 0
    while depth is None or hops < depth:
        hops += 1
        reached = steps.join(frontier.select(f.col("n").alias("s")), "s").select(f.col("t").alias("n")).distinct()
        frontier = _kept(reached.join(found, "n", "left_anti").select("n", f.lit(hops).cast("long").alias("value")))
        if not frontier.limit(1).count():
            break
        found = _kept(found.union(frontier))
    return found


def dense(values: Any) -> Any:
    """Values replaced by their place among the distinct ones."""
    from pyspark.sql import Window

    if isinstance(values, NodeArray):
        return values.dense()
    ordered = values.select("value").distinct()
    places = ordered.select("value", (f.row_number().over(Window.orderBy("value")) - 1).cast("long").alias("place"))
    return values.join(places, "value").select("n", f.col("place").alias("value"))


def _few(nodes: Any) -> bool:
    """Whether the values of all nodes can be sent to every task, so that edges need not be shuffled in each round."""
    return bool(nodes.count() <= spark_vectors.MOST_NODES)


def _kept(frame: Any) -> Any:
    # Every round joins the one before; without cutting, the plan would repeat all of them. The next action fills it.
    return frame.localCheckpoint(eager=False)
