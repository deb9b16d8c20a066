"""Constants: literals and lists as typed values, and what may be stored in or matched against a property."""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.temporal import BadTemporal, parse_date, parse_datetime
from omnigraph.compiler.types import INTEGER_RANGE, NUMERIC, PropType, compatible
from omnigraph.display import counted

_LITERAL_TYPES = {"string": ir.STRING, "float": ir.FLOAT64, "bool": ir.BOOL, "null": ir.NULL}
_VALUE_SCALARS = {str: "String", int: "I64", float: "F64"}
_UINT64 = PropType("U64")
_LEAST, _GREATEST = INTEGER_RANGE["I64"]


def constant(expr: ast.Expr, scope: Scope) -> ir.Const | None:
    """The constant an expression spells, or None when it is something else."""
    match expr:
        case ast.Literal():
            return _scalar(expr, scope)
        case ast.ListLiteral(ast.Literals() as items):
            return _long_list(items, expr, scope)
        case ast.ListLiteral(items):
            spelt = all(isinstance(item, ast.Literal | ast.ListLiteral | ast.Unary) for item in items)
            return _list(expr, scope) if spelt else None
        case ast.Unary("-", ast.Literal(float() as value, "float")):
            return ir.Const(-value, ir.FLOAT64)
        case ast.Unary("-", ast.Literal(int() as value, "int")) if value <= -_LEAST:
            return ir.Const(-value, _integer_type(-value))
        case _:
            return None


def parameter(name: str, scope: Scope) -> ir.Param | None:
    """The declared parameter of this name."""
    found = scope.params.get(name)
    return ir.Param(name, found.type) if found is not None else None


def stored_value(name: str, expected: PropType, expr: ast.Expr, scope: Scope) -> ir.Expr:
    """A value assigned to a property: literal, parameter or now()."""
    found = constant(expr, scope)
    if found is not None:
        _check_literal(name, expected, found, expr, scope)
        return found
    match expr:
        case ast.Now():
            return now_for(name, expected, expr, scope)
        case ast.Var():
            param = needed_parameter(expr, scope)
            text_into_blob = expected.scalar == "Blob" and param.type.scalar == "String" and not param.type.list
            if not text_into_blob and not compatible(expected, param.type):
                raise scope.error(
                    "T7", f"parameter ${param.name} is {param.type}, but '{name}' is {expected}", expr.span
                )
            return param
        case _:
            raise scope.error("T27", "only a literal, a parameter or now() can stand here", expr.span)


def needed_parameter(var: ast.Var, scope: Scope) -> ir.Param:
    """The parameter a bare variable must be where only constants can stand."""
    param = parameter(var.name, scope)
    if param is None:
        message = f"${var.name} is not a parameter of this query"
        raise scope.error("T14", message, var.span, scope.suggest(var.name, scope.params))
    return param


def now_for(name: str, expected: PropType, expr: ast.Now, scope: Scope) -> ir.Now:
    """now(), which only a DateTime takes."""
    if expected.scalar != "DateTime" or expected.list:
        raise scope.error("T7", f"now() is a DateTime, but '{name}' is {expected}", expr.span)
    return ir.Now()


def check_member(name: str, expected: PropType, found: ir.Const, expr: ast.Expr, scope: Scope) -> None:
    """An enum literal must be one of the declared words."""
    if expected.enum is not None and found.value is not None and found.value not in expected.enum:
        help_text = scope.suggest(str(found.value), expected.enum) or f"one of: {', '.join(expected.enum)}"
        raise scope.error(
            "T3", f"{found.value!r} is not a member of {expected}, the type of '{name}'", expr.span, help_text
        )


def temporal_help(expected: PropType, found: PropType) -> str | None:
    """How to write a date where a string, or the other kind of date, was written."""
    temporal = ("Date", "DateTime")
    if expected.scalar in temporal and found.scalar in ("String", *temporal) and found.scalar != expected.scalar:
        return f'write {expected.scalar.lower()}("…")'
    return None


def _check_literal(name: str, expected: PropType, found: ir.Const, expr: ast.Expr, scope: Scope) -> None:
    if found.type == ir.NULL:
        if not expected.nullable:
            raise scope.error("T3", f"'{name}' is {expected}, which cannot be null", expr.span)
        return
    if expected.is_vector:
        _check_vector(name, expected, found, expr, scope)
    elif expected.scalar == "Blob":
        raise scope.error(
            "T3", f"'{name}' is a Blob; a literal cannot be stored in it", expr.span, "pass a String parameter"
        )
    elif not compatible(expected, found.type):
        help_text = temporal_help(expected, found.type)
        raise scope.error(
            "T3", f"a literal of type {found.type} does not fit '{name}', which is {expected}", expr.span, help_text
        )
    else:
        check_member(name, expected, found, expr, scope)


