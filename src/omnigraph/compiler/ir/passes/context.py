"""What passes may know besides the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.compiler.ir.estimates import NEUTRAL, Estimates
from omnigraph.compiler.ir.expr import ConstValue, Scalar


@dataclass(frozen=True, slots=True)
class Context:
    """Row estimates, and parameter values when they are known."""

    estimates: Estimates = NEUTRAL
    values: Mapping[str, ConstValue | list[Scalar]] = field(default_factory=dict)
