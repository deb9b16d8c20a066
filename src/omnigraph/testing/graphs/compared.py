"""The queries that every engine runs and that have to have equal rows: the embedded one, Spark and the naive evaluator.

`constructs` says what the language is made of; a test asks that these queries use all of it, but for `APART`.
"""

from __future__ import annotations

from omnigraph.testing.graphs.ants import LOWERINGS
from omnigraph.testing.graphs.expressions import CASES, aggregate_examples, examples, special_examples
from omnigraph.testing.graphs.generated import generated

OVER_HUTS: dict[str, str] = {
    **{name: text for name, (text, _) in CASES.items()},
    "documented functions": examples()[0],
    "documented aggregates": aggregate_examples()[0],
    "documented searches": special_examples()[0],
    **generated(),
}
OVER_ANTS: dict[str, str] = LOWERINGS

# What no query can use in all three, and why.
APART: dict[str, str] = {}
