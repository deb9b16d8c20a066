"""The type checker's door: one query against one catalog; the first error wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.diagnostics import TypeCheckError, fail
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.folding import folded_default
from omnigraph.compiler.query.check.mutations import check_statements
from omnigraph.compiler.query.check.scope import ANONYMOUS, Scope
from omnigraph.compiler.query.check.stages import check_part, check_stage
from omnigraph.compiler.query.check.unions import check_union
from omnigraph.compiler.query.check.values import stored_value
from omnigraph.compiler.query.checked import Checked, CheckedMutation, CheckedRead, CheckedStage, Parameter
from omnigraph.compiler.source import Source
from omnigraph.compiler.types import BASE_SCALARS, INTEGER, INTEGER_RANGE

_RESERVED_PREFIX = "__"


def check_query(query: ast.Query, catalog: Catalog, source: Source) -> Checked:
    """The query with every name resolved and every type known; TypeCheckError for the first thing that is wrong."""
    empty = Scope(catalog, source, {})
    folded = tuple(
        param if param.default is None else replace(param, default=folded_default(param.default, empty))
        for param in query.params
    )
    query = replace(query, params=folded)
    params = _check_params(query, catalog, source)
    scope = Scope(catalog, source, {param.name: param for param in params})
    if isinstance(query.body, ast.Read):
        return Checked(query, params, _check_read(query.body, scope))
    return Checked(query, params, CheckedMutation(check_statements(query.body, scope)))


def refuse_repeated_name(queries: Sequence[ast.Query], source: Source) -> None:
    """The last of these queries may not carry the name of an earlier one."""
    last = queries[-1]
    if any(query.name == last.name for query in queries[:-1]):
        fail(TypeCheckError, source, "T31", f"the file holds two queries called '{last.name}'", last.name_span)


def _check_params(query: ast.Query, catalog: Catalog, source: Source) -> tuple[Parameter, ...]:
    scope = Scope(catalog, source, {})
    checked: dict[str, Parameter] = {}
    for param in query.params:
        if param.name.startswith(_RESERVED_PREFIX) or param.name == ANONYMOUS:
            raise scope.error("T31", f"the name ${param.name} is reserved", param.span, "rename the parameter")
        if param.name in checked:
            raise scope.error("T31", f"${param.name} is declared twice", param.span)
        known = param.type.is_vector or param.type.scalar in BASE_SCALARS
        if not known or (param.type.list and param.type.scalar == "Blob"):
            raise scope.error("T31", f"a parameter cannot be {param.type}", param.span)
        checked[param.name] = Parameter(param.name, param.type, _default(param, scope))
    return tuple(checked.values())


def _default(param: ast.Param, scope: Scope) -> ir.Const | None:
    if param.default is None:
        return None
    default = stored_value(f"${param.name}", param.type, param.default, scope)
    assert isinstance(default, ir.Const)
    # A caller's number is held to the declared width, and so is the one that stands in for it.
    if param.type.scalar in INTEGER:
        low, high = INTEGER_RANGE[param.type.scalar]
        for number in default.value if isinstance(default.value, tuple) else (default.value,):
            if number is not None and not (isinstance(number, int) and low <= number <= high):
                raise scope.error("T3", f"{number} is not a value of {param.type}", param.default.span)
    return default


def _check_read(read: ast.Read, scope: Scope) -> CheckedRead:
    if read.more:
        return check_union(read, scope, lambda part: _check_read(part, scope.beside()))
    source: CheckedStage | None = None
    for stage in read.stages:
        source, scope = check_stage(stage, scope, source)
    return check_part(read, scope, source)
