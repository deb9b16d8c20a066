"""The shape of a columnar input: which type its rows are, and where each field of a row comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.engine.intake.inputs.forms import BY_NAME, Form


@dataclass(frozen=True, slots=True)
class FrameShape:
    """What the rows of a columnar input are: a node type or an edge type, and where each field comes from.

    A field comes from one of `columns`, from several in `composite` (an end whose key has several parts, in declared
    order), from an expression in `computed`, or is one of `constants`; a row that does not fulfil `where` is skipped.
    With `optional`, a row without one of its endpoints is not an edge; with `missing` "skip", neither is one whose end
    is not in the graph. `also` are further types that the same rows fill. `mapping` is the file that says all this,
    where one does.
    """

    type: str | None = None
    edge: str | None = None
    columns: Mapping[str, str] | None = None
    form: Form = BY_NAME
    optional: bool = False
    mapping: str | None = None
    composite: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    computed: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    where: str | None = None
    missing: str = "refuse"
    also: tuple[FrameShape, ...] = ()

    @property
    def name(self) -> str:
        """The type's name."""
        return self.type or self.edge or ""
