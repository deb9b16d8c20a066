"""Patterns between two nodes of each row give the same whether they are followed row by row or joined."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.read import execute
from omnigraph.engine.read.match import between

SCHEMA = """
node Person { name: String @key }
node Note { name: String @key  n: I32 }
node Card { name: String @key  n: I32 }
edge Knows: Person -> Person
edge WroteNote: Person -> Note { w: I32 }
edge WroteCard: Person -> Card
edge Answers: Note -> Note
edge AnswersCard: Note -> Card
"""
PATTERNS = {
    "exists": "exists { $a wroteNote $x $x answers $y $b wroteNote $y } as found",
    "not": "exists { not { $a wroteNote $x $x answers $y $b wroteNote $y } $a knows $_ } as found",
    "count": "count($y match { $a wroteNote $x $x answers $y $b wroteNote $y }) as found",
    "several edge types": (
        "count($x match { $a wroteNote $x $x answers|answersCard $y $b wroteNote|wroteCard $y }) as found"
    ),
    "sum of an edge": "sum($e.w match { $a $e:wroteNote $x $x answers $y $b wroteNote $y $y.n > 1 }) as found",
    "collect in order": (
        "collect($y.name match { $a wroteNote $x $x answers $y $b wroteNote $y } order $y.n desc) as found"
    ),
    "either": """count($x match {
      either { $a wroteNote $x $x answers $y $b wroteNote $y } or { $b wroteNote $x $x answers $y $a wroteNote $y }
    }) as found""",
    "nothing": "count($y match { $a wroteNote $x $x.n > 100 $x answers $y $b wroteNote $y }) as found",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    rng = random.Random(3)
    people, notes = [f"p{at}" for at in range(12)], [f"n{at}" for at in range(60)]
    cards = [f"c{at}" for at in range(10)]
    found = og.init(Path(tmp_path_factory.mktemp("between")) / "g.omni", schema=SCHEMA)
    edges = {
        "Knows": [(a, b) for a in people for b in people if a != b],
        "WroteNote": [(rng.choice(people), note) for note in notes + notes[:9]],
        "WroteCard": [(rng.choice(people), card) for card in cards],
        "Answers": [(rng.choice(notes), rng.choice(notes)) for _ in range(90)],
        "AnswersCard": [(rng.choice(notes), rng.choice(cards)) for _ in range(20)],
    }
    found.load(
        [
            *({"type": "Person", "data": {"name": name}} for name in people),
            *({"type": "Note", "data": {"name": name, "n": rng.randint(0, 5)}} for name in notes),
            *({"type": "Card", "data": {"name": name, "n": 1}} for name in cards),
            *(
                {"edge": kind, "from": a, "to": b, "data": {"w": rng.randint(1, 9)} if kind == "WroteNote" else {}}
                for kind, pairs in edges.items()
                for a, b in pairs
            ),
        ]
    )
    return found


@pytest.mark.parametrize("name", PATTERNS)
def test_joined_patterns_find_what_single_rows_find(
    graph: og.Graph, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"query q() {{ match {{ $a knows $b }} return {{ $a.name, $b.name as other, {PATTERNS[name]} }} }}"
    used: list[bool] = []

    def spied(*given: object) -> object:
        found = between.joined(*given)  # type: ignore[arg-type]
        used.append(found is not None)
        return found

    monkeypatch.setattr(execute, "joined", spied)
    together = graph.query(text).rows()
    assert any(used) == (name not in ("nothing", "sum of an edge"))
    monkeypatch.setattr(between, "_SHARED", 1_000_000)
    assert graph.query(text).rows() == together
    if name != "nothing":
        assert len({str(row["found"]) for row in together}) > 1, "a case in which all answers are equal shows little"
