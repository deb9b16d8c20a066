"""Queries over the huts made from the registry: every function on columns, every aggregate and window in its forms.

The documented examples are mostly constants. Here their arguments come from a stage, and are null in one of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from omnigraph.compiler.functions import AGGREGATES, FUNCTIONS, Function
from omnigraph.compiler.functions.windows import PLACES, RUNNING
from omnigraph.compiler.ir.walk import expressions, rebuild
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.format_expression import format_expr
from omnigraph.compiler.query.parse import parse_queries

# What has to be a literal, and lists, which `if` does not choose between.
_LITERALS = frozenset({"Word", "Format", "Pattern", "Group", "Replacement"})


def generated() -> dict[str, str]:
    """The queries by name."""
    names = [name for name in FUNCTIONS if name not in ("id", "type")]  # those take variables
    return {
        **{f"functions from {part[0]} to {part[-1]} on columns": _on_columns(part) for part in _parts(names, 25)},
        "aggregates in groups": _grouped(),
        **{f"aggregates over patterns: {', '.join(part)}": _over_patterns(part) for part in _parts(AGGREGATES, 3)},
        "windows: places": _places(),
        "windows: running values": _running(),
    }


def _parts(names: Iterable[str], size: int) -> list[list[str]]:
    every = [*names]
    return [every[at : at + size] for at in range(0, len(every), size)]


def _on_columns(names: list[str]) -> str:
    columns: dict[str, str] = {}
    found = [f"{format_expr(_spread(_parsed(FUNCTIONS[name].example), columns))} as of_{name}" for name in names]
    given = ", ".join(f"{text} as {name}" for text, name in columns.items())
    return f"query q() {{ match {{ $h: Hut }} with {{ $h, {given} }} return {{ $h.code, {', '.join(found)} }} }}"


def _spread(expr: ast.Expr, columns: dict[str, str]) -> ast.Expr:
    """The expression with the literals of its calls as columns."""
    function = FUNCTIONS.get(expr.name) if isinstance(expr, ast.Call) else None
    if not isinstance(expr, ast.Call) or function is None:
        return rebuild(expr, lambda part: _spread(part, columns))
    args = (_column(arg, at, function, columns) for at, arg in enumerate(expr.args))
    return replace(expr, args=tuple(args))


def _column(arg: ast.Expr, at: int, function: Function, columns: dict[str, str]) -> ast.Expr:
    kind = function.param(at).kind
    if kind in _LITERALS or kind == "Vector" or (isinstance(arg, ast.Literal) and arg.kind == "null"):
        return arg
    if isinstance(arg, ast.Literal):
        text = f'if($h.code = "h3", null, {format_expr(arg)})'
    elif isinstance(arg, ast.ListLiteral):
        text = format_expr(arg)
    else:
        return _spread(arg, columns)
    return ast.Alias(columns.setdefault(text, f"c{len(columns)}"))


def _grouped() -> str:
    columns = [
        f"{format_expr(each)} as {name}_{at}"
        for name in AGGREGATES
        for at, each in enumerate(_variants(_aggregate(name)))
    ]
    return f"query q() {{ match {{ $h: Hut }} return {{ $h.open as k, {', '.join(columns)} }} order {{ k }} }}"


def _variants(call: ast.Agg) -> Iterator[ast.Agg]:
    yield replace(call, where=None)
    yield replace(call, where=_parsed('$h.code != "h2"'))
    if call.arg is not None:
        yield replace(call, distinct=True, where=None, key=None)
    else:
        yield replace(call, arg=_parsed("$h.alt"), distinct=True, where=None)
    if call.name in ("collect", "first", "last"):
        yield replace(call, key=_parsed("$h.name"), descending=True)
        yield replace(call, arg=ast.Var("h"))
        yield replace(call, arg=ast.Record((ast.Member("a", _parsed("$h.alt")), ast.Member("hut", ast.Var("h")))))


def _over_patterns(names: list[str]) -> str:
    """A few in one query: on Spark each pattern is a join."""
    pattern = _clauses("$h path $g")
    columns = [f"{format_expr(_moved(replace(_aggregate(name), clauses=pattern)))} as of_{name}" for name in names]
    return f"query q() {{ match {{ $h: Hut }} return {{ $h.code, {', '.join(columns)} }} }}"


def _moved(expr: Any) -> Any:
    """The expression about `$g` instead of `$h`, but for the pattern."""
    if isinstance(expr, ast.Prop):
        return replace(expr, var="g")
    return expr if isinstance(expr, ast.Traversal) else rebuild(expr, _moved)


def _places() -> str:
    tails = ("per $h.open order $h.alt desc, $h.code", "order $h.name")
    given = {name: "$h.alt " if name in ("lag", "lead") else "" for name in sorted(PLACES)}
    columns = [f"{name}({given[name]}{tail}) as {name}_{at}" for name in given for at, tail in enumerate(tails)]
    return f"query q() {{ match {{ $h: Hut }} return {{ $h.code, {', '.join(columns)} }} }}"


def _running() -> str:
    tails = ("$h.alt * 0.1 per $h.open order $h.alt desc", "$h.alt where $h.open per * order $h.name")
    columns = [f"{name}({tail}) as {name}_{at}" for name in sorted(RUNNING) for at, tail in enumerate(tails)]
    return (
        f"query q() {{ match {{ $h: Hut }} return {{ $h.code, sum($h.alt * 0.1 per *) as s, {', '.join(columns)} }} }}"
    )


def _aggregate(name: str) -> ast.Agg:
    return next(part for part in expressions(_parsed(AGGREGATES[name].example)) if isinstance(part, ast.Agg))


@cache
def _parsed(text: str) -> ast.Expr:
    (query,) = parse_queries(f"query q() {{ match {{ $h: Hut }} return {{ {text} as x }} }}").queries
    assert isinstance(query.body, ast.Read)
    return query.body.items[0].expr


def _clauses(text: str) -> tuple[ast.Clause, ...]:
    (query,) = parse_queries(f"query q() {{ match {{ {text} }} return {{ 1 as x }} }}").queries
    assert isinstance(query.body, ast.Read)
    return query.body.clauses