def _check_vector(name: str, expected: PropType, found: ir.Const, expr: ast.Expr, scope: Scope) -> None:
    if not (found.type.list and found.type.scalar in NUMERIC):
        raise scope.error("T3", f"'{name}' is {expected}; write a list of {expected.dim} numbers", expr.span)
    assert isinstance(found.value, tuple)
    if len(found.value) != expected.dim:
        raise scope.error(
            "T3", f"'{name}' is {expected}, but the literal has {counted(len(found.value), 'item')}", expr.span
        )


def _scalar(literal: ast.Literal, scope: Scope) -> ir.Const:
    try:
        if literal.kind == "date":
            return ir.Const(parse_date(str(literal.value)), ir.DATE)
        if literal.kind == "datetime":
            return ir.Const(parse_datetime(str(literal.value)), ir.DATETIME)
        if literal.kind == "duration":
            message = "a duration is added to a date or an instant, or taken from it"
            raise scope.error("T7", message, literal.span)
    except BadTemporal as bad:
        raise scope.error("T32", str(bad), literal.span) from None
    if literal.kind == "int":
        assert isinstance(literal.value, int)
        return ir.Const(literal.value, _integer_type(literal.value))
    return ir.Const(literal.value, _LITERAL_TYPES[literal.kind])


def _integer_type(value: int) -> PropType:
    """Every whole number is an I64, unless only a U64 takes it."""
    return ir.INT64 if value <= _GREATEST else _UINT64


def _list(literal: ast.ListLiteral, scope: Scope) -> ir.Const | None:
    items: list[ir.Const] = []
    known: dict[int, ir.Const] = {}
    for item in literal.items:
        if (same := known.get(id(item))) is not None:  # equal items are one object
            items.append(same)
            continue
        if isinstance(item, ast.ListLiteral):
            raise scope.error("T32", "a list contains single values, not lists", item.span)
        found = constant(item, scope)
        if found is None:  # a computed value
            return None
        if found.type == ir.NULL:
            raise scope.error("T32", "a list cannot contain null", item.span)
        if items and not compatible(items[0].type, found.type):
            message = f"a list cannot mix {items[0].type} and {found.type}"
            raise scope.error("T32", message, item.span)
        known[id(item)] = found
        items.append(found)
    scalars = {item.type.scalar for item in items}
    negative = "U64" in scalars and any(isinstance(item.value, int) and item.value < 0 for item in items)
    scalar = _item_scalar(scalars, literal, scope, negative=negative)
    return ir.Const(tuple(_item(item) for item in items), PropType(scalar, list=True))


def _long_list(items: ast.Literals, literal: ast.ListLiteral, scope: Scope) -> ir.Const:
    """A list of numbers, or of strings, that is looked at as a whole."""
    values, negative = items.values, False
    scalars = {_VALUE_SCALARS[kind] for kind in set(map(type, values))}
    if scalars == {"I64"}:
        assert isinstance(values[0], int)
        scalars |= {"U64"} if max(values) > _GREATEST else set()
        negative = min(values) < 0
    return ir.Const(values, PropType(_item_scalar(scalars, literal, scope, negative=negative), list=True))


def _item_scalar(scalars: set[str], literal: ast.ListLiteral, scope: Scope, *, negative: bool) -> str:
    """What a list is a list of: of several number types the one that takes all items; without items, strings."""
    if "F64" in scalars:
        return "F64"
    if "U64" in scalars and negative:
        message = f"no integer type takes both a number below 0 and one above {_GREATEST}"
        raise scope.error("T32", message, literal.span)
    return "U64" if "U64" in scalars else min(scalars, default="String")


def _item(const: ir.Const) -> ir.Scalar:
    assert const.value is not None
    assert not isinstance(const.value, tuple)
    return const.value


def describe(found: ir.Expr) -> str:
    """An operand as messages name it."""
    if found.type == ir.NULL:
        return "null"
    if isinstance(found, ir.Node):
        return f"the {found.kind} ${found.var}"
    return str(found.type)
