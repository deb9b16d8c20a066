"""The kernels of the registry's functions, under their names; `if`, `coalesce`, `nullif`, `id` and `type` are the
evaluator's and the type checker's own."""

from __future__ import annotations

from omnigraph.engine.values.functions.conversions import CONVERSION_KERNELS
from omnigraph.engine.values.functions.kernel import Call, Kernel
from omnigraph.engine.values.functions.lists import LIST_KERNELS
from omnigraph.engine.values.functions.moments import MOMENT_KERNELS
from omnigraph.engine.values.functions.numbers import NUMBER_KERNELS
from omnigraph.engine.values.functions.text import TEXT_KERNELS

KERNELS: dict[str, Kernel] = {
    **CONVERSION_KERNELS,
    **TEXT_KERNELS,
    **NUMBER_KERNELS,
    **MOMENT_KERNELS,
    **LIST_KERNELS,
}

__all__ = ["KERNELS", "Call", "Kernel"]
