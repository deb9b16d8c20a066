"""Printing a query tree and parsing it again gives the same tree, in one stable layout."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from omnigraph.compiler.query import ast
from omnigraph.compiler.query.format import format_queries
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.testing.queries import query_files


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(query_files())
def test_a_printed_tree_parses_back_to_itself(file: ast.QueryFile) -> None:
    text = format_queries(file)
    assert parse_queries(text) == file
