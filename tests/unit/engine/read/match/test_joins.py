"""A second variable for the same node, as blocks over several types ask for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.read.match import joins
from omnigraph.engine.values import text_numbers

SCHEMA = """
interface Message { number: I64 @key  text: String? }
node Post implements Message { picture: String? }
node Comment implements Message {}
edge Answers: Comment -> Post
edge Follows: Post -> Post
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    found = og.init(Path(tmp_path_factory.mktemp("joins")) / "g.omni", schema=SCHEMA)
    posts = [{"type": "Post", "data": {"number": at, "picture": f"{at}.jpg" if at % 3 else None}} for at in range(20)]
    comments = [{"type": "Comment", "data": {"number": 100 + at, "text": f"t{at}"}} for at in range(20)]
    answers = [{"edge": "Answers", "from": str(100 + at), "to": str(at)} for at in range(0, 20, 2)]
    follows = [{"edge": "Follows", "from": str(at), "to": str(at + 1)} for at in (0, 1, 5, 11)]
    found.load([*posts, *comments, *answers, *follows])
    found.mutate("query d() { delete Post where number = 7 delete Comment where number = 104 }")
    return found


def rows(graph: og.Graph, body: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in graph.query(f"query q() {{ {body} }}").rows()]


POSTS = [at for at in range(20) if at != 7]
COMMENTS = [100 + at for at in range(20) if at != 4]


@pytest.mark.parametrize("same", ["$photo = $m", "$m = $photo"])
def test_a_node_is_looked_up_by_what_it_is(graph: og.Graph, same: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "EqualityJoin", None)  # which looks at every node
    block = f"match {{ $m: Message optional {{ $photo: Post {same} }} }}"
    found = rows(graph, f"{block} return {{ $m.number as n, $photo.number as p, $photo.picture }}")
    posts = [(at, at, f"{at}.jpg" if at % 3 else None) for at in POSTS]
    assert sorted(found, key=str) == sorted([*posts, *((at, None, None) for at in COMMENTS)], key=str)


def test_conditions_on_the_second_variable_hold_as_well(graph: og.Graph) -> None:
    block = "match { $m: Message optional { $photo: Post $photo = $m $photo.picture is not null $photo.number < 9 } }"
    found = rows(graph, f"{block} return {{ $m.number as n, $photo.number as p }}")
    assert sorted(n for n, p in found if p is not None) == [1, 2, 4, 5, 8]
    assert all(n == p for n, p in found if p is not None)
    assert len(found) == len(POSTS) + len(COMMENTS)


def test_a_node_of_one_type_is_found_in_a_union_and_a_missing_one_nowhere(graph: og.Graph) -> None:
    body = "match { $c: Comment optional { $c answers $p } optional { $m: Message $m = $p } }"
    found = rows(graph, f"{body} return {{ $c.number as c, $p.number as p, type($m) as t, $m.number as m }}")
    linked = {100 + at: at for at in range(0, 20, 2) if at != 4}
    assert sorted(found) == sorted(
        (number, linked.get(number), "Post" if number in linked else None, linked.get(number)) for number in COMMENTS
    )


def test_only_the_number_of_rows_may_be_asked_for(graph: og.Graph) -> None:
    assert rows(graph, "match { $m: Message $p: Post $p = $m } return { count(*) as n }") == [(len(POSTS),)]
    assert rows(graph, "match { $m: Comment $p: Message $p = $m $p.number > 110 } return { count($m) as n }") == [(9,)]


def test_a_second_condition_between_both_still_counts(graph: og.Graph) -> None:
    body = "match { $m: Post $n: Message $m follows $p $n = $p $n.number > $m.number } return { $m.number, $n.number as n }"
    assert sorted(rows(graph, body)) == [(0, 1), (1, 2), (5, 6), (11, 12)]


@pytest.mark.parametrize("fewest", [1, 1 << 20])
def test_texts_that_nearly_all_differ_are_joined_as_others_are(
    tmp_path: Path, fewest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_numbers, "_FEWEST", fewest)
    names = [f"Name {at}" for at in range(60)] + ["name 7", "NAME 7", "", None]
    with og.init(tmp_path / "g.omni", "node Person { n: I64 @key  name: String? }") as found:
        found.load([{"type": "Person", "data": {"n": at, "name": name}} for at, name in enumerate(names)])
        whole = "match { $a: Person $b: Person lower($a.name) = lower($b.name) } return { count(*) as n }"
        assert rows(found, whole) == [(59 + 9 + 1,)]
        some = (
            "match { $a: Person { n: 7 } $b: Person lower($a.name) = lower($b.name) } return { $b.n as n } order { n }"
        )
        assert rows(found, some) == [(7,), (60,), (61,)]
        pairs = (
            "match { $a: Person $a.n > 58 $b: Person lower($a.name) = lower($b.name) } return { $a.n as a, $b.n as b }"
        )
        assert sorted(rows(found, pairs)) == [
            *((59, 59), (60, 7), (60, 60), (60, 61)),
            *((61, 7), (61, 60), (61, 61), (62, 62)),
        ]
