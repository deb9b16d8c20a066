"""The words of both languages by what they are, for everything that colours or completes texts."""

from __future__ import annotations

from omnigraph.compiler.functions import AGGREGATES, FUNCTIONS
from omnigraph.compiler.query.parse_call import SPECIAL_CALLS
from omnigraph.compiler.query.parse_expression import WORD_COMPARISONS
from omnigraph.compiler.query.parse_literal import LITERAL_WORDS
from omnigraph.compiler.schema.lint import KNOWN as ANNOTATIONS
from omnigraph.compiler.schema.parse import CONSTRAINTS
from omnigraph.compiler.types import BASE_SCALARS

# Every word is a name as well where a name stands; tests compare these with what the parsers ask for.
QUERY_KEYWORDS = (
    *("query", "match", "return", "distinct", "having", "order", "asc", "desc", "limit", "offset", "as"),
    *(
        "optional",
        "shortest",
        "cheapest",
        "simple",
        "along",
        "by",
        "exists",
        "either",
        "unwind",
        "with",
        "union",
        "all",
        "per",
        "case",
        "when",
        "then",
        "else",
        "end",
    ),
    *("insert", "update", "set", "delete", "where"),
)
QUERY_OPERATORS = ("and", "or", "not", "in", "is", *sorted(WORD_COMPARISONS))
QUERY_ANNOTATIONS = ("description", "instruction")
CONSTANTS = tuple(LITERAL_WORDS)
CALLS = tuple(sorted({*FUNCTIONS, *AGGREGATES, *SPECIAL_CALLS}))
SCHEMA_KEYWORDS = ("interface", "node", "edge", "implements")
SCHEMA_ANNOTATIONS = tuple(sorted({*ANNOTATIONS, *CONSTRAINTS}))
SCHEMA_CONSTANTS = ("true", "false")
TYPES = (*BASE_SCALARS, "Vector")
TYPE_KEYWORDS = ("enum",)
