"""The reference page of the query language's expressions, made from the registry of functions."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.compiler.assist import words
from omnigraph.compiler.cursor import MAX_DEPTH
from omnigraph.compiler.functions import AGGREGATES, FUNCTIONS
from omnigraph.compiler.functions.search import SPECIAL
from omnigraph.compiler.functions.windows import WINDOWS
from omnigraph.compiler.types import INTEGER_RANGE, MAX_VECTOR_DIM
from omnigraph.engine.read.search.analyzer import LONGEST_TOKEN

_HEAD = """\
# Expressions and functions

Generated from the registry of functions by `python -m omnigraph.testing.pages.reference docs`; a test compares the two,
and another runs every example on every engine.

One expression language stands everywhere: in the conditions of `match`, in `return`, `having` and `order`, in `set`
and
`where` of mutations, in the values of `insert`, and in the defaults of parameters (there without `now()`). A
condition is a value:
it can be returned, compared, counted and grouped by. And a truth value is a condition: a property, a column, a
parameter or a call stands alone in `match`, `having`, `where`, `case`, `if` and beside `and`, `or` and `not`.

## Operators, from the loosest

| Operator | Means |
|---|---|
| `a or b` | true if one is true; unknown if that depends on a null |
| `a and b` | true if both are true |
| `not a` | true if `a` is false; `not null` is null |
| `=` `!=` `<` `<=` `>` `>=` | numbers by value, texts by UTF-8 bytes, a Date beside a DateTime as its midnight |
| `1 <= $x.n < 9` | a range; both comparisons point the same way |
| `contains` `starts_with` `ends_with` | parts of a text, exactly; `contains` also looks into a list |
| `icontains` `istarts_with` `iends_with` | the same without regard to case |
| `matches` | whether an RE2 pattern, a literal or a parameter, occurs in a text |
| `in` `not in` | membership in a list |
| `is null` `is not null` | the only tests that are never unknown |
| `+` `-` | on numbers; `+` also joins texts, and `duration("P1Y2M3DT4H5M6S")` moves a date or an instant |
| `*` `/` `%` | on numbers; `/` always gives a fraction |
| `-a` | the negative |
| `exists { … }` | whether a pattern has a solution that goes with the row; true or false |
| `[a, b]` | a list of single values of one type; null if one of them is null |

`case when a then x when b then y else z end` is the value beside the first condition that is true; without `else`
it is null
where none is.

## Nulls and failures

- Null in, null out, for every operator and every function below, unless its entry says otherwise. A filter keeps a
  row only where its
  condition is true.
- Division by zero and functions outside their domain, such as `sqrt(-1)`, are null: what is not a finite number is
  null.
- Integers are 64 bits wide and signed. What does not fit, and what a conversion cannot convert, fails the query, if
  the row counts:
  a row that something else excludes never fails, and neither does a branch of `case` that is not taken. The `try_`
  functions give
  null instead.
- A property that a reader may not see is null in every expression.

## Functions

In signatures, a `?` after a parameter says that it can be left out, and after a type that the result may be null.
Integer is any whole
number, Number any number, Float a number that is taken as a double, Moment a Date or a DateTime, T one type for all
parameters of
that kind. A Word, a Format and a Pattern are literals (a Pattern may be a parameter).
"""
_AGGREGATES_HEAD = """\

## Aggregates

An aggregate makes `return` group by every other column. Inside its parentheses may stand `distinct` before the
value, `where` and a
condition that picks the rows that count, and for `collect`, `first` and `last` an `order` with `asc` or `desc`:
`first($h.code order $h.alt desc)`, `count(* where $h.open)`. Nulls are skipped; without values the result is null,
and of `count` 0.
Aggregates can be part of expressions (`sum($h.alt) / count(*)`), of `having` and of `order`; constants, and properties
of nodes to group by, can stand beside them.

`collect`, `first` and `last` also take a whole node or edge, `collect($h)`, and a record,
`collect({ hut: $h.name, up: $h.alt })`, whose members may be lists and nodes. Such objects are returned and handed
on; `size`, `element` and `slice` work on lists of them.

