"""What every engine in the comparison does: load the graph once, open it, answer the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

Rows = list[tuple[Any, ...]]

CASES = (
    "point look-up by key",
    "one hop, names",
    "two-hop distinct, 1 seed",
    "two-hop distinct, 1,000 seeds",
    "three-hop distinct, 1 seed",
    "filtered two-hop aggregate",
    "reach 1..3",
)


class Engine:
    """One engine; a question it cannot answer is named in `lacks`, what it does differently in `remarks`."""

    name: ClassVar[str]
    lacks: ClassVar[dict[str, str]] = {}
    remarks: ClassVar[str] = ""

    def __init__(self, store: Path) -> None:
        self.store = store

    def build(self, data: Path) -> None:
        """Load the Parquet files into the engine's own storage."""
        raise NotImplementedError

    def open(self) -> None:
        """Open what `build` made."""
        raise NotImplementedError

    def point(self, seed: str) -> Rows:
        """Name, age and city of one person."""
        raise NotImplementedError

    def one_hop(self, seed: str) -> Rows:
        """The names of everybody a person knows, in any order."""
        raise NotImplementedError

    def two_hop(self, seed: str) -> int:
        """How many different people the people they know know."""
        raise NotImplementedError

    def two_hop_many(self, seeds: Sequence[str]) -> int:
        """The same from all seeds together."""
        raise NotImplementedError

    def three_hop(self, seed: str) -> int:
        """One hop further."""
        raise NotImplementedError

    def aggregate(self, seed: str) -> Rows:
        """The ten companies with most friends of friends over 40: name and number, most first, then by name."""
        raise NotImplementedError

    def reach(self, seed: str) -> int:
        """How many other people are one to three hops away."""
        raise NotImplementedError

    def ask(self, case: str, seeds: Sequence[str], number: int) -> Any:
        """The answer to one question from one of the seeds."""
        seed = seeds[number % len(seeds)]
        match CASES.index(case):
            case 0:
                return self.point(seed)
            case 1:
                return self.one_hop(seed)
            case 2:
                return self.two_hop(seed)
            case 3:
                return self.two_hop_many(seeds)
            case 4:
                return self.three_hop(seed)
            case 5:
                return self.aggregate(seed)
            case _:
                return self.reach(seed)
