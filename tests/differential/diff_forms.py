"""The table of expression forms: what each one takes and gives, and how it reads in the language and in SQL.

To cover a new function, add a line. `{0}`, `{1}` … are the arguments; families are those of `diff_world`. `number` takes any
family of numbers, and `truth` is what a condition is. An argument in SQL has the type that its family is stored as.
"""

from __future__ import annotations

from dataclasses import dataclass

NUMBERS = ("int", "large", "float", "single")
ORDERED = (*NUMBERS, "text", "words", "bool", "date", "instant")


@dataclass(frozen=True, slots=True)
class Form:
    """One way to make a value, or a condition, of others."""

    result: str
    args: tuple[str, ...]
    text: str
    sql: str


# A zero divisor gives null; an operand beside a float is rounded to the nearest double.
_DIVIDED = "(CAST({0} AS DOUBLE) / NULLIF(CAST({1} AS DOUBLE), 0.0::DOUBLE))"
VALUE_FORMS = (
    Form("int", ("int", "int"), "({0} + {1})", "(CAST({0} AS BIGINT) + CAST({1} AS BIGINT))"),
    Form("int", ("int", "int"), "({0} - {1})", "(CAST({0} AS BIGINT) - CAST({1} AS BIGINT))"),
    Form("int", ("int", "int"), "({0} * {1})", "(CAST({0} AS BIGINT) * CAST({1} AS BIGINT))"),
    Form("int", ("int", "int"), "({0} % {1})", "(CAST({0} AS BIGINT) % NULLIF(CAST({1} AS BIGINT), 0))"),
    Form("int", ("int",), "(-{0})", "(0 - CAST({0} AS BIGINT))"),
    Form("float", ("number", "number"), "({0} / {1})", _DIVIDED),
    Form("float", ("number", "float"), "({0} + {1})", "(CAST({0} AS DOUBLE) + CAST({1} AS DOUBLE))"),
    Form("float", ("float", "number"), "({0} - {1})", "(CAST({0} AS DOUBLE) - CAST({1} AS DOUBLE))"),
    Form("float", ("number", "float"), "({0} * {1})", "(CAST({0} AS DOUBLE) * CAST({1} AS DOUBLE))"),
    Form(
        "float", ("number", "float"), "({0} % {1})", "(CAST({0} AS DOUBLE) % NULLIF(CAST({1} AS DOUBLE), 0.0::DOUBLE))"
    ),
)

_TOKENS = "list_filter(regexp_split_to_array(lower({0}), '[^a-z]+'), lambda x: x <> '')"
_ASKED = "list_filter(regexp_split_to_array(lower({1}), '[^a-z]+'), lambda x: x <> '')"
# Text predicates are never null: a missing text matches nothing.
_SEARCH = f"COALESCE(len(list_intersect({_TOKENS}, {_ASKED})) > 0, FALSE)"
_FUZZY = f"COALESCE(len(list_filter({_TOKENS}, lambda t: len(list_filter({_ASKED}, lambda q: levenshtein(t, q) <= %d)) > 0)) > 0, FALSE)"
_MEMBER = "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL ELSE list_contains({1}, {0}) END"
TRUTH_FORMS = (
    Form("truth", ("text", "text"), "{0} contains {1}", "contains({0}, {1})"),
    Form("truth", ("text", "text"), "{0} starts_with {1}", "starts_with({0}, {1})"),
    Form("truth", ("text", "texts"), "{1} contains {0}", _MEMBER),
    Form("truth", ("text", "texts"), "{0} in {1}", _MEMBER),
    Form("truth", ("text", "texts"), "{0} not in {1}", f"NOT ({_MEMBER})"),
    Form("truth", ("int", "ints"), "{0} in {1}", _MEMBER),
    Form("truth", ("words", "query"), "search({0}, {1})", _SEARCH),
    Form("truth", ("words", "query"), "match_text({0}, {1})", _SEARCH),
    Form("truth", ("words", "query"), "fuzzy({0}, {1})", _FUZZY % 2),
    Form("truth", ("words", "query"), "fuzzy({0}, {1}, 1)", _FUZZY % 1),
)

# Words that the analyzer leaves as they are: neither stop words nor shortened by stemming.
QUERIES = ("oak", "elm ash", "oat elk", "fit", "pine")
