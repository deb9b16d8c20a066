"""Typing of conditions: comparisons, ranges, membership, null tests, `not`, `and` and `or`."""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.calls import Typed, check_pattern
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import check_member, describe, temporal_help
from omnigraph.compiler.types import PropType, compatible, union_members

# Words that compare without regard to case, and what they come down to.
_WITHOUT_CASE = {"icontains": "contains", "istarts_with": "starts_with", "iends_with": "ends_with"}
_MOMENTS = frozenset({"Date", "DateTime"})


def check_test(test: ast.Test, scope: Scope, typed: Typed, *, stored: bool) -> ir.Condition:
    """The typed form of a condition; `stored` where literals beside a property are held to its type."""
    match test:
        case ast.Compare():
            return _compare(test, scope, typed, stored=stored)
        case ast.Range(low, low_op, operand, high_op, high):
            sides = ((low_op, low, operand), (high_op, operand, high))
            return ir.And(
                tuple(
                    _compare(ast.Compare(op, left, right, test.span), scope, typed, stored=stored)
                    for op, left, right in sides
                )
            )
        case ast.In():
            return _membership(test, scope, typed)
        case ast.IsNull(inner, negated):
            return ir.IsNull(_nullable(inner, scope, typed), negated)
        case ast.Not(inner):
            return ir.Not(truth(inner, scope, typed))
        case ast.And(parts):
            return ir.And(tuple(truth(part, scope, typed) for part in parts))
        case ast.Or(parts):
            return ir.Or(tuple(truth(part, scope, typed) for part in parts))


def truth(expr: ast.Expr, scope: Scope, typed: Typed) -> ir.Condition:
    """An expression that must be a truth value, as a condition."""
    found = typed(expr)
    kind = found.type
    if isinstance(kind, PropType) and kind.scalar == "Bool" and not kind.list:
        return ir.as_condition(found)
    raise scope.error("T7", f"a condition is true or false, not {describe(found)}", expr.span)


def _compare(compare: ast.Compare, scope: Scope, typed: Typed, *, stored: bool) -> ir.Condition:
    left, right = typed(compare.left), typed(compare.right)
    _refuse_null(compare, left, right, scope)
    _refuse_rank(compare, left, right, scope)
    if compare.op == "contains":
        return _contains(compare, left, right, scope)
    if compare.op[0].isalpha():
        return _text_test(compare, left, right, scope)
    if isinstance(left, ir.Node) and isinstance(right, ir.Node):
        return _identity(compare, left, right, scope)
    left_type = _comparable(compare.left, left, scope)
    right_type = _comparable(compare.right, right, scope)
    if stored:
        _check_predicate_literal(compare, left, right, scope)
    if (
        {left_type.scalar, right_type.scalar} == _MOMENTS
        and not isinstance(left, ir.Const | ir.Param)
        and not isinstance(right, ir.Const | ir.Param)
    ):
        left, right = _instant(left), _instant(right)
    elif not compatible(left_type, right_type):
        help_text = _temporal_help(left_type, right) or _temporal_help(right_type, left)
        raise scope.error("T7", f"cannot compare {left_type} with {right_type}", compare.span, help_text)
    return ir.Compare(compare.op, left, right)


def _instant(value: ir.Expr) -> ir.Expr:
    """A Date beside a DateTime is its midnight."""
    kind = value.type
    assert isinstance(kind, PropType)
    if kind.scalar == "DateTime":
        return value
    return ir.Function("datetime", (value,), ir.DATETIME.with_nullable(kind.nullable))


def _text_test(compare: ast.Compare, left: ir.Expr, right: ir.Expr, scope: Scope) -> ir.Condition:
    for expr, found in ((compare.left, left), (compare.right, right)):
        _need_string(compare, expr, found, scope)
    op = _WITHOUT_CASE.get(compare.op, compare.op)
    if op != compare.op:
        left, right = (ir.Function("lower", (side,), _lowered(side)) for side in (left, right))
    if op == "matches":
        if not isinstance(right, ir.Const | ir.Param):
            raise scope.error("T27", "a pattern is a literal or a parameter", compare.right.span)
        if isinstance(right, ir.Const):
            check_pattern(str(right.value), compare.right, scope)
    return ir.TextTest(op, left, right)


def _lowered(side: ir.Expr) -> PropType:
    assert isinstance(side.type, PropType)
    return ir.STRING.with_nullable(side.type.nullable)


def _refuse_rank(compare: ast.Compare, left: ir.Expr, right: ir.Expr, scope: Scope) -> None:
    for expr, found in ((compare.left, left), (compare.right, right)):
        if isinstance(found, ir.Nearest | ir.Rrf):
            raise scope.error("T27", "a rank cannot be part of a condition", expr.span)


