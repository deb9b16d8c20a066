"""Expressions and conditions as text, with the fewest parentheses that keep their tree."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from omnigraph.compiler.lexer import quote
from omnigraph.compiler.query import ast

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}
# What needs parentheses as a part of the other: an equal connective keeps its own group, too.
_LOOSE_IN_AND = (ast.And, ast.Or)
_LOOSE_IN_OR = (ast.Or,)
# Columns of these names would join the condition before them.
_JOINING = frozenset({"or", "and", "in", "is", "not", "contains", "starts_with"})


def format_expr(expr: ast.Expr, floor: int = 0) -> str:
    """An expression; in parentheses when its operator binds less tightly than `floor`."""
    match expr:
        case ast.Literal():
            return _literal(expr)
        case ast.ListLiteral(items):
            return f"[{', '.join(format_expr(item) for item in items)}]"
        case ast.Var(name):
            return f"${name}"
        case ast.Prop(var, name):
            return f"${var}.{name}"
        case ast.Alias(name):
            return name
        case ast.Now():
            return "now()"
        case ast.Call(name, args):
            return f"{name}({', '.join(format_expr(arg) for arg in args)})"
        case ast.Agg():
            return f"{expr.name}({_aggregated(expr)})"
        case ast.Unary(op, operand):
            return op + _negated(operand)
        case ast.Binary(op, left, right):
            strength = _PRECEDENCE[op]
            text = f"{format_expr(left, strength)} {op} {format_expr(right, strength + 1)}"
            return f"({text})" if strength < floor else text


def format_condition(condition: ast.Condition) -> str:
    """A condition on one line."""
    match condition:
        case ast.Compare(op, left, right):
            return f"{format_expr(left)} {op} {format_expr(right)}"
        case ast.In(left, right, negated):
            return f"{format_expr(left)} {'not in' if negated else 'in'} {format_expr(right)}"
        case ast.IsNull(operand, negated):
            return f"{format_expr(operand)} {'is not null' if negated else 'is null'}"
        case ast.Truth(call):
            return format_expr(call)
        case ast.And(parts):
            return " and ".join(_grouped(part, _LOOSE_IN_AND) for part in parts)
        case ast.Or(parts):
            return " or ".join(_grouped(part, _LOOSE_IN_OR) for part in parts)


def format_clause_condition(condition: ast.Condition, indent: str, width: int) -> str:
    """A condition that stands as a clause: kept apart from its neighbours, broken at `or`/`and` when too wide."""
    text = _broken(condition, indent, width)
    return f"({text})" if text.startswith("-") or _would_be_misread(condition) else text


def _broken(condition: ast.Condition, indent: str, width: int) -> str:
    text = format_condition(condition)
    if len(text) > width and isinstance(condition, ast.And | ast.Or):
        conjunction = isinstance(condition, ast.And)
        loose = _LOOSE_IN_AND if conjunction else _LOOSE_IN_OR
        text = f"\n{indent}{'and' if conjunction else 'or'} ".join(_grouped(part, loose) for part in condition.parts)
    return text


def format_column_conditions(conditions: Sequence[ast.Condition], indent: str, width: int) -> list[str]:
    """Conditions of `having`, which begin and end with bare names: grouped, all of them, only if a word demands it."""
    texts = [_broken(condition, indent, width) for condition in conditions]
    if any(text.partition(" ")[0] in _JOINING or text[0] in "-(" for text in texts):
        return [f"({text})" for text in texts]
    return texts


def _literal(literal: ast.Literal) -> str:
    match literal.kind, literal.value:
        case "string", str(text):
            return quote(text)
        case ("date" | "datetime") as kind, str(text):
            return f"{kind}({quote(text)})"
        case "float", float(value):
            digits = format(Decimal(repr(value)), "f")  # the language has no exponent
            return digits if "." in digits else digits + ".0"
        case _:
            return "null" if literal.value is None else str(literal.value).lower()


def _aggregated(agg: ast.Agg) -> str:
    if agg.arg is None:
        return "*"
    text = format_expr(agg.arg)
    if agg.distinct:
        return f"distinct {text}"
    # Before anything but `)` the word would be read as the modifier.
    return f"({text})" if agg.name in ("count", "collect") and text.startswith("distinct ") else text


def _negated(operand: ast.Expr) -> str:
    number = isinstance(operand, ast.Literal) and operand.kind in ("int", "float")
    text = format_expr(operand)
    return f"({text})" if number or isinstance(operand, ast.Unary | ast.Binary) else text


def _grouped(part: ast.Condition, loose: tuple[type, ...]) -> str:
    text = format_condition(part)
    # After `or`, these words would be operators of a column called `or`.
    worded = text.startswith(("contains ", "starts_with "))
    return f"({text})" if worded or isinstance(part, loose) else text


def _would_be_misread(condition: ast.Condition) -> bool:
    first = _edge_comparison(condition, 0)
    last = _edge_comparison(condition, -1)
    # A bare name may join up with the clause before or after it (`or`, a call).
    if isinstance(_outermost(_sides(first)[0], 0), ast.Alias) or isinstance(
        _outermost(_sides(last)[-1], -1), ast.Alias
    ):
        return True
    # `$a in $b` is a traversal when it begins a clause.
    worded = (isinstance(first, ast.In) and not first.negated) or (
        isinstance(first, ast.Compare) and first.op in ("contains", "starts_with")
    )
    left, right = _sides(first)[0], _sides(first)[-1]
    return worded and isinstance(left, ast.Var) and isinstance(_outermost(right, 0), ast.Var)


def _edge_comparison(condition: ast.Condition, end: int) -> ast.Compare | ast.In | ast.IsNull | ast.Truth:
    while isinstance(condition, ast.And | ast.Or):
        condition = condition.parts[end]
    return condition


def _sides(condition: ast.Compare | ast.In | ast.IsNull | ast.Truth) -> tuple[ast.Expr, ...]:
    match condition:
        case ast.Compare(_, left, right) | ast.In(left, right):
            return left, right
        case ast.IsNull(operand):
            return (operand,)
        case ast.Truth(call):
            return (call,)


def _outermost(expr: ast.Expr, end: int) -> ast.Expr:
    while True:
        match expr:
            case ast.Binary(_, left, right):
                expr = left if end == 0 else right
            case ast.Unary(_, operand):
                expr = operand
            case _:
                return expr
