"""What the steps of the generator share: numbers by power laws, lists drawn from, tables of edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Tables = dict[str, pa.Table]

DAY = 86_400_000
BEGIN = int(np.datetime64("2010-01-01", "ms").astype(np.int64))
END = int(np.datetime64("2013-01-01", "ms").astype(np.int64))


@dataclass(frozen=True, slots=True)
class People:
    """What later steps need of the people, one entry for each."""

    number: Numbers
    country: Numbers
    city: Numbers
    created: Numbers
    tastes: Numbers  # three favourite tags


@dataclass(frozen=True, slots=True)
class Lists:
    """For each of many things, a list of numbers."""

    start: Numbers
    items: Numbers

    @classmethod
    def of(cls, owner: Numbers, items: Numbers, count: int) -> Lists:
        """From pairs."""
        order = np.argsort(owner, kind="stable")
        return cls(np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=count)))), items[order])

    def sizes(self, owner: Numbers) -> Numbers:
        """How long the lists of some owners are."""
        return self.start[owner + 1] - self.start[owner]

    def places(self, rng: np.random.Generator, owner: Numbers) -> Numbers:
        """The place in `items` of one item of each owner's list, which must not be empty."""
        return self.start[owner] + (rng.random(len(owner)) * self.sizes(owner)).astype(np.int64)

    def draw(self, rng: np.random.Generator, owner: Numbers) -> Numbers:
        """One item of each owner's list."""
        return self.items[self.places(rng, owner)]


@dataclass(frozen=True, slots=True)
class Forums:
    """What messages need of the forums."""

    number: Numbers
    created: Numbers
    tag: Numbers
    owner: Numbers


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that messages are written from; they are added to the tables."""

    tables: Tables
    rng: np.random.Generator
    people: People
    forums: Forums
    members: Lists
    joined: Lists  # when each of the members joined


def moments(values: Numbers) -> pa.Array:
    """Milliseconds as instants."""
    return pa.array(values.astype(np.int64), pa.timestamp("ms", "UTC"))


def edges(tail: Numbers, head: Numbers, **more: Any) -> pa.Table:
    """An edge table."""
    return pa.table({"from": pa.array(tail, pa.int64()), "to": pa.array(head, pa.int64()), **more})


def power(rng: np.random.Generator, count: int, mean: float, most: int) -> Numbers:
    """Whole numbers from 0 whose tail follows a power law."""
    drawn = rng.pareto(1.6, count) * mean * 0.6
    return np.minimum(drawn, most).astype(np.int64)


def zipf(rng: np.random.Generator, count: int, ranks: int) -> Numbers:
    """Ranks from 0, the first ones far more often than the last."""
    weights = 1.0 / np.arange(1, ranks + 1)
    return np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(count)).clip(max=ranks - 1).astype(np.int64)