With a pattern, `count(* match { $w guards $h })`, an aggregate does not group: it is a value of each row, made of the
solutions of the pattern that go with the row. Such a value stands wherever `exists { … }` may stand.

The examples are about the four huts of the tests, whose heights are 1200, 1800, null and 1800.

| Aggregate | Takes | Gives | Means | Example | Answer |
|---|---|---|---|---|---|
"""


_WINDOWS_HEAD = """\

## Windows

A window gives each row a value from the rows of its group. `per` names the group (`per *` is all rows), `order` the
order in it, which the order of rows completes. It stands in `return`, `with` and `order`, not beside aggregates. Sums
and means of doubles have the same digits in whatever order they are added: the last running sum of a group is its sum.
The answers are those for the huts h1 to h4, one by one.

| Window | Gives | Means | Example | Answers |
|---|---|---|---|---|
"""
_SPECIAL_HEAD = """\

## Searches, ranks and constants of time

What a word is, and which texts are kept for it, says [Search](../search.md). A search is true or false, never null:
a missing text has no words.

| Call | Means | Example | Answer |
|---|---|---|---|
"""
_COSTS = "what-a-query-costs-and-how-far-it-may-go"
_WORDS_HEAD = """\

## Words

Every word is a name as well where a name stands: a property, a column or a query may be called `order`.

| Words | What they are |
|---|---|
"""


def query_page() -> str:
    """The whole page."""
    parts = (_HEAD, "\n".join(_functions()), "\n", _AGGREGATES_HEAD, *_aggregates(), _WINDOWS_HEAD, *_windows())
    return "".join((*parts, _SPECIAL_HEAD, *_special(), _WORDS_HEAD, *_words(), *_limits()))


def _special() -> Iterator[str]:
    for call in SPECIAL.values():
        example, answer = (f"`{call.example}`", f"`{call.answer}`") if call.example else ("", "")
        yield f"| `{call.signature}` | {call.summary} | {example} | {answer} |\n"


def _words() -> Iterator[str]:
    rows = {
        "sections, clauses and statements": words.QUERY_KEYWORDS,
        "operators": words.QUERY_OPERATORS,
        "constants": words.CONSTANTS,
        "annotations of a query, after `@`": words.QUERY_ANNOTATIONS,
        "types of parameters": (*words.TYPES, *words.TYPE_KEYWORDS),
    }
    for what, found in rows.items():
        yield f"| {' '.join(f'`{word}`' for word in found)} | {what} |\n"


def _limits() -> Iterator[str]:
    yield "\n## Limits\n\n| What | Limit |\n|---|---|\n"
    low, high = INTEGER_RANGE["I64"]
    rows = {
        "levels of nesting: parentheses, calls, blocks, operators in a row": MAX_DEPTH,
        "whole numbers that are computed": f"{low} to {high}",
        "whole numbers that are written": f"{low} to {INTEGER_RANGE['U64'][1]}",
        "dimensions of a vector": MAX_VECTOR_DIM,
        "letters of a word that can be searched for": LONGEST_TOKEN,
        "rows, bytes and time of a query": f"[what a query costs](../queries.md#{_COSTS})",
    }
    yield from (f"| {what} | {limit} |\n" for what, limit in rows.items())


def _windows() -> Iterator[str]:
    for info in WINDOWS.values():
        yield f"| `{info.call}` | {info.gives} | {info.summary} | `{info.example}` | `{info.answer}` |\n"


def _functions() -> Iterator[str]:
    for group in dict.fromkeys(function.group for function in FUNCTIONS.values()):
        yield f"\n### {group}\n"
        yield "| Function | Means | Example | Answer |"
        yield "|---|---|---|---|"
        for function in FUNCTIONS.values():
            if function.group == group:
                fails = " It may fail." if function.fails and "fails" not in function.summary else ""
                cells = (
                    f"`{function.signature}`",
                    function.summary + fails,
                    f"`{function.example}`",
                    f"`{function.answer}`",
                )
                yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _aggregates() -> Iterator[str]:
    for info in AGGREGATES.values():
        name = f"`{info.name}({', '.join(('value', *info.more))})`"
        yield f"| {name} | {info.takes} | {info.gives} | {info.summary} | `{info.example}` | `{info.answer}` |\n"
