"""Typing of text predicates and rank calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omnigraph.compiler.catalog.model import NodeType, TypeInfo
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import constant, parameter
from omnigraph.compiler.query.checked import EdgeVar, PathVar, RowVar, Variable
from omnigraph.compiler.types import ENGLISH, INTEGER, NUMERIC, PropType, union_members

_OPERAND_CODE = {"match_text": "T20"}
_DEFAULT_K = ir.Const(60, ir.INT64)
_DEFAULT_METRIC = "l2"


def text_match(call: ast.Call, scope: Scope, resolve: Callable[[ast.Expr], ir.Expr]) -> ir.TextMatch:
    """`search`, one of its siblings or `snippet`, on two texts."""
    code = _OPERAND_CODE.get(call.name, "T19")
    _refuse_path_field(call, scope)
    texts = [_text(call.name, code, expr, resolve, scope) for expr in call.args[:2]]
    distance = _distance(call.name, call.args[2], scope) if len(call.args) > 2 else None
    return ir.TextMatch(call.name, texts[0], texts[1], distance, _language(texts[0], call, scope))


def _language(field: ir.Expr, call: ast.Call, scope: Scope) -> str:
    """What the words of a property are of; those of any other text are English."""
    if not isinstance(field, ir.Property) or (variable := scope.find(field.var)) is None:
        return ENGLISH
    if isinstance(variable, PathVar | RowVar):
        return ENGLISH
    types: Mapping[str, TypeInfo] = scope.catalog.edges if isinstance(variable, EdgeVar) else scope.catalog.nodes
    name = variable.type_name
    found = {
        types[each].languages.get(field.name, ENGLISH) for each in ([name] if name in types else union_members(name))
    }
    if len(found) > 1:
        message = f"the words of '{field.name}' are of different languages: {', '.join(sorted(found))}"
        raise scope.error("T19", message, call.args[0].span, f"bind ${field.var} to types of one language")
    return found.pop()


def rank_call(call: ast.Call, scope: Scope) -> ir.RankCall:
    """`nearest`, `bm25` or `rrf`."""
    if call.name == "rrf":
        return _rrf(call, scope)
    return _arm(call, scope)


def _arm(call: ast.Expr, scope: Scope) -> ir.Nearest | ir.Bm25:
    match call:
        case ast.Call("nearest"):
            return _nearest(call, scope)
        case ast.Call("bm25"):
            return _bm25(call, scope)
        case _:
            raise scope.error("T21", "rrf(…) fuses nearest(…) and bm25(…) only", call.span)


def _nearest(call: ast.Call, scope: Scope) -> ir.Nearest:
    field, query = call.args[:2]
    _refuse_edge_field(call, scope)
    info, prop = _ranked_property(field, scope, "T15", "nearest")
    assert isinstance(info, NodeType)
    kind = info.properties[prop.name]
    if kind.dim is None:
        raise scope.error("T15", f"nearest(…) needs a Vector property, but '{prop.name}' is {kind}", prop.span)
    embed = info.embeds.get(prop.name)
    return ir.Nearest(
        prop.var,
        prop.name,
        kind.dim,
        info.metrics.get(prop.name, _DEFAULT_METRIC),
        _nearest_query(query, kind, scope),
        embed.model if embed is not None else None,
        _probes(call.args[2], scope) if len(call.args) > 2 else None,
    )


def _probes(expr: ast.Expr, scope: Scope) -> ir.Const | ir.Param:
    found = _integer(expr, scope, least=1)
    if found is None:
        raise scope.error("T15", "the number of partitions that nearest(…) searches is an integer from 1 up", expr.span)
    return found


def _nearest_query(expr: ast.Expr, field: PropType, scope: Scope) -> ir.Const | ir.Param:
    query = _query_operand("nearest", expr, scope)
    kind = query.type
    if kind.scalar == "String" and not kind.list:
        return query
    if isinstance(query, ir.Const) and kind.list and kind.scalar in NUMERIC:
        assert isinstance(query.value, tuple)
        length = len(query.value)
    elif kind.is_vector:
        length = kind.dim or 0
    else:
        raise scope.error("T15", f"nearest(…) compares with a vector or a text, not with {kind}", expr.span)
    if length != field.dim:
        raise scope.error("T15", f"the query has {length} dimensions, the property {field.dim}", expr.span)
    return query


def _bm25(call: ast.Call, scope: Scope) -> ir.Bm25:
    field, query = call.args
    _refuse_path_field(call, scope)
    info, prop = _ranked_property(field, scope, "T20", "bm25")
    kind = info.properties[prop.name]
    if kind.scalar != "String" or kind.list:
        raise scope.error("T20", f"bm25(…) needs a String property, but '{prop.name}' is {kind}", prop.span)
    text = _query_operand("bm25", query, scope)
    if text.type.scalar != "String" or text.type.list:
        raise scope.error("T20", f"bm25(…) searches for a String, not for {text.type}", query.span)
    return ir.Bm25(prop.var, prop.name, text, info.languages.get(prop.name, ENGLISH))


def _rrf(call: ast.Call, scope: Scope) -> ir.Rrf:
    first, second = _arm(call.args[0], scope), _arm(call.args[1], scope)
    if first.var != second.var:
        raise scope.error("T21", f"rrf(…) ranks one variable, not both ${first.var} and ${second.var}", call.span)
    k = _smoothing(call.args[2], scope) if len(call.args) > 2 else _DEFAULT_K
    return ir.Rrf(first, second, k)


def _smoothing(expr: ast.Expr, scope: Scope) -> ir.Const | ir.Param:
    k = _integer(expr, scope, least=1)
    if k is None:
        raise scope.error("T21", "the k of rrf(…) is a positive integer", expr.span)
    return k


def _distance(function: str, expr: ast.Expr, scope: Scope) -> ir.Const | ir.Param:
    edits = _integer(expr, scope, least=0)
    if edits is None:
        what = "the edit distance of fuzzy(…)" if function == "fuzzy" else f"the number of words of {function}(…)"
        raise scope.error("T19", f"{what} is an integer from 0 up", expr.span)
    return edits


def _integer(expr: ast.Expr, scope: Scope, *, least: int) -> ir.Const | ir.Param | None:
    """An integer that is written out and not too small, or a parameter that is one."""
    found = constant(expr, scope)
    if found is not None and isinstance(found.value, int) and found.type == ir.INT64 and found.value >= least:
        return found
    param = parameter(expr.name, scope) if isinstance(expr, ast.Var) else None
    return param if param is not None and param.type.scalar in INTEGER and not param.type.list else None


def _text(function: str, code: str, expr: ast.Expr, resolve: Callable[[ast.Expr], ir.Expr], scope: Scope) -> ir.Expr:
    found = resolve(expr)
    kind = found.type
    if not (isinstance(kind, PropType) and kind.scalar == "String" and not kind.list):
        shown = "null" if kind == ir.NULL else str(kind)
        raise scope.error(code, f"{function}(…) works on String, not on {shown}", expr.span)
    return found


def _ranked_property(field: ast.Expr, scope: Scope, code: str, function: str) -> tuple[TypeInfo, ast.Prop]:
    if not isinstance(field, ast.Prop):
        raise scope.error(code, f"{function}(…) ranks by a property such as $v.p", field.span)
    variable = scope.find(field.var)
    if variable is None:
        help_text = scope.suggest(field.var, scope.visible())
        raise scope.error(code, f"${field.var} is not bound here", field.span, help_text)
    info = scope.info(variable)
    one = scope.catalog.edges if isinstance(variable, EdgeVar) else scope.catalog.nodes
    if variable.type_name not in one:
        # Scores of different types are not on one scale.
        message = f"{function}(…) ranks entities of one type, but ${field.var} may be any of {info.name}"
        raise scope.error(code, message, field.span, "bind it to one type")
    if field.name not in info.properties:
        message = f"{info.name} has no property '{field.name}'"
        raise scope.error(code, message, field.span, scope.suggest(field.name, info.properties))
    return one[variable.type_name], field


def _query_operand(function: str, expr: ast.Expr, scope: Scope) -> ir.Const | ir.Param:
    found: ir.Const | ir.Param | None = constant(expr, scope)
    if found is None and isinstance(expr, ast.Var):
        found = parameter(expr.name, scope)
    if found is None:
        raise scope.error("T27", f"what {function}(…) looks for is a literal or a parameter", expr.span)
    return found


def _refuse_path_field(call: ast.Call, scope: Scope) -> None:
    if isinstance(found := _field_variable(call, scope), PathVar):
        message = f"{call.name}(…) works on nodes and edges, not on {found.type_name}"
        raise scope.error("T23", message, call.args[0].span)


def _refuse_edge_field(call: ast.Call, scope: Scope) -> None:
    if isinstance(found := _field_variable(call, scope), EdgeVar | PathVar):
        what = "an edge" if isinstance(found, EdgeVar) else found.type_name
        raise scope.error("T23", f"{call.name}(…) works on nodes, not on {what}", call.args[0].span)


def _field_variable(call: ast.Call, scope: Scope) -> Variable | None:
    field = call.args[0]
    if not isinstance(field, ast.Prop | ast.Var):
        return None
    return scope.find(field.var if isinstance(field, ast.Prop) else field.name)
