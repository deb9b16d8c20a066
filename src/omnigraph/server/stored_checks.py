"""Whether stored queries still fit a schema that somebody wants to apply."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.compiler.catalog.migrate import Plan
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query.stored import StoredQuery
from omnigraph.errors import BadRequest


def require_queries_fit(queries: Mapping[str, StoredQuery], plan: Plan) -> None:
    """Refuse a plan that would break a stored query; an unsupported plan is refused for its own reasons."""
    if not plan.supported or not plan.steps:
        return
    for query in queries.values():
        try:
            compile_query(query.source, plan.target.catalog, query.name)
        except CompileError as error:
            raise BadRequest(f"the stored query '{query.name}' would no longer compile: {error.summary}") from error
