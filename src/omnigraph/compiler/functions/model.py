"""What the registry knows about one function: its typed signature, null rule, documentation and meaning."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_SIGNATURE = re.compile(r"(\w+)\((.*)\) -> (\S+)")


class Failure(Exception):
    """A value that a function cannot compute; it fails the query only if the row it belongs to counts."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of a function.

    `kind` is a type, or a set of types: Integer, Number, Float (a number, as a double), Moment (Date or DateTime),
    List, Vector, Entity, T (one scalar type for all parameters of that kind), or Word (one of a few words).
    """

    name: str
    kind: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """One function. `result` is a type, or Numeric, T, Item, List: what the arguments make of it; `?` may be null.

    Null in, null out, unless `own_nulls`. `fails` says that some arguments have no result and fail the query.
    """

    name: str
    group: str
    params: tuple[Argument, ...]
    result: str
    summary: str
    example: str
    answer: str
    compute: Callable[..., Any]
    variadic: bool = False
    fails: bool = False
    own_nulls: bool = False
    words: tuple[str, ...] = ()

    @property
    def least(self) -> int:
        """How many arguments it needs."""
        return sum(not param.optional for param in self.params)

    @property
    def most(self) -> int | None:
        """How many it takes; None for any number."""
        return None if self.variadic else len(self.params)

    def param(self, at: int) -> Argument:
        """The parameter of the argument at a position; the last one repeats where any number is taken."""
        return self.params[min(at, len(self.params) - 1)]

    @property
    def signature(self) -> str:
        """`name(a: String, b?: Integer) -> String`."""
        shown = [f"{param.name}{'?' if param.optional else ''}: {param.kind}" for param in self.params]
        if self.variadic:
            shown[-1] += ", …"
        return f"{self.name}({', '.join(shown)}) -> {self.result}"


def define(  # noqa: PLR0917
    group: str,
    signature: str,
    summary: str,
    example: str,
    answer: str,
    compute: Callable[..., Any],
    *,
    fails: bool = False,
    own_nulls: bool = False,
    words: tuple[str, ...] = (),
) -> Function:
    """A function from its signature as documentation writes it."""
    found = _SIGNATURE.fullmatch(signature)
    assert found is not None, signature
    name, inside, result = found.groups()
    params: list[Argument] = []
    variadic = inside.endswith("…")
    for part in filter(None, inside.removesuffix(", …").split(", ")):
        label, _, kind = part.partition(": ")
        params.append(Argument(label.removesuffix("?"), kind, label.endswith("?")))
    return Function(
        name, group, tuple(params), result, summary, example, answer, compute, variadic, fails, own_nulls, words
    )
