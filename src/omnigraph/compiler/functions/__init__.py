"""The one registry of functions: names, typed signatures, null rules, documentation, and what each means for one value.

The kernels that compute whole columns are in `engine/values/functions`, under the same names; Spark's workers run the
same ones. What stands here is what the naive evaluator and constant folding use.
"""

from __future__ import annotations

from omnigraph.compiler.functions.aggregates import AGGREGATES
from omnigraph.compiler.functions.conversions import CONVERSIONS
from omnigraph.compiler.functions.lists import LISTS
from omnigraph.compiler.functions.model import Failure, Function
from omnigraph.compiler.functions.moments import MOMENT_FUNCTIONS
from omnigraph.compiler.functions.numbers import NUMBERS
from omnigraph.compiler.functions.text import TEXT

FUNCTIONS: dict[str, Function] = {
    function.name: function for function in (*CONVERSIONS, *TEXT, *NUMBERS, *MOMENT_FUNCTIONS, *LISTS)
}

__all__ = ["AGGREGATES", "FUNCTIONS", "Failure", "Function"]
