"""Typing of calls of the registry's functions, of `case`, and of arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from omnigraph.compiler.functions import FUNCTIONS, Function
from omnigraph.compiler.functions.model import Argument
from omnigraph.compiler.functions.moments import DAY_UNITS, PARSERS, format_parts, parse_duration, repeated_directive
from omnigraph.compiler.functions.text import LONGEST_PATTERN, compiled
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import constant, describe
from omnigraph.compiler.regex import regex_problem
from omnigraph.compiler.types import FLOATING, INTEGER, NUMERIC, PropType, compatible
from omnigraph.display import counted

Typed: TypeAlias = Callable[[ast.Expr], ir.Expr]

_MOMENTS = ("Date", "DateTime")
_NAMED_KINDS = {
    "Integer": "a whole number",
    "Number": "a number",
    "Float": "a number",
    "Moment": "a Date or a DateTime",
    "List": "a list",
    "Numbers": "a list of numbers",
    "Texts": "a list of texts",
    "Vector": "a vector or a list of numbers",
    "T": "a single value",
    "Scalar": "a single value",
    "NumberOrText": "a number or a String",
    "MomentOrText": "a Date, a DateTime or a String",
    "Group": "the number of a group",
}
# What a list of nodes or records can be given to.
_TAKE_OBJECTS = ("size", "element", "slice")
# What has to be known before any row is read.
_FIXED_KINDS = ("Pattern", "Format", "Word", "Group", "Replacement")


def check_call(call: ast.Call, scope: Scope, typed: Typed) -> ir.Expr:
    """A call of a function of the registry."""
    function = FUNCTIONS[call.name]
    if len(call.args) < function.least or (function.most is not None and len(call.args) > function.most):
        message = f"{call.name}(…) does not take {counted(len(call.args), 'argument')}"
        raise scope.error("T38", message, call.span, f"it is called as {function.signature}")
    if function.name in ("id", "type"):
        raise scope.error("T38", f"{call.name}(…) takes a node or an edge variable", call.span, function.signature)
    args = tuple(_argument(function, function.param(at), expr, scope, typed) for at, expr in enumerate(call.args))
    if call.name == "if":
        return choice(((args[0], call.args[0]),), ((args[1], call.args[1]),), (args[2], call.args[2]), scope)
    shared = _shared_type(function, args, call, scope)
    _check_whole(call, args, scope)
    return ir.Function(call.name, args, _result(function, args, shared))


def check_list(written: ast.ListLiteral, scope: Scope, typed: Typed) -> ir.Expr:
    """`[a, b]` of values that rows have; a list of constants is a constant."""
    nested = next((item for item in written.items if isinstance(item, ast.ListLiteral)), None)
    if nested is not None:
        raise scope.error("T32", "a list contains single values, not lists", nested.span)
    return check_call(ast.Call("list", tuple(written.items), written.span), scope, typed)


def check_case(case: ast.Case, scope: Scope, typed: Typed) -> ir.Expr:
    """`case when … then … else … end`."""
    conditions = tuple((_truth(typed(when.condition), when.condition, scope), when.condition) for when in case.branches)
    values = tuple((_single(typed(when.value), when.value, scope), when.value) for when in case.branches)
    written = case.otherwise if case.otherwise is not None else ast.Literal(None, "null", case.span)
    return choice(conditions, values, (_single(typed(written), written, scope), written), scope)


def choice(
    conditions: Sequence[tuple[ir.Expr, ast.Expr]],
    values: Sequence[tuple[ir.Expr, ast.Expr]],
    otherwise: tuple[ir.Expr, ast.Expr],
    scope: Scope,
) -> ir.Choice:
    """The first value whose condition is true."""
    kind = common_type((*values, otherwise), "the values of a choice", scope)
    tests = tuple(ir.as_condition(condition) for condition, _ in conditions)
    return ir.Choice(tests, tuple(value for value, _ in values), otherwise[0], kind)


def common_type(values: Sequence[tuple[ir.Expr, ast.Expr]], what: str, scope: Scope) -> PropType:
    """The one type of several values: numbers of different types meet in I64 or F64."""
    kinds: list[PropType] = []
    for found, expr in values:
        assert isinstance(found.type, PropType)
        if found.type != ir.NULL:
            if kinds and not compatible(kinds[0], found.type):
                raise scope.error("T7", f"{what} are of one type, not {kinds[0]} and {found.type}", expr.span)
            kinds.append(found.type)
    if not kinds:
        raise scope.error("T7", f"{what} are all null", values[0][1].span)
    nullable = any(isinstance(found.type, PropType) and found.type.nullable for found, _ in values)
    unsigned = [found for found, _ in values if found.type != ir.NULL and not _fits_u64(found)]
    if not unsigned and any(kind.scalar == "U64" for kind in kinds):
        return PropType("U64", nullable=nullable)
    return meet(kinds).with_nullable(nullable)


def _fits_u64(found: ir.Expr) -> bool:
    """Whether a value is a U64, or a whole number beside one: `coalesce($x.bytes, 0)`."""
    if isinstance(found, ir.Const) and isinstance(found.value, int) and not isinstance(found.value, bool):
        return found.value >= 0
    return isinstance(found.type, PropType) and found.type.scalar == "U64" and found.type.is_plain_scalar


def meet(kinds: Sequence[PropType]) -> PropType:
    """The type that values of several compatible types share."""
    first = kinds[0]
    if all(kind.with_nullable(False) == first.with_nullable(False) for kind in kinds):
        return first
    if first.scalar not in NUMERIC:
        return PropType(first.scalar, list=first.list)
    scalars = {kind.scalar for kind in kinds}
    scalar = scalars.pop() if len(scalars) == 1 else "F64" if scalars & FLOATING else "I64"
    return PropType(scalar, list=first.list)


# --- arguments -------------------------------------------------------------------------------


def _argument(function: Function, param: Argument, expr: ast.Expr, scope: Scope, typed: Typed) -> ir.Expr:
    found = typed(expr)
    if isinstance(found, ir.Nearest | ir.Rrf):
        raise scope.error("T27", f"a rank cannot stand in {function.name}(…)", expr.span)
    kind = found.type
    if kind == ir.NULL:
        if param.kind in _FIXED_KINDS or not (function.own_nulls and param.kind == "T"):
            raise scope.error("T7", f"{function.name}(…) of null is null", expr.span)
        return found
    fits = isinstance(kind, PropType) and kind.scalar != "Blob" and _fits(param.kind, kind)
    if fits and kind.members is not None and function.name not in _TAKE_OBJECTS:  # type: ignore[union-attr]
        message = f"{function.name}(…) does not work on objects; {', '.join(_TAKE_OBJECTS)} do"
        raise scope.error("T7", message, expr.span, "collect the values themselves: collect($x.name)")
    if not fits:
        needed = _NAMED_KINDS.get(param.kind, f"a {param.kind}")
        message = f"'{param.name}' of {function.name}(…) is {needed}, not {describe(found)}"
        raise scope.error("T7", message, expr.span, f"it is called as {function.signature}")
    if param.kind in _FIXED_KINDS:
        _check_fixed(function, param, found, expr, scope)
    return found


def _fits(wanted: str, kind: PropType) -> bool:
    single = kind.is_plain_scalar
    match wanted:
        case "Integer" | "Group":
            return single and kind.scalar in INTEGER
        case "Number" | "Float":
            return kind.is_numeric
        case "Moment":
            return single and kind.scalar in _MOMENTS
        case "List":
            return kind.list
        case "Numbers":
            return kind.list and kind.scalar in NUMERIC
        case "Texts":
            return kind.list and kind.scalar == "String"
        case "Vector":
            return kind.is_vector or (kind.list and kind.scalar in NUMERIC)
        case "T" | "Scalar":
            return single
        case "NumberOrText":
            return kind.is_numeric or (single and kind.scalar == "String")
        case "MomentOrText":
            return single and kind.scalar in (*_MOMENTS, "String")
        case "Pattern" | "Format" | "Word" | "Replacement":
            return single and kind.scalar == "String"
        case _:
            return single and kind.scalar == wanted


def _check_fixed(function: Function, param: Argument, found: ir.Expr, expr: ast.Expr, scope: Scope) -> None:
    if not isinstance(found, ir.Const | ir.Param):
        message = f"'{param.name}' of {function.name}(…) is a literal or a parameter"
        raise scope.error("T27", message, expr.span)
    if param.kind in ("Word", "Format") and not isinstance(found, ir.Const):
        raise scope.error("T27", f"'{param.name}' of {function.name}(…) is a literal", expr.span)
    value = found.value if isinstance(found, ir.Const) else None
    if param.kind == "Word" and value not in function.words:
        help_text = scope.suggest(str(value), function.words) or f"one of: {', '.join(function.words)}"
        raise scope.error("T3", f"{value!r} is not a {param.name} of {function.name}(…)", expr.span, help_text)
    if param.kind == "Format" and format_parts(str(value)) is None:
        message = f"{value!r} holds a directive that does not exist"
        raise scope.error("T3", message, expr.span, "there are %Y %m %d %H %M %S %L %j and %%")
    if param.kind == "Format" and function.name in PARSERS and (twice := repeated_directive(str(value))) is not None:
        raise scope.error("T3", f"{value!r} holds {twice} twice", expr.span, "a text gives each part of a moment once")
    if param.kind == "Pattern" and isinstance(value, str):
        check_pattern(value, expr, scope)


def check_pattern(pattern: str, expr: ast.Expr, scope: Scope) -> None:
    """A pattern must be one that RE2 takes."""
    problem = regex_problem(pattern, LONGEST_PATTERN)
    if problem is not None:
        raise scope.error("T3", f"invalid regular expression: {problem}", expr.span, "patterns use RE2 syntax")


def _check_whole(call: ast.Call, args: tuple[ir.Expr, ...], scope: Scope) -> None:
    """What only all arguments together tell."""
    if call.name in ("date_add", "date_trunc"):
        unit = args[-1]
        day = isinstance(args[0].type, PropType) and args[0].type.scalar == "Date"
        if day and isinstance(unit, ir.Const) and unit.value not in DAY_UNITS:
            message = f"a Date has no {unit.value}"
            raise scope.error("T7", message, call.span, "convert it first: datetime(…)")
    if call.name == "regex_extract" and len(args) == 3:
        pattern, group = args[1], args[2]
        if isinstance(pattern, ir.Const) and isinstance(group, ir.Const) and isinstance(group.value, int):
            groups = compiled(str(pattern.value)).groups
            if not 0 <= group.value <= groups:
                raise scope.error("T3", f"the pattern has no group {group.value}", call.args[2].span)
    dims = {arg.type.dim for arg in args if isinstance(arg.type, PropType) and arg.type.dim is not None}
    if len(dims) > 1:
        raise scope.error("T7", f"{call.name}(…) needs vectors of one length", call.span)


def _shared_type(function: Function, args: tuple[ir.Expr, ...], call: ast.Call, scope: Scope) -> PropType | None:
    values = [
        (arg, expr)
        for at, (arg, expr) in enumerate(zip(args, call.args, strict=True))
        if function.param(at).kind == "T"
    ]
    return common_type(values, f"the arguments of {function.name}(…)", scope) if values else None


def _result(function: Function, args: tuple[ir.Expr, ...], shared: PropType | None) -> PropType:
    kinds = [arg.type for arg in args if isinstance(arg.type, PropType)]
    name = function.result.removesuffix("?")
    nullable = function.result.endswith("?") or any(kind.nullable for kind in kinds)
    if function.name == "coalesce":
        nullable = all(kind.nullable for kind in kinds)
    match name:
        case "T":
            assert shared is not None
            found = shared
        case "Numeric":
            found = PropType("F64" if kinds[0].scalar in FLOATING else "I64")
        case "ItemNumeric":
            found = PropType("F64" if kinds[0].scalar in FLOATING else "I64")
        case "Item":
            found = kinds[0].item
        case "List" | "Moment":
            found = kinds[0]
        case "[T]":
            assert shared is not None
            found = shared.listed
        case _ if name.startswith("["):
            found = PropType(name[1:-1], list=True)
        case _:
            found = PropType(name)
    return found.with_nullable(nullable)


def _truth(found: ir.Expr, expr: ast.Expr, scope: Scope) -> ir.Expr:
    kind = found.type
    if isinstance(kind, PropType) and kind.scalar == "Bool" and not kind.list:
        return found
    raise scope.error("T7", f"a condition is true or false, not {describe(found)}", expr.span)


def _single(found: ir.Expr, expr: ast.Expr, scope: Scope) -> ir.Expr:
    if found.type == ir.NULL or (isinstance(found.type, PropType) and found.type.scalar != "Blob"):
        return found
    raise scope.error("T7", f"a choice is between values, not {describe(found)}", expr.span)


# --- arithmetic ------------------------------------------------------------------------------


def check_arithmetic(expr: ast.Unary | ast.Binary, scope: Scope, typed: Typed) -> ir.Expr:
    """`+ - * / %` on numbers; `+` also joins texts, and a duration moves a date."""
    found = constant(expr, scope)
    if found is not None:
        return found
    if isinstance(expr, ast.Unary):
        right = _number(typed(expr.operand), expr.operand, expr.op, scope)
        left: ir.Expr = ir.Const(0, ir.INT64)
        return ir.Arithmetic(expr.op, left, right, _number_type(expr.op, left.type, right.type))
    if _is_duration(expr.right) or _is_duration(expr.left):
        return _shifted(expr, scope, typed)
    left, right = typed(expr.left), typed(expr.right)
    if expr.op == "+" and _is_text(left) and _is_text(right):
        return ir.Function("concat", (left, right), PropType("String", nullable=_nullable(left, right)))
    left, right = _number(left, expr.left, expr.op, scope), _number(right, expr.right, expr.op, scope)
    return ir.Arithmetic(expr.op, left, right, _number_type(expr.op, left.type, right.type))


def _is_duration(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Literal) and expr.kind == "duration"


def _shifted(expr: ast.Binary, scope: Scope, typed: Typed) -> ir.Expr:
    duration, other = (expr.right, expr.left) if _is_duration(expr.right) else (expr.left, expr.right)
    assert isinstance(duration, ast.Literal)
    if expr.op not in ("+", "-") or _is_duration(other) or (expr.op == "-" and duration is expr.left):
        raise scope.error("T7", "a duration is added to a date or an instant, or taken from it", expr.span)
    moment = typed(other)
    if not (isinstance(moment.type, PropType) and _fits("Moment", moment.type)):
        raise scope.error("T7", f"a duration is added to a date or an instant, not to {describe(moment)}", other.span)
    parts = parse_duration(str(duration.value))
    if parts is None:
        raise scope.error("T32", f"{duration.value!r} is not a duration", duration.span, "write it as P1Y2M3DT4H5M6S")
    sign = 1 if expr.op == "+" else -1
    months, ms = (sign * part for part in parts)
    if moment.type.scalar == "Date" and ms % 86_400_000:
        raise scope.error("T7", "a Date has no time of day", duration.span, "convert it first: datetime(…)")
    for count, unit in ((months, "month"), (ms, "millisecond")):
        if unit == "millisecond" and moment.type.scalar == "Date":
            count, unit = count // 86_400_000, "day"
        if count:
            args = (moment, ir.Const(count, ir.INT64), ir.Const(unit, ir.STRING))
            moment = ir.Function("date_add", args, moment.type)
    return moment


def _number(found: ir.Expr, expr: ast.Expr, op: str, scope: Scope) -> ir.Expr:
    if isinstance(found, ir.Nearest | ir.Rrf):
        raise scope.error("T27", "a rank cannot be part of arithmetic", expr.span)
    if not (isinstance(found.type, PropType) and found.type.is_numeric):
        help_text = None
        if isinstance(found.type, PropType) and found.type.scalar in _MOMENTS and not found.type.list:
            help_text = 'add a duration: duration("P7D"), or use date_diff(…)'
        elif op == "+" and isinstance(found.type, PropType) and found.type.scalar == "String":
            help_text = "'+' joins two texts; make one of the other side with to_string(…)"
        raise scope.error("T7", f"'{op}' needs numbers, not {describe(found)}", expr.span, help_text)
    return found


def _is_text(found: ir.Expr) -> bool:
    return isinstance(found.type, PropType) and found.type.scalar == "String" and not found.type.list


def _nullable(*values: ir.Expr) -> bool:
    return any(isinstance(value.type, PropType) and value.type.nullable for value in values)


def _number_type(op: str, left: ir.ValueType, right: ir.ValueType) -> PropType:
    assert isinstance(left, PropType)
    assert isinstance(right, PropType)
    floating = op == "/" or left.scalar in FLOATING or right.scalar in FLOATING
    # A zero divisor makes the result null.
    nullable = left.nullable or right.nullable or op in ("/", "%")
    return PropType("F64" if floating else "I64", nullable=nullable)
