"""Expressions as text, with the fewest parentheses that keep their tree."""

from __future__ import annotations

from decimal import Decimal

from omnigraph.compiler.functions.windows import PLACES
from omnigraph.compiler.lexer import quote
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.parse_expression import WORD_COMPARISONS

# How tightly operators bind, from the loosest.
_OR, _AND, _NOT, _TEST, _SUM, _PRODUCT, _UNARY = range(1, 8)
PRECEDENCE = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}
# Columns of these names would join the condition before them, or be taken for an operator.
_JOINING = frozenset({"or", "and", "in", "is", "not", *WORD_COMPARISONS})
_NO_OPERAND = frozenset({"as", "asc", "desc"})


def format_expr(expr: ast.Expr, floor: int = 0) -> str:
    """An expression; in parentheses when its operator binds less tightly than `floor`."""
    text, strength = written(expr)
    return f"({text})" if strength < floor else text


def written(expr: ast.Expr) -> tuple[str, int]:
    """An expression, and how tightly its outermost operator binds."""
    match expr:
        case ast.Unary(op, operand):
            return op + _negated(operand), _UNARY
        case ast.Binary(op, left, right):
            strength = PRECEDENCE[op]
            return f"{format_expr(left, strength)} {op} {format_expr(right, strength + 1)}", strength
        case ast.Compare(op, left, right):
            return f"{format_expr(left, _SUM)} {op} {_right(right, op)}", _TEST
        case ast.Range(low, low_op, operand, high_op, high):
            sides = (format_expr(side, _SUM) for side in (low, operand, high))
            return f"{next(sides)} {low_op} {next(sides)} {high_op} {next(sides)}", _TEST
        case ast.In(left, right, negated):
            word = "not in" if negated else "in"
            return f"{format_expr(left, _SUM)} {word} {_right(right, word)}", _TEST
        case ast.IsNull(operand, negated):
            return f"{format_expr(operand, _SUM)} {'is not null' if negated else 'is null'}", _TEST
        case ast.Not(operand):
            return f"not {_guarded(format_expr(operand, _NOT))}", _NOT
        case ast.And(parts):
            return " and ".join(format_part(part, _AND) for part in parts), _AND
        case ast.Or(parts):
            return " or ".join(format_part(part, _OR) for part in parts), _OR
        case _:
            return _operand(expr), _UNARY + 1


def _operand(expr: ast.Expr) -> str:
    match expr:
        case ast.Literal():
            return _literal(expr)
        case ast.ListLiteral(items):
            return f"[{', '.join(format_expr(item) for item in items)}]"
        case ast.Record(members):
            return f"{{ {', '.join(f'{each.name}: {format_expr(each.value)}' for each in members)} }}"
        case ast.Var(name):
            return f"${name}"
        case ast.Prop(var, name):
            return f"${var}.{name}"
        case ast.Alias(name):
            return f"({name})" if name in ("not", "case") else name  # before a word it would be an operator
        case ast.Now():
            return "now()"
        case ast.Call(name, args):
            return f"{name}({', '.join(format_expr(arg) for arg in args)})"
        case ast.Case(branches, otherwise):
            whens = (f"when {format_expr(when.condition)} then {format_expr(when.value)}" for when in branches)
            rest = "" if otherwise is None else f" else {format_expr(otherwise)}"
            return f"case {' '.join(whens)}{rest} end"
        case ast.Agg():
            head, tail = aggregated(expr)
            return f"{expr.name}({head}{_match(expr.clauses)}{tail})"
        case ast.Window():
            return f"{expr.name}({_windowed(expr)})"
        case ast.Exists(clauses):
            from omnigraph.compiler.query.format import format_pattern  # a pattern has conditions, and one of them this

            return f"exists {{ {format_pattern(clauses)} }}"
        case _:
            raise AssertionError(f"{type(expr).__name__} is written by its operator")


def _right(expr: ast.Expr, op: str) -> str:
    text = format_expr(expr, _SUM)
    return f"({text})" if op[0].isalpha() and text.partition(" ")[0] in _NO_OPERAND else text


def _guarded(text: str) -> str:
    """An operand after a word that a column of that name could be, too."""
    return f"({text})" if text.partition(" ")[0] in (*_JOINING, *_NO_OPERAND) and not _negates(text) else text


def _negates(text: str) -> bool:
    return text.startswith("not ") and text.split(" ")[1] not in (*WORD_COMPARISONS, "in", "is", "=", "!=")


