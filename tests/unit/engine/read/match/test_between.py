"""Patterns between two nodes of each row give the same whether they are followed row by row or joined."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.read import execute
from omnigraph.engine.read.frames.frame import Frame
from omnigraph.engine.read.frames.run import Run
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
    assert any(used) == (name != "sum of an edge")
    monkeypatch.setattr(between, "_SHARED", 1_000_000)
    assert graph.query(text).rows() == together
    if name != "nothing":
        assert len({str(row["found"]) for row in together}) > 1, "a case in which all answers are equal shows little"


# About every person and the few cards, or notes, that are named.
FEW = {
    "exists": "exists { $a wroteNote $x $x answersCard $b } as found",
    "a condition": "count($x match { $a wroteNote $x $x.n > 1 $x answersCard $b }) as found",
    "three steps": "count($y match { $a wroteNote $x $x answers $y $y.n < 5 $y answersCard $b }) as found",
    "an edge on the way": "sum($w.n match { $a wroteNote $x $x $w:answers $y $w.n > 1 $y answersCard $b }) as found",
    "an edge of the start": "sum($e.w match { $a $e:wroteNote $x $x answersCard $b }) as found",
    "collect in order": "collect($x.name match { $a wroteNote $x $x answersCard $b } order $x.n desc) as found",
    "two together": "collect($y.name match { $a wroteNote $x $x answers $y $y answersCard $b } order $x.name) as found",
    "several edge types": "count($x match { $a wroteNote|wroteCard $x $x answersCard|marks $b }) as found",
    "nothing": "count($x match { $a wroteNote $x $x.n > 100 $x answersCard $b }) as found",
}
FEW_SCHEMA = SCHEMA.replace(
    "edge Answers: Note -> Note", "edge Answers: Note -> Note { n: I32 }\nedge Marks: Card -> Card"
)


@pytest.fixture(scope="module")
def few_ends(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    rng = random.Random(8)
    people, notes, cards = ([f"{kind}{at}" for at in range(size)] for kind, size in (("p", 200), ("n", 230), ("c", 30)))
    found = og.init(Path(tmp_path_factory.mktemp("few")) / "g.omni", schema=FEW_SCHEMA)
    edges = {
        "WroteNote": [(rng.choice(people), note) for note in notes + notes[:30]],
        "WroteCard": [(rng.choice(people), card) for card in cards],
        "Answers": [(rng.choice(notes), rng.choice(notes)) for _ in range(330)],
        "AnswersCard": [(note, rng.choice(cards)) for note in notes + notes[:40]],
        "Marks": [(rng.choice(cards), rng.choice(cards)) for _ in range(60)],
    }
    values = {"WroteNote": "w", "Answers": "n"}
    found.load(
        [
            *({"type": "Person", "data": {"name": name}} for name in people),
            *({"type": "Note", "data": {"name": name, "n": rng.randint(0, 5)}} for name in notes),
            *({"type": "Card", "data": {"name": name, "n": 1}} for name in cards),
            *(
                {"edge": kind, "from": a, "to": b, "data": {values[kind]: rng.randint(1, 9)} if kind in values else {}}
                for kind, pairs in edges.items()
                for a, b in pairs
            ),
        ]
    )
    found.mutate(
        'query d() { delete Person where name = "p3" delete Note where name = "n5" delete Card where name = "c4" }'
    )
    return found


@pytest.mark.parametrize("name", [*FEW, "optional", "not"])
@pytest.mark.parametrize("mode", ["csr", "indexed"])
def test_patterns_about_few_ends_are_followed_from_there(
    few_ends: og.Graph, name: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", mode)
    pairs = '$a: Person $b: Card $b.name in ["c1", "c7", "c30"]'
    if name == "not":
        body = f"match {{ {pairs} not {{ $a wroteNote $x $x answersCard $b }} }} return {{ $a.name, $b.name as x }}"
    elif name == "optional":
        block = "optional { $a wroteNote $x $x.n > 0 $x answersCard $b }"
        body = f"match {{ {pairs} {block} }} return {{ $a.name, $b.name as b, $x.name as x, $x.n }}"
    else:
        body = f"match {{ {pairs} }} return {{ $a.name, $b.name as b, {FEW[name]} }}"
    text = f"query q() {{ {body} }}"
    turned: list[bool] = []
    plain = between._from_fewer

    def spied(run: Run, rows: Frame, met: between.Meeting) -> between.Meeting:
        found = plain(run, rows, met)
        turned.append(found is not met)
        return found

    monkeypatch.setattr(between, "_from_fewer", spied)
    together = few_ends.query(text).rows()
    assert any(turned) == (name != "an edge of the start")
    monkeypatch.setattr(between, "_SHARED", 1_000_000)
    turned.clear()
    assert few_ends.query(text).rows() == together
    assert not any(turned)
    if name != "nothing":
        assert len({str(row.get("found", row.get("x"))) for row in together}) > 1
