"""Which changes a reader wants: entity kinds, type names and operations, and a digest that cursors are bound to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal, get_args

from omnigraph.engine.views.targets import Names
from omnigraph.errors import BadRequest

Kind = Literal["node", "edge"]
Op = Literal["insert", "update", "delete"]

KINDS: tuple[Kind, ...] = get_args(Kind)
OPS: tuple[Op, ...] = get_args(Op)  # in the order in which changes of one entity would be listed


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """A filter in one normal form: sorted, without repetition, and absent where it would let everything through."""

    kinds: tuple[str, ...] = ()
    type_names: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    def has_kind(self, kind: str) -> bool:
        return not self.kinds or kind in self.kinds

    def has_type(self, name: str) -> bool:
        return not self.type_names or name in self.type_names

    def has_op(self, op: str) -> bool:
        return not self.ops or op in self.ops

    @property
    def digest(self) -> str:
        """Equal for filters that let the same changes through."""
        named = {"kinds": self.kinds, "type_names": self.type_names, "ops": self.ops}
        text = json.dumps({name: values for name, values in named.items() if values}, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def change_scope(kinds: Names = None, types: Names = None, ops: Names = None) -> ChangeScope:
    """The filter a caller described; a dimension that is left out lets everything through."""
    return ChangeScope(_chosen("kind", kinds, KINDS), _listed(types), _chosen("op", ops, OPS))


def _chosen(name: str, given: Names, known: tuple[str, ...]) -> tuple[str, ...]:
    chosen = _listed(given)
    for value in chosen:
        if value not in known:
            raise BadRequest(f"unknown {name} '{value}' in a change filter (expected {', '.join(known)})")
    return () if len(chosen) == len(known) else chosen


def _listed(given: Names) -> tuple[str, ...]:
    if given is None:
        return ()
    return tuple(sorted({given} if isinstance(given, str) else set(given)))
