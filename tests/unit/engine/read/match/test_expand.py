"""Hops to a node that is named, and to nodes of several types, find what plain filters over all pairs find."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.read.match import expand

SCHEMA = """
interface Thing { name: String @key  n: I32? }
node Note implements Thing { seen: Bool? }
node Card implements Thing {}
node Person { name: String @key }
edge Answers: Note -> Note
edge AnswersCard: Note -> Card
edge Turns: Card -> Note
edge WroteNote: Person -> Note
edge WroteCard: Person -> Card
"""


def _records() -> list[dict[str, Any]]:
    rng = random.Random(11)
    notes, cards, people = ([f"{kind}{at}" for at in range(count)] for kind, count in (("n", 30), ("c", 12), ("p", 6)))
    pairs = {
        "Answers": [(rng.choice(notes), rng.choice(notes)) for _ in range(40)] + [("n3", "n3"), ("n7", "n7")],
        "AnswersCard": [(rng.choice(notes), rng.choice(cards)) for _ in range(14)],
        "Turns": [(rng.choice(cards), rng.choice(notes)) for _ in range(10)],
        "WroteNote": [(rng.choice(people), note) for note in notes + notes[:9]],
        "WroteCard": [(rng.choice(people), card) for card in cards],
    }
    numbers = [None, 0, 1, 2, 3]
    return [
        *({"type": "Note", "data": {"name": name, "n": rng.choice(numbers), "seen": at % 3 == 0}}
          for at, name in enumerate(notes)),
        *({"type": "Card", "data": {"name": name, "n": rng.choice(numbers)}} for name in cards),
        *({"type": "Person", "data": {"name": name}} for name in people),
        *({"edge": kind, "from": a, "to": b} for kind, ends in pairs.items() for a, b in ends),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(Path(tmp_path_factory.mktemp("expand")) / "g.omni", schema=SCHEMA)
    graph.load(_records())
    graph.mutate('query d() { delete Note where name = "n5" delete Card where name = "c4" }')
    return graph


def rows(graph: og.Graph, body: str, **params: str) -> list[tuple[Any, ...]]:
    declared = ", ".join(f"${name}: String" for name in params)
    return [tuple(row.values()) for row in graph.query(f"query q({declared}) {{ {body} }}", params=params).rows()]


HOPS = [
    "answers{1,2}",
    "answers{2}",
    "<answers>{3,4}",
    "answers{0,1}",
    "<answers>{1,}",
    "answers|answersCard|turns{2,3}",
]


@pytest.mark.parametrize("hops", HOPS)
@pytest.mark.parametrize("backward", [False, True])
def test_several_hops_to_one_named_node_begin_at_that_node(graph: og.Graph, hops: str, backward: bool) -> None:
    """From a few people's notes to a note that is named, row by row, counted, and in a block of its own."""
    ends = f"$b {hops} $a" if backward else f"$a {hops} $b"
    steps = f"$p: Person $p wroteNote $a {ends}"
    every = rows(graph, f"match {{ {steps} $b: Note }} return {{ $p.name, $a.name, $b.name }}")
    assert every
    for name in ["n3", "n7", "n0", "n12", "n5", "unknown"]:
        expected = sorted(row[:2] for row in every if row[2] == name)
        named = f"{steps} $b: Note {{ name: $name }}"
        found = rows(graph, f"match {{ {named} }} return {{ $p.name, $a.name }}", name=name)
        assert sorted(found) == expected
        ((count,),) = rows(graph, f"match {{ {named} }} return {{ count(*) as n }}", name=name)
        assert count == len(expected)
        per = rows(graph, f"match {{ {named} }} return {{ $p.name, count(*) as n }} order {{ $p.name }}", name=name)
        assert per == [(each, sum(p == each for p, _ in expected)) for each in sorted({p for p, _ in expected})]
        block = f"match {{ $p: Person optional {{ $p wroteNote $a {ends} $b: Note {{ name: $name }} }} }}"
        optional = rows(graph, f"{block} return {{ $p.name, $a.name }}", name=name)
        assert sorted(row for row in optional if row[1] is not None) == expected


def test_many_rows_are_not_followed_one_by_one_to_a_named_node(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[int] = []
    plain = expand.reach

    def counted(steps: Any, rows: Any, *given: Any, **named: Any) -> Any:
        starts.append(len(rows))
        return plain(steps, rows, *given, **named)

    monkeypatch.setattr(expand, "reach", counted)
    for shown in ("$a.name", "count(*) as n"):
        body = f'match {{ $p: Person $p wroteNote $a $a answers{{2,3}} $b $b: Note {{ name: "n3" }} }} return {{ {shown} }}'
        starts.clear()
        graph.query(f"query q() {{ {body} }}")
        assert starts == [1], body


CONDITIONS = ["$m.n > 1", "$m.n is null", "$m.n <= 2 and $m.n != 0", 'type($m) = "Card" or $m.n = 3', "$m.n = $m.n"]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_on_nodes_of_several_types_hold_for_each_type(graph: og.Graph, condition: str) -> None:
    """Both directions: the nodes that are reached come once, or several times and in no order."""
    for hop, start in (("$p wroteNote|wroteCard $m", "$p: Person"), ("$q answers|answersCard $m", "$q: Note")):
        match = f"{start} {hop} $m: Note|Card"
        shown = f"return {{ {start[:2]}.name, $m.name as m, type($m) as t }}"
        single = [
            row
            for kind in ("Note", "Card")
            for row in rows(graph, f"match {{ {match} $m: {kind} {condition} }} {shown}")
        ]
        assert single
        assert sorted(rows(graph, f"match {{ {match} {condition} }} {shown}")) == sorted(single)
