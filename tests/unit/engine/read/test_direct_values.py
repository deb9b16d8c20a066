"""Values of the nodes and edges around one node: direct reads answer what the executor answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.errors import ResourceLimitExceeded
from omnigraph.policy.visibility import Visibility
from tests.direct_reads import executed, same_answers

SCHEMA = """
interface Message { number: I64 @key  text: String?  at: DateTime  words: I32 }
node Post implements Message { picture: String?  tags: [String]? }
node Comment implements Message {}
node Person { number: I64 @key  name: String  born: Date?  active: Bool?  grade: F64? }
node City { code: String @key  name: String? }
node Hidden { number: I64 @key }
edge Knows: Person -> Person { since: DateTime?  weight: I32? }
edge Lives: Person -> City
edge PostBy: Post -> Person
edge CommentBy: Comment -> Person
edge AnswersPost: Comment -> Post
edge AnswersComment: Comment -> Comment
edge Sees: Person -> Hidden
"""
P, M = "$p: Person { number: $n }", "$m: Message { number: $n }"
PHOTO = "optional { $photo: Post $photo = $m }"
READS = {
    "a look-up by number": f"match {{ {P} }} return {{ $p.name, $p.number }}",
    "every type of value": f"match {{ {P} }} return {{ $p.born, $p.active, $p.grade, $p.id, $p.name }}",
    "both ends": f"match {{ {P} $p lives $c }} return {{ $p.name, $c.name as city, $p.born, $c.code }}",
    "an edge": f"match {{ {P} $p $k:knows $f }} return {{ $f.number, $k.since, $k.weight }} order {{ $k.since desc, $f.number }}",
    "an edge either way": f"match {{ {P} $p $k:<knows> $f }} return {{ $f.name, $k.since as s }} order {{ $k.weight, $f.name desc }}",
    "ids of edges": f"match {{ {P} $f $k:knows $p }} return {{ $k.id, $f.name }}",
    "an order with many equal values": f"match {{ {P} $p <knows> $f }} return {{ $f.number }} order {{ $f.active, $f.grade desc, $f.born }}",
    "rows of two hops": f"match {{ {P} $p knows $f $f knows $g }} return {{ $p.name, $f.number as f, $g.number as g }}",
    "two hops with edges": f"match {{ {P} $p $k:knows $f $f $l:knows $g }} return {{ $k.weight as k, $l.weight as l, $g.name }} order {{ $l.since }}",
    "two hops from the start": f"match {{ {P} $p knows $f $p lives $c }} return {{ $f.name, $c.name as city }}",
    "a hop from a middle node": f"match {{ {P} $p knows $f $f lives $c }} return {{ $f.number, $c.name }} order {{ $c.name, $f.number desc }}",
    "a computed value": f"match {{ {P} $p knows $f }} return {{ coalesce($f.grade, 0.5) * 2 as g, $f.born is null as unborn, upper($f.name) as n }}",
    "a choice": f'match {{ {P} }} return {{ if($p.active, "yes", "no") as a, case when $p.grade > 1 then $p.name else "-" end as c }}',
    "a message": f"match {{ {M} }} return {{ $m.text, $m.at, $m.words }}",
    "a message that may be a post": f"match {{ {M} {PHOTO} }} return {{ $m.at, coalesce($m.text, $photo.picture) as content, $photo.tags }}",
    "by whom": f"match {{ {M} $m postBy|commentBy $p }} return {{ $p.number, $p.name, $m.words }}",
    "by whom, perhaps a post": f"match {{ {M} $m postBy|commentBy $p {PHOTO} }} return {{ $p.name, $photo.picture as x }}",
    "friends of the author": f"match {{ {M} $m postBy|commentBy $p $p $k:<knows> $f }} return {{ $f.name, $k.since }} order {{ $f.name }}",
    "answers to a message": f"match {{ {M} $c answersPost|answersComment $m $c commentBy $p }} return {{ $c.text, $p.name }}",
    "by id": "match { $p: Person { id: $i } $p lives $c } return { $p.number, $c.code }",
    "a fixed key": "match { $p: Person { number: 7 } $p lives $c } return { $p.name, $c.name as city }",
}
# The executor has to answer them.
OTHERS = {
    "several edge types from one type": f"match {{ {P} $m postBy|commentBy $p }} return {{ $p.name, $m.text }}",
    "a condition": f"match {{ {P} $p knows $f $f.number > 3 }} return {{ $p.name, $f.name as f }}",
    "a parameter in a value": f"match {{ {P} $p lives $c }} return {{ $p.number + $n as twice }}",
    "a limit": f"match {{ {P} $p $k:knows $f }} return {{ $k.since, $f.name }} order {{ $k.since }} limit 2",
    "the type of a node": f"match {{ {M} }} return {{ type($m) as t, $m.at }}",
    "a whole node": f"match {{ {P} $p lives $c }} return {{ $p.name, $c }}",
    "several hops": f"match {{ {P} $p knows{{1,2}} $f }} return {{ $p.name, $f.name as f }}",
}


class OnBranch:
    """Queries on one branch."""

    def __init__(self, graph: og.Graph, branch: str) -> None:
        self._graph, self._branch = graph, branch

    def query(self, text: str, params: Any) -> og.Result:
        return self._graph.query(text, params=params, branch=self._branch)


DECLARED = {"by id": "$i: String?", "a fixed key": ""}


def text_of(name: str) -> str:
    return f"query q({DECLARED.get(name, '$n: I64?')}) {{ {(READS | OTHERS)[name]} }}"


def params_of(name: str, number: Any) -> dict[str, Any]:
    return {"by id": {"i": None if number is None else str(number)}, "a fixed key": {}}.get(name, {"n": number})


def _nulls(chance: np.random.Generator, values: list[Any], share: float = 0.3) -> list[Any]:
    return [None if drawn < share else value for drawn, value in zip(chance.random(len(values)), values, strict=True)]


def graph_of(place: Path, people: int) -> og.Graph:
    chance = np.random.default_rng(people)
    numbers = chance.permutation(people)
    posts, comments = np.arange(people, people * 2), np.arange(people * 2, people * 3)
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    graph = og.init(place, SCHEMA)
    days = [date(1980, 1, 1) + timedelta(days=int(each) % 50) for each in numbers]
    graph.load(
        pa.table(
            {
                "number": numbers,
                "name": [f"name {each % 17}" for each in numbers],
                "born": pa.array(_nulls(chance, days), pa.date32()),
                "active": pa.array(_nulls(chance, [bool(each % 2) for each in numbers]), pa.bool_()),
                "grade": pa.array(_nulls(chance, [float(each % 4) - 0.5 for each in numbers]), pa.float64()),
            }
        ),
        type="Person",
        runner="inline",
    )
    graph.load(pa.table({"code": ["a", "b", "c"], "name": ["A", None, "C"]}), type="City", runner="inline")

    def messages(ids: Any) -> dict[str, Any]:
        moments = [begin + timedelta(milliseconds=int(each) * 7919) for each in ids]
        texts = _nulls(chance, [f"text {each}" for each in ids])
        return {"number": ids, "text": texts, "at": moments, "words": pa.array(ids % 5, pa.int32())}

    pictures = _nulls(chance, [f"{each}.jpg" for each in posts])
    tags = _nulls(chance, [[f"t{each % 3}"] * (each % 3) for each in posts.tolist()])
    tagged = {"picture": pictures, "tags": pa.array(tags, pa.list_(pa.utf8()))}
    graph.load(pa.table({**messages(posts), **tagged}), type="Post", runner="inline")
    graph.load(pa.table(messages(comments)), type="Comment", runner="inline")

    def link(edge: str, start: Any, end: Any, **values: Any) -> None:
        ends = {"from": [str(each) for each in start], "to": [str(each) for each in end]}
        graph.load(pa.table({**ends, **values}), edge=edge, runner="inline")

    ends = chance.integers(0, people, (2, people * 4))  # parallel edges and loops among them
    moments = _nulls(chance, [begin + timedelta(days=int(each) % 20) for each in ends[0]], 0.1)
    since = pa.array(moments, pa.timestamp("ms", "UTC"))
    link("Knows", *ends, since=since, weight=pa.array(_nulls(chance, (ends[1] % 6).tolist()), pa.int32()))
    link("Lives", range(0, people, 2), np.array(["a", "b", "c"])[np.arange(0, people, 2) % 3])
    link("PostBy", posts, chance.integers(0, people, people))
    link("CommentBy", comments[::2], chance.integers(0, people, len(comments[::2])))
    link("AnswersPost", comments, chance.choice(posts, people))
    graph.mutate("query d() { delete Person where number in [2, 3] delete Post where number = 305 }")
    return graph


@pytest.fixture(scope="module", params=[150, 5_000], ids=["small", "large"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    with graph_of(tmp_path_factory.mktemp("values") / "g.omni", request.param) as made:
        yield made


def some_numbers(graph: og.Graph) -> list[Any]:
    """People, posts and comments; deleted and unknown ones; null."""
    people = graph.query("query q() { match { $p: Person } return { count(*) as n } }").scalar() + 2
    return [
        *range(0, 30, 3),
        *range(people + 1, people + 20, 3),
        *range(people * 2, people * 2 + 20, 3),
        2,
        -1,
        305,
        None,
    ]


def warm(graph: Any, name: str, numbers: list[Any]) -> None:
    for _ in range(6):
        for number in numbers:
            graph.query(text_of(name), params=params_of(name, number))


@pytest.mark.parametrize("name", [*READS, *OTHERS])
def test_values_around_a_node_are_those_that_the_executor_finds(
    graph: og.Graph, name: str, answered: list[bool]
) -> None:
    numbers = some_numbers(graph)
    warm(graph, name, numbers)
    answered.clear()
    same_answers(graph, text_of(name), [params_of(name, number) for number in numbers])
    assert any(answered) == (name in READS)


def test_what_was_committed_is_seen_on_its_branch_and_in_later_states_only(
    tmp_path: Path, answered: list[bool]
) -> None:
    name = "an edge either way"
    with graph_of(tmp_path / "g.omni", 150) as graph:
        changes = [
            'query c() { update Person set { name: "new" } where number = 9 }',
            'query c() { delete Knows where from = "9" }',
            'query c() { insert Person { number: 9000, name: "later" } insert Knows { from: "9000", to: "9", weight: 1 } }',
            "query c() { delete Person where number = 12 }",
        ]
        for change in changes:
            before = graph.commits.head()
            warm(graph, name, [9, 12, 15])
            assert answered[-1]
            seen = [executed(graph, text_of(name), {"n": each}).rows() for each in (9, 12, 15)]
            graph.branches.create("side")
            graph.mutate(change, branch="side")
            assert [graph.query(text_of(name), params={"n": each}).rows() for each in (9, 12, 15)] == seen
            side = OnBranch(graph, "side")
            warm(side, name, [9, 12, 15])
            same_answers(side, text_of(name), [{"n": each} for each in (9, 12, 15, 9000)])
            graph.mutate(change)
            same_answers(graph, text_of(name), [{"n": each} for each in (9, 12, 15, 9000)])
            past = graph.at(before)
            warm(past, name, [9, 12, 15])
            assert [past.query(text_of(name), params={"n": each}).rows() for each in (9, 12, 15)] == seen
            graph.branches.delete("side")


def test_one_number_in_two_types_is_left_to_the_executor(tmp_path: Path, answered: list[bool]) -> None:
    with graph_of(tmp_path / "g.omni", 150) as graph:
        graph.mutate(
            'query c() { insert Comment { number: 160, at: datetime("2021-01-01T00:00:00Z"), words: 1 }'
            ' insert CommentBy { from: "160", to: "9" } }'
        )
        for name in ("a message", "by whom"):
            warm(graph, name, [151, 302])
            answered.clear()
            same_answers(graph, text_of(name), [{"n": 160}, {"n": 151}])
            assert answered == [False, True]
            assert len(graph.query(text_of(name), params={"n": 160})) == 2


def test_what_is_not_ready_for_one_type_of_the_start_is_made_once_it_is_asked_for(
    tmp_path: Path, answered: list[bool]
) -> None:
    with graph_of(tmp_path / "g.omni", 150) as graph:
        warm(graph, "by whom", [*range(151, 160)])
        assert answered[-1]  # only neighbour lists of posts were built
        answered.clear()
        warm(graph, "by whom", [*range(302, 310, 2)])
        assert not answered[0]
        assert answered[-1]


def test_limits_hold(graph: og.Graph, answered: list[bool]) -> None:
    name = "rows of two hops"
    warm(graph, name, [0, 6, 9])
    count = len(graph.query(text_of(name), params={"n": 9}))
    assert answered[-1]
    assert count > 1
    for limits in (Limits(result_rows=count - 1), Limits(rows=count - 1), Limits(seconds=0)):
        with pytest.raises(ResourceLimitExceeded):
            graph.query(text_of(name), params={"n": 9}, limits=limits)
    assert len(graph.query(text_of(name), params={"n": 9}, limits=Limits(result_rows=count, rows=count))) == count


def test_a_masked_property_stays_masked(tmp_path: Path, answered: list[bool]) -> None:
    with graph_of(tmp_path / "g.omni", 150) as graph:
        warm(graph, "both ends", [8, 10])
        assert answered[-1]
        shown = graph.with_visibility(Visibility(None, frozenset({("City", frozenset({"name"}))})))
        for _ in range(5):
            row = shown.query(text_of("both ends"), params={"n": 6}).rows()[0]
            assert (row["city"], row["p.name"]) == (None, "name 6")
        assert graph.query(text_of("both ends"), params={"n": 6}).rows()[0]["city"] == "A"


def test_wide_values_of_many_rows_are_left_to_the_executor(tmp_path: Path, answered: list[bool]) -> None:
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        people = [{"type": "Person", "data": {"number": at, "name": "x" * 50_000}} for at in range(40)]
        knows = [{"edge": "Knows", "from": str(at), "to": str(to)} for at in (0, 1) for to in range(2, 40 - 30 * at)]
        graph.load([*people, *knows])
        text = "query q($n: I64) { match { $p: Person { number: $n } $p $k:knows $f } return { $f.name, $k.since } }"
        for _ in range(8):
            graph.query(text, params={"n": 1})
        for start, count, is_direct in ((1, 8, True), (0, 38, False)):
            assert len(graph.query(text, params={"n": start})) == count
            assert answered[-1] is is_direct