def _identity(compare: ast.Compare, left: ir.Node, right: ir.Node, scope: Scope) -> ir.SameNode:
    if compare.op not in ("=", "!="):
        raise scope.error("T7", f"{left.kind}s have no order; '{compare.op}' needs values", compare.span)
    if left.kind != right.kind:
        message = f"${left.var} is {'an edge' if left.kind == 'edge' else 'a node'}, ${right.var} is not"
        raise scope.error("T7", message, compare.span)
    if not {*union_members(left.type_name)} & {*union_members(right.type_name)}:
        types = f"${left.var} is {left.type_name} and ${right.var} is {right.type_name}"
        message = f"{types}; they are never the same {left.kind}"
        raise scope.error("T7", message, compare.span)
    return ir.SameNode(left, right, compare.op == "!=")


def _temporal_help(wanted: PropType, given: ir.Expr) -> str | None:
    # Two properties of different kinds cannot be made to fit; a constant can.
    if not isinstance(given, ir.Const | ir.Param) or not isinstance(given.type, PropType):
        return None
    help_text = temporal_help(wanted, given.type)
    declare = isinstance(given, ir.Param) and help_text is not None
    return f"declare the parameter as {wanted.scalar}" if declare else help_text


def _contains(compare: ast.Compare, left: ir.Expr, right: ir.Expr, scope: Scope) -> ir.Condition:
    if isinstance(left.type, PropType) and left.type.list:
        item = _comparable(compare.right, right, scope)
        if not compatible(_item_type(left.type), item):
            raise scope.error("T7", f"a list of {left.type.scalar} cannot contain {item}", compare.span)
        return ir.In(right, left)
    _need_string(compare, compare.left, left, scope)
    _need_string(compare, compare.right, right, scope)
    return ir.TextTest("contains", left, right)


def _membership(test: ast.In, scope: Scope, typed: Typed) -> ir.In:
    value = typed(test.left)
    if value.type == ir.NULL:
        raise scope.error("T7", "null is a member of nothing", test.left.span, "use 'is null'")
    value_type = _comparable(test.left, value, scope)
    options = typed(test.right)
    if not (isinstance(options.type, PropType) and options.type.list):
        raise scope.error("T7", f"'in' needs a list on its right, not {describe(options)}", test.right.span)
    empty = isinstance(options, ir.Const) and options.value == ()
    if not empty and not compatible(value_type, _item_type(options.type)):
        help_text = temporal_help(value_type, _item_type(options.type))
        raise scope.error("T7", f"{value_type} cannot be a member of {options.type}", test.span, help_text)
    return ir.In(value, options, test.negated)


def _nullable(expr: ast.Expr, scope: Scope, typed: Typed) -> ir.Expr:
    found = typed(expr)
    if isinstance(found, ir.Node) and not found.optional:
        raise scope.error("T7", f"the {found.kind} ${found.var} is never null; test one of its properties", expr.span)
    if found.type == ir.NULL:
        raise scope.error("T7", "a null test needs a property, a parameter or a computed value", expr.span)
    return found


def _comparable(expr: ast.Expr, found: ir.Expr, scope: Scope) -> PropType:
    kind = found.type
    if isinstance(kind, PropType) and kind.is_plain_scalar:
        return kind
    help_text = "use 'contains' or 'in' to look into a list" if isinstance(kind, PropType) and kind.list else None
    raise scope.error("T7", f"a comparison needs single values, not {describe(found)}", expr.span, help_text)


def _refuse_null(compare: ast.Compare, left: ir.Expr, right: ir.Expr, scope: Scope) -> None:
    for expr, found in ((compare.left, left), (compare.right, right)):
        if found.type == ir.NULL:
            tests = "use 'is not null'" if compare.op == "!=" else "use 'is null'"
            raise scope.error("T7", "a comparison with null is never true", expr.span, tests)


def _check_predicate_literal(compare: ast.Compare, left: ir.Expr, right: ir.Expr, scope: Scope) -> None:
    # A literal beside a property of the target is held to that property, as in an assignment.
    for prop, const, expr in ((left, right, compare.right), (right, left, compare.left)):
        if isinstance(prop, ir.Property) and isinstance(const, ir.Const):
            if not compatible(prop.type, const.type):
                message = f"a literal of type {const.type} does not fit '{prop.name}', which is {prop.type}"
                raise scope.error("T3", message, expr.span, temporal_help(prop.type, const.type))
            check_member(prop.name, prop.type, const, expr, scope)


def _need_string(compare: ast.Compare, expr: ast.Expr, found: ir.Expr, scope: Scope) -> None:
    kind = found.type
    if not (isinstance(kind, PropType) and kind.scalar == "String" and not kind.list):
        raise scope.error("T7", f"'{compare.op}' needs a String here, not {describe(found)}", expr.span)


def _item_type(kind: PropType) -> PropType:
    return PropType(kind.scalar, enum=kind.enum)
