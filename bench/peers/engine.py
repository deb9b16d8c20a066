"""What every engine in the comparison does: load the graph once, open it, answer the same questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

Rows = list[tuple[Any, ...]]

SEED, SEEDS, PAIR, WHOLE = "one seed", "all seeds", "two seeds", "the whole graph"
# A shortest path that is longer than this is not looked for.
LONGEST = 12


@dataclass(frozen=True, slots=True)
class Question:
    """One line of the comparison; `starts` says which parameters it has: `h`, a list `h`, `a` and `b`, or none."""

    name: str
    starts: str = WHOLE
    as_columns: bool = False  # the answer is Arrow, of which rows and the sum of the numbers are compared


# From a few people: what separates the engines is the fixed cost of a call, and how many edges are looked at.
TRAVERSALS = (
    Question("point look-up by key", SEED),
    Question("one hop, keys and names", SEED),
    Question("two hops distinct, 1 seed", SEED),
    Question("two hops distinct, 1,000 seeds", SEEDS),
    Question("two hops, 1,000 seeds, distinct pairs", SEEDS),
    Question("three hops distinct, 1 seed", SEED),
    Question("friends of friends, top companies", SEED),
    Question("reach 1..3", SEED),
    Question("shortest path between two", PAIR),
)
# Over all of the graph: what separates them is how many rows are made, and how they are folded.
ANALYTICS = (
    Question("average age per city"),
    Question("min, max, avg age per city"),
    Question("count edges"),
    Question("average of an edge property"),
    Question("top 10 edges by a property"),
    Question("all values of an edge property", as_columns=True),
    Question("count all two-hop rows"),
    Question("two-hop rows per city, no order"),
    Question("star join, count"),
    Question("triangles"),
    Question("two hops without a direct edge, count"),
    Question("value join, count"),
    Question("join on a computed key, count"),
    Question("inequality join, count"),
    Question("or-join, count"),
)
QUESTIONS = (*TRAVERSALS, *ANALYTICS)


class Engine:
    """One engine: the text of each question that it can answer, and how a text is run."""

    name: ClassVar[str]
    remarks: ClassVar[str] = ""
    has_branches: ClassVar[bool] = False
    texts: ClassVar[Mapping[str, str]]

    def __init__(self, store: Path) -> None:
        self.store = store

    def build(self, data: Path) -> None:
        """Load the Parquet files into the engine's own storage, with all that a fast first query needs."""
        raise NotImplementedError

    def open(self) -> None:
        """Open what `build` made."""
        raise NotImplementedError

    def rows(self, text: str, params: Mapping[str, Any]) -> Rows:
        """The answer as Python values."""
        raise NotImplementedError

    def columns(self, text: str, params: Mapping[str, Any]) -> Any:
        """The answer as an Arrow table."""
        raise NotImplementedError

    def insert(self, number: int) -> None:
        """One more person, committed."""
        raise NotImplementedError

    def branch(self, number: int) -> None:
        """A branch of the whole graph, where there are branches."""
        raise NotImplementedError

    def asker(self) -> Callable[[Question, Mapping[str, Any]], Any]:
        """What one thread asks through: the engine itself, or a connection of its own where that is the advice."""
        return self.ask

    def answers(self, question: Question) -> bool:
        """Whether the engine has the question."""
        return question.name in self.texts

    def ask(self, question: Question, params: Mapping[str, Any]) -> Any:
        """One question, from its text to values."""
        run = self.columns if question.as_columns else self.rows
        return run(self.texts[question.name], params)

    def close(self) -> None:
        """Let go of the store."""


def params_of(question: Question, seeds: Sequence[str], number: int) -> dict[str, Any]:
    """The parameters of the `number`th time that a question is asked; every time other seeds, where it has one."""
    seed, other = seeds[number % len(seeds)], seeds[(number * 7 + 13) % len(seeds)]
    return {SEED: {"h": seed}, SEEDS: {"h": list(seeds)}, PAIR: {"a": seed, "b": other}, WHOLE: {}}[question.starts]
