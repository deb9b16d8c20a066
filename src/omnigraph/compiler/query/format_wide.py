"""Expressions that do not fit on a line: the same text, broken before operators, inside calls, records and `case`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from omnigraph.compiler.query import ast
from omnigraph.compiler.query.format_expression import (
    PRECEDENCE,
    aggregated,
    format_expr,
    format_part,
    written,
)

WIDTH = 100
STEP = "  "


def laid_out(expr: ast.Expr, indent: str, used: int, floor: int = 0) -> str:
    """An expression behind `used` columns of a line; further lines are indented a step more than `indent`."""
    text, strength = written(expr)
    if strength < floor:
        return f"({laid_out(expr, indent, used + 1)})"
    if used + len(text) <= WIDTH:
        return text
    broken = _broken(expr, indent, used, strength)
    # White space is all that may differ; what cannot be broken well stays on its line.
    return text if broken is None else broken


def _broken(expr: ast.Expr, indent: str, used: int, strength: int) -> str | None:
    inner = indent + STEP
    match expr:
        case ast.And(parts) | ast.Or(parts):
            word = "and" if isinstance(expr, ast.And) else "or"
            return f"\n{inner}{word} ".join(format_part(part, strength) for part in parts)
        case ast.Binary():
            return _chain(expr, indent, used, strength)
        case ast.Compare(_, left) if len(written(left)[0]) > WIDTH // 2:
            tail = written(expr)[0][len(format_expr(left, strength + 1)) :]
            return laid_out(left, indent, used + len(tail), strength + 1) + tail
        case ast.Case(branches, otherwise):
            lines = [f"when {format_expr(each.condition)} then {format_expr(each.value)}" for each in branches]
            lines += [] if otherwise is None else [f"else {format_expr(otherwise)}"]
            return f"case{_stacked(lines, inner)}\n{indent}end"
        case ast.Call(name, args) if args:
            return f"{name}({_stacked(_listed(args, inner), inner)}\n{indent})"
        case ast.Exists(clauses):
            return f"exists {_block(clauses, indent)}"
        case ast.Agg(name, clauses=clauses) if clauses:
            head, tail = aggregated(expr)
            return f"{name}({head} match {_block(clauses, indent)}{tail})"
        case ast.Agg(name, ast.Record(members)):
            _, tail = aggregated(expr)
            entries = [f"{each.name}: {format_expr(each.value)}" for each in members]
            separated = [f"{entry}," for entry in entries[:-1]] + entries[-1:]
            opened = f"{name}({'distinct ' if expr.distinct else ''}{{"
            return f"{opened}{_stacked(separated, inner)}\n{indent}}}{tail})"
        case _:
            return None


def _chain(expr: ast.Binary, indent: str, used: int, strength: int) -> str:
    """Terms that are added, or factors that are multiplied, one a line."""
    terms: list[tuple[str, ast.Expr]] = []
    left: ast.Expr = expr
    while isinstance(left, ast.Binary) and PRECEDENCE[left.op] == strength:
        terms.append((left.op, left.right))
        left = left.left
    inner = indent + STEP
    text = laid_out(left, indent, used, strength)
    for op, term in reversed(terms):
        text += f"\n{inner}{op} {laid_out(term, inner, len(inner) + len(op) + 1, strength + 1)}"
    return text


def _block(clauses: Sequence[ast.Clause], indent: str) -> str:
    from omnigraph.compiler.query.format import format_clause  # a clause has conditions, and one of them this

    inner = indent + STEP
    return f"{{{_stacked((format_clause(clause, inner) for clause in clauses), inner)}\n{indent}}}"


def _listed(args: tuple[ast.Expr, ...], indent: str) -> list[str]:
    texts = [laid_out(arg, indent, len(indent) + 1) for arg in args]
    return [f"{text}," for text in texts[:-1]] + texts[-1:]


def _stacked(lines: Iterable[str], indent: str) -> str:
    return "".join(f"\n{indent}{line}" for line in lines)