def format_part(part: ast.Expr, strength: int) -> str:
    """A part of `and` or `or`."""
    # An equal connective keeps its own group.
    text = format_expr(part, strength + 1)
    return _guarded(text) if text.partition(" ")[0] in (*WORD_COMPARISONS, *_NO_OPERAND) else text


def format_clause_condition(condition: ast.Expr, text: str) -> str:
    """A condition that stands as a clause, whose text this is: kept apart from its neighbours."""
    return f"({text})" if text.startswith("-") or _would_be_misread(condition) else text


def format_column_conditions(texts: list[str]) -> list[str]:
    """Conditions of `having`, which begin and end with bare names: grouped, all of them, only if a word demands it."""
    if any(text.partition(" ")[0] in (*_JOINING, *_NO_OPERAND) or text[0] in "-(" for text in texts):
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


def aggregated(agg: ast.Agg) -> tuple[str, str]:
    """What stands in the parentheses of an aggregate, before and behind its pattern."""
    head = "*" if agg.arg is None else format_expr(agg.arg)
    if agg.distinct:
        head = f"distinct {head}"
    elif head.startswith("distinct ") or (
        head == "distinct" and (agg.clauses or agg.where is not None or agg.key is not None)
    ):
        head = f"({head})"  # before anything but `)` and `,` the word would be read as the modifier
    for more in agg.more:
        head += f", {format_expr(more)}"
    tail = "" if agg.where is None else f" where {format_expr(agg.where)}"
    if agg.key is not None:
        tail += f" order {format_expr(agg.key)}{' desc' if agg.descending else ''}"
    return head, tail


def _match(clauses: tuple[ast.Clause, ...]) -> str:
    from omnigraph.compiler.query.format import format_pattern  # a pattern has conditions, and one of them this

    return f" match {{ {format_pattern(clauses)} }}" if clauses else ""


def _windowed(window: ast.Window) -> str:
    parts = [", ".join(_inside(arg) for arg in window.args)] if window.args else []
    if window.name == "count" and not window.args:
        parts = ["*"]
    if window.distinct:
        parts[0] = f"distinct {parts[0]}"
    if window.where is not None:
        parts.append(f"where {_inside(window.where)}")
    if window.per or window.name not in PLACES:
        parts.append("per " + (", ".join(_inside(key) for key in window.per) or "*"))
    if window.order:
        keys = (_inside(key.expr) + (" desc" if key.descending else "") for key in window.order)
        parts.append("order " + ", ".join(keys))
    return " ".join(parts)


def _inside(expr: ast.Expr) -> str:
    """An operand among the words of a window; a bare name could be one of them."""
    text = format_expr(expr)
    return text if isinstance(expr, ast.Prop | ast.Var | ast.Call | ast.Literal | ast.Agg) else f"({text})"


def _negated(operand: ast.Expr) -> str:
    number = isinstance(operand, ast.Literal) and operand.kind in ("int", "float")
    text, strength = written(operand)
    return f"({text})" if number or strength <= _UNARY else text


def _would_be_misread(condition: ast.Expr) -> bool:
    # A bare name may join up with the clause before or after it (`or`, a call).
    if isinstance(_outermost(condition, 0), ast.Alias) or isinstance(_outermost(condition, -1), ast.Alias):
        return True
    # `$a in $b` is a traversal when it begins a clause.
    first = condition
    while isinstance(first, ast.And | ast.Or):
        first = first.parts[0]
    worded = (isinstance(first, ast.In) and not first.negated) or (
        isinstance(first, ast.Compare) and first.op in WORD_COMPARISONS
    )
    return (
        worded
        and isinstance(first, ast.In | ast.Compare)
        and isinstance(first.left, ast.Var)
        and isinstance(_outermost(first.right, 0), ast.Var)
    )


def _outermost(expr: ast.Expr, end: int) -> ast.Expr | None:
    """The operand that an expression begins or ends with; None where that is a word or a parenthesis of its own."""
    while True:
        match expr:
            case ast.Binary(_, left, right) | ast.Compare(_, left, right) | ast.In(left, right):
                expr = left if end == 0 else right
            case ast.Range(low, _, _, _, high):
                expr = low if end == 0 else high
            case ast.And(parts) | ast.Or(parts):
                expr = parts[end]
            case ast.Unary(_, operand):
                expr = operand
            case ast.Not(operand):
                if end == 0:
                    return None
                expr = operand
            case ast.IsNull(operand):
                if end == -1:
                    return None
                expr = operand
            case _:
                return expr
