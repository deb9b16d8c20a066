"""The guided tour behind `make demo`: every step is named, shows its code and runs it on a real graph."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import omnigraph as og

sys.path.insert(0, str(Path(__file__).parent))
from generate import generate

HERE = Path(__file__).parent
QUERIES = HERE / "queries.gq"


class Tour:
    """Prints numbered steps with the code they run and how long it took."""

    def __init__(self) -> None:
        self.number = 0
        self.started = time.perf_counter()

    def step(self, title: str) -> None:
        self.number += 1
        print(f"\n── {self.number}. {title}")

    def run(self, code: str, action: Callable[[], Any]) -> Any:
        print(f"   >>> {code}")
        begin = time.perf_counter()
        value = action()
        print(f"   ({(time.perf_counter() - begin) * 1000:.0f} ms)")
        return value

    def show(self, value: object) -> None:
        print("\n".join(f"   {line}" for line in str(value).splitlines()))


def main() -> None:
    """Run the tour in a fresh directory and leave the graph there to play with."""
    home = Path(tempfile.gettempdir()) / "omnigraph-demo"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    uri, data = home / "graph.omni", home / "community.jsonl"
    tour = Tour()

    tour.step("Raw data: people, companies and papers as JSON lines")
    count = tour.run(f"generate('{data}')", lambda: generate(data))
    tour.show(f"{count:,} records")

    tour.step("A typed graph from a schema")
    graph = tour.run(
        f"g = og.init('{uri}', schema='examples/demo/schema.pg')",
        lambda: og.init(uri, HERE / "schema.pg", actor="demo"),
    )

    tour.step("Load: every constraint checked, one atomic commit")
    loaded = tour.run("g.load('community.jsonl', mode='append')", lambda: graph.load(data, mode="append"))
    nodes, edges = sum(loaded.nodes.values()), sum(loaded.edges.values())
    tour.show(f"{nodes:,} nodes and {edges:,} edges in commit {loaded.commit.graph_commit_id}")

    tour.step("Traverse: friends of friends, and where they work")
    ask(tour, graph, "colleagues_of", handle="p1")
    tour.step("Aggregate: companies with the most people of forty and above")
    ask(tour, graph, "busiest_companies")
    tour.step("Search: papers ranked by their words, with their authors")
    ask(tour, graph, "papers_about", words="columnar storage")

    branch_and_time_travel(tour, graph, loaded.commit.graph_commit_id)
    refusals(tour, graph)
    print(f"\nDone in {time.perf_counter() - tour.started:.1f} s. The graph is at {uri}:")
    print(f"   .venv/bin/python -c \"import omnigraph as og; g = og.open('{uri}'); print(g.commits.list()[:3])\"")
    print("   docs/schema.md and docs/queries.md explain the two languages, docs/architecture.md the engine.")


def ask(tour: Tour, graph: og.Graph, name: str, **params: Any) -> None:
    """Run one of the stored queries and show its rows."""
    tour.show(
        tour.run(
            f"g.query('queries.gq', name='{name}', params={params})",
            lambda: graph.query(QUERIES, name=name, params=params),
        )
    )


def branch_and_time_travel(tour: Tour, graph: og.Graph, before: str) -> None:
    """Change a branch, see that main did not move, and look back."""
    tour.step("Branch: change things without anyone seeing it")
    tour.run("g.branches.create('review')", lambda: graph.branches.create("review"))
    review = graph.branch("review")
    hired = {"handle": "zoe", "name": "Zoe Quist", "company": "c1", "title": "Engineer"}
    done = tour.run(
        "review.mutate('queries.gq', name='hire', params={…})",
        lambda: review.mutate(QUERIES, name="hire", params=hired),
    )
    tour.show(f"{done.affected_nodes} node and {done.affected_edges} edge on 'review'")
    tour.show(f"on review: {review.get('Person', 'zoe')}")
    tour.show(f"on main:   {graph.get('Person', 'zoe')}")

    tour.step("Time travel: p1 leaves, and the past still knows")
    gone = tour.run(
        "g.mutate('queries.gq', name='leave', params={'handle': 'p1'})",
        lambda: graph.mutate(QUERIES, name="leave", params={"handle": "p1"}),
    )
    tour.show(f"deleted {gone.affected_nodes} node and, with it, {gone.affected_edges} edges")
    tour.show(f"now:    {graph.get('Person', 'p1')}")
    tour.show(f"before: {graph.at(before).get('Person', 'p1')}")
    for commit in graph.commits.list():
        tour.show(f"commit {commit.graph_commit_id} by {commit.actor_id or 'init'}")


def refusals(tour: Tour, graph: og.Graph) -> None:
    """Bad input says what, where and what to do; nothing is written."""
    tour.step("Mistakes are told apart, with a place and a way out")
    wrong_query = "query q() { match { $p: Person $p knos $f } return { $f.name } }"
    wrong_line = b'{"type":"Person","data":{"handle":"x","name":"X","role":"pirate"}}\n'
    dangling = b'{"edge":"Knows","from":"p2","to":"nobody"}\n'
    for action in (
        lambda: graph.query(wrong_query),
        lambda: graph.load(wrong_line, mode="append"),
        lambda: graph.load(dangling, mode="append"),
    ):
        try:
            action()
        except og.OmnigraphError as error:
            tour.show(error)
            print()


if __name__ == "__main__":
    main()
