"""Direct reads answer what the executor answers, and only while what they hold is what the graph says."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.engine.read import direct
from omnigraph.engine.read.columns.key_index_store import KEYS
from omnigraph.errors import BadRequest, ParameterError, QueryCancelled, ResourceLimitExceeded
from omnigraph.policy.visibility import Visibility
from omnigraph.storage.base import watching
from tests.direct_reads import executed, same_answers

SCHEMA = """
node Person { handle: String @key  name: String?  age: I32  born: DateTime? }
node Firm { code: String @key  name: String }
edge Knows: Person -> Person { since: I32? }
edge Works: Person -> Firm
"""
START = "$p: Person { handle: $h }"
READS = {
    "look-up": f"query q($h: String) {{ match {{ {START} }} return {{ $p.name, $p.age as years }} }}",
    "by id": "query q($h: String) { match { $p: Person $h = $p.id } return { $p.handle } }",
    "a fixed key": 'query q() { match { $p: Person { handle: "p00007" } } return { $p.name } }',
    "instants": f"query q($h: String) {{ match {{ {START} }} return {{ $p.born }} }}",
    "number of one": f"query q($h: String) {{ match {{ {START} }} return {{ count(distinct $p) as n }} }}",
    "hop": f"query q($h: String) {{ match {{ {START} $p knows $f }} return {{ $f.handle, $f.name }} }}",
    "hop back": f"query q($h: String) {{ match {{ {START} $f knows $p }} return {{ $f.name as who }} }}",
    "hop either way": f"query q($h: String) {{ match {{ {START} $p <knows> $f }} return {{ $f.handle }} }}",
    "another type": f"query q($h: String) {{ match {{ {START} $p works $f }} return {{ $f.name }} }}",
    "two hops": f"query q($h: String) {{ match {{ {START} $p knows $f $f knows $g }} return {{ count(distinct $g) as n }} }}",
    "two types": f"query q($h: String) {{ match {{ {START} $p knows $f $f works $g }} return {{ count(distinct $g) as n }} }}",
    "three hops": f"query q($h: String) {{ match {{ {START} $p knows $f $f knows $g $g knows $i }} return {{ count(distinct $i) as n }} }}",
    "nodes": "query q() { match { $p: Person } return { count(*) as n } }",
    "edges": "query q() { match { $p $k:knows $f } return { count($k) as n, count(*) as m } }",
    "edges of one kind": "query q() { match { $p: Person $p $k:works $f } return { count($k) as n } }",
    "old edges": "query q() { match { $p $k:knows $f $k.since < 3 } return { count($k) as n } }",
    "groups": (
        f"query q($h: String) {{ match {{ {START} $p knows $f $f knows $g $g.age > 30 $g works $c }} "
        "return { $c.name as firm, count(distinct $g) as n } order { n desc, firm } limit 10 }"
    ),
    "groups of ends": (
        f'query q($h: String) {{ match {{ {START} $p knows $f 20 < $f.age $f knows $g $g.age <= 80 $g.name != "name 3" }} '
        "return { count(distinct $g) as n, $g.name as who } order { n, who desc } limit 5 offset 1 }"
    ),
    "groups after one hop": (
        f"query q($h: String) {{ match {{ {START} $p knows $f }} "
        "return { $f.name as who, count(distinct $f) as n } order { who } }"
    ),
    "groups of several ends of one": (
        f"query q($h: String) {{ match {{ {START} $p knows $f $f <knows> $g $g.age > 5 }} "
        "return { $g.name as who, count(distinct $f) as n } order { n desc, who desc } limit 7 }"
    ),
    "groups in an order of counts": (
        f"query q($h: String) {{ match {{ {START} $p knows $f $f knows $g }} "
        "return { $g.name as who, count(distinct $g) as n } order { n } limit 3 }"
    ),
    "groups of rows": (
        f"query q($h: String) {{ match {{ {START} $p knows $f $f knows $g }} "
        "return { $g.name as who, count(*) as n } order { who } }"
    ),
    "two hops, rows": f"query q($h: String) {{ match {{ {START} $p knows $f $f knows $g }} return {{ $g.handle }} }}",
}
DIRECT = READS.keys() - {"old edges", "groups of rows"}


def key(number: int) -> str:
    return f"p{number:05d}"


def graph_of(place: Path, people: int) -> og.Graph:
    chance = np.random.default_rng(people)
    graph = og.init(place, SCHEMA)
    # Ids that do not ascend with rows: the order of an answer is that of ids.
    order = chance.permutation(people)
    names = [None if number % 7 == 0 else f"name {number % 40}" for number in order]
    persons = {"handle": [key(number) for number in order], "name": names, "age": pa.array(order % 90, pa.int32())}
    graph.load(pa.table(persons), type="Person", runner="inline")
    graph.load(pa.table({"code": ["a", "b"], "name": ["A", "B"]}), type="Firm", runner="inline")
    ends = chance.integers(0, people, (2, people * 4))  # parallel edges and loops among them
    knows = {"from": [key(each) for each in ends[0]], "to": [key(each) for each in ends[1]]}
    graph.load(pa.table(knows), edge="Knows", runner="inline")
    works = {
        "from": [key(each) for each in range(0, people, 2)],
        "to": ["ab"[each % 2] for each in range(0, people, 2)],
    }
    graph.load(pa.table(works), edge="Works", runner="inline")
    return graph


@pytest.fixture(scope="module", params=[300, 6_000], ids=["small", "large"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    with graph_of(tmp_path_factory.mktemp("direct") / "g.omni", request.param) as made:
        yield made


def same(graph: og.Graph, text: str, keys: list[str]) -> None:
    same_answers(graph, text, [{"h": each} for each in keys])


def warm(graph: og.Graph, text: str) -> None:
    for number in range(40):
        graph.query(text, params={"h": key(number * 7 % 300)})


@pytest.mark.parametrize("read", READS)
def test_a_direct_read_answers_what_the_executor_answers(graph: og.Graph, read: str, answered: list[bool]) -> None:
    warm(graph, READS[read])
    answered.clear()
    same(graph, READS[read], [key(number) for number in range(0, 300, 11)] + ["nobody", "", "p00001\0", "ü"])
    assert any(answered) == (read in DIRECT)


def test_what_was_committed_since_is_seen_at_once(tmp_path: Path, answered: list[bool]) -> None:
    with graph_of(tmp_path / "g.omni", 5_000) as graph:
        ask = graph.prepare(READS["hop"])
        look = graph.prepare(READS["look-up"])
        for round_number in range(4):
            for number in range(40):
                ask({"h": key(number)}), look({"h": key(number)})
            # A table of several files is read in pages by the executor, until it is compacted.
            assert round_number or any(answered)
            answered.clear()
            target = f"new {round_number}"
            graph.mutate(
                "query q($h: String, $t: String) { insert Person { handle: $t, age: 1 } insert Knows { from: $h, to: $t } }",
                params={"h": key(3), "t": target},
            )
            assert target in [row["f.handle"] for row in ask({"h": key(3)}).rows()]
            assert look({"h": target}).tuples() == [(None, 1)]
            graph.mutate(
                "query q($h: String) { update Person set { age: 77 } where handle = $h }", params={"h": key(3)}
            )
            assert look({"h": key(3)}).tuples()[0][1] == 77
            graph.mutate(
                "query q($h: String) { delete Person where handle = $h }", params={"h": key(round_number + 20)}
            )
            assert look({"h": key(round_number + 20)}).tuples() == []
            same(graph, READS["hop"], [key(number) for number in range(0, 40, 3)])


def test_a_prepared_read_that_watches_its_state_sees_what_others_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_SETTLED_NS", -(1 << 62))  # what was written just now counts as old
    with graph_of(tmp_path / "g.omni", 300) as graph, og.open(tmp_path / "g.omni") as other:
        look = graph.prepare(READS["look-up"])
        at = graph.at(graph.commits.head()).prepare(READS["look-up"])
        graph.branches.create("side")
        on_branch = graph.prepare(READS["look-up"], branch="side")
        for years in (200, 201, 202):
            before = [read({"h": key(5)}).tuples() for read in (look, at, on_branch) for _ in range(3)]
            assert look._ready.watch is not None
            assert on_branch._ready.watch is None
            time.sleep(0.02)  # the clock of file times moves on by then
            other.mutate(f'query q() {{ update Person set {{ age: {years} }} where handle = "{key(5)}" }}')
            assert look({"h": key(5)}).tuples() == [("name 5", years)]
            assert [at({"h": key(5)}).tuples(), on_branch({"h": key(5)}).tuples()] == before[3::3]
    with pytest.raises(BadRequest, match="closed"):
        look({"h": key(5)})


def test_groups_follow_what_is_committed(tmp_path: Path, answered: list[bool]) -> None:
    changes = (
        "query q($h: String) { update Person set { age: 1 } where handle = $h }",  # the condition of a hop
        "query q($h: String) { delete Works where from = $h }",
        'query q($h: String) { insert Works { from: $h, to: "a" } }',
        'query q($h: String) { update Firm set { name: "Z" } where code = "a" }',  # the value of a group
        "query q($h: String) { delete Person where handle = $h }",
    )
    with graph_of(tmp_path / "g.omni", 300) as graph:
        for change in changes:
            warm(graph, READS["groups"])
            assert answered[-1]
            size = next(iter(graph.view().tables.memory.cache(direct._DIRECT)._held.values())).size
            assert size > (4 << 10) + 250  # a byte for each person counts as held
            met = graph.query(
                f"query q($h: String) {{ match {{ {START} $p knows $f $f knows $g }} return {{ $g.handle }} }}",
                params={"h": key(11)},
            ).tuples()
            graph.mutate(change, params={"h": met[0][0]})
            same(graph, READS["groups"], [key(number) for number in range(0, 60, 11)])


def test_limits_and_cancelling_hold(graph: og.Graph, answered: list[bool]) -> None:
    text = READS["hop"]
    warm(graph, text)
    counts = {key(number): len(graph.query(text, params={"h": key(number)})) for number in range(20)}
    assert answered[-1]
    params, count = {"h": max(counts, key=counts.__getitem__)}, max(counts.values())
    with pytest.raises(ResourceLimitExceeded):
        graph.query(text, params=params, limits=og.Limits(result_rows=count - 1))
    with pytest.raises(ResourceLimitExceeded):
        graph.query(text, params=params, limits=og.Limits(rows=count - 1))
    with pytest.raises(ResourceLimitExceeded):  # the tighter of the two holds
        graph.query(text, params=params, limits=og.Limits(result_rows=count, rows=count - 1))
    with pytest.raises(ResourceLimitExceeded):
        graph.query(text, params=params, limits=og.Limits(seconds=0))
    assert len(graph.query(text, params=params, limits=og.Limits(result_rows=count, rows=count))) == count
    stop = threading.Event()
    stop.set()
    with pytest.raises(QueryCancelled):
        graph.query(text, params=params, cancel=stop)


def test_a_table_is_counted_at_the_state_that_is_asked_about(tmp_path: Path, answered: list[bool]) -> None:
    with graph_of(tmp_path / "g.omni", 50) as graph:
        before = graph.commits.head()
        counts = [graph.prepare(READS[name]) for name in ("nodes", "edges")]
        for added in range(3):
            for _ in range(4):
                found = [count().tuples() for count in counts]
                assert found == [[(50 + added,)], [(200 + added, 200 + added)]]
            assert answered[-1]
            graph.mutate(
                "query q($t: String) { insert Person { handle: $t, age: 1 } insert Knows { from: $t, to: $t } }",
                params={"t": f"new {added}"},
            )
        assert [graph.at(before).query(READS["nodes"]).tuples() for _ in range(4)] == [[(50,)]] * 4
        # Nothing is made of the rows that are counted, so a limit on rows is not about them.
        few = og.Limits(rows=1, result_rows=1)
        assert graph.query(READS["nodes"], limits=few).tuples() == executed(graph, READS["nodes"], {}).tuples()
        shown = graph.with_visibility(Visibility(None, frozenset({("Person", frozenset({"name"}))})))
        assert shown.query(READS["nodes"]).tuples() == [(53,)]


def test_what_had_to_be_evicted_is_not_held_on_to(graph: og.Graph, answered: list[bool]) -> None:
    text = READS["look-up"]
    warm(graph, text)
    assert answered[-1]
    memory = graph.view().tables.memory
    assert len(memory.cache(direct._DIRECT))
    memory.cache(KEYS)._made_room(1 << 20)
    assert not len(memory.cache(direct._DIRECT))
    answered.clear()
    warm(graph, text)
    assert not answered[0]
    assert answered[-1]


def test_many_bytes_are_left_to_the_executor_which_counts_them(tmp_path: Path, answered: list[bool]) -> None:
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        people = [{"handle": key(at), "name": "x" * 50_000, "age": at} for at in range(40)]
        graph.load([{"type": "Person", "data": each} for each in people])
        graph.load(
            [{"edge": "Knows", "from": key(at), "to": key(to)} for at in (0, 1) for to in range(2, 40 - 30 * at)]
        )
        warm(graph, READS["hop"])
        for start, count, is_direct in ((1, 8, True), (0, 38, False)):
            assert len(graph.query(READS["hop"], params={"h": key(start)})) == count
            assert answered[-1] is is_direct


def test_a_hidden_type_stays_hidden(tmp_path: Path, answered: list[bool]) -> None:
    with graph_of(tmp_path / "g.omni", 50) as graph:
        for text in (READS["another type"], READS["hop"]):
            warm(graph, text)
            assert answered[-1]
        shown = graph.with_visibility(Visibility(frozenset({"Person", "Knows"}), frozenset()))
        for run in (shown.query, shown.prepare):
            with pytest.raises(CompileError, match="works"):
                run(READS["another type"])
        params = {"h": key(6)}
        assert shown.query(READS["hop"], params=params).tuples() == graph.query(READS["hop"], params=params).tuples()


def test_a_masked_property_stays_masked(tmp_path: Path, answered: list[bool]) -> None:
    with graph_of(tmp_path / "g.omni", 50) as graph:
        text, params = READS["look-up"], {"h": key(5)}
        warm(graph, text)
        assert answered[-1]
        shown = graph.with_visibility(Visibility(None, frozenset({("Person", frozenset({"name"}))})))
        ask = shown.prepare(text)
        for _ in range(5):
            assert shown.query(text, params=params).tuples() == ask(params).tuples() == [(None, 5)]
        assert graph.query(text, params=params).tuples() == [("name 5", 5)]


def test_threads_share_a_prepared_read(graph: og.Graph) -> None:
    ask = graph.prepare(READS["hop"])
    expected = {key(number): ask({"h": key(number)}).tuples() for number in range(60)}
    wrong: list[str] = []

    def work() -> None:
        for each, rows in list(expected.items()) * 5:
            if ask({"h": each}).tuples() != rows:
                wrong.append(each)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_a_prepared_read_is_checked_when_it_is_prepared(graph: og.Graph) -> None:
    with pytest.raises(CompileError):
        graph.prepare("query q() { match { $p: Nobody } return { $p.name } }")
    with pytest.raises(BadRequest, match="R002"):
        graph.prepare('query q() { insert Firm { code: "c", name: "C" } }')
    ask = graph.prepare("query q($h: [String]) { match { $p: Person $p.handle in $h } return { $p.handle } }")
    assert repr(ask) == "Prepared(q($h: [String]))"
    with pytest.raises(ParameterError, match="P006"):
        ask()
    some = [key(number) for number in (3, 1, 2)]
    assert [len(found) for found in ask.many([{"h": some}, {"h": []}])] == [3, 0]
    assert graph.at(graph.commits.head()).prepare(READS["look-up"])({"h": key(5)}).tuples() == [("name 5", 5)]
