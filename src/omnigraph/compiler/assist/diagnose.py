"""Every finding about a text, with its place: errors that compiling reports, and what lint warns about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.diagnostics import CompileError, Diagnostic
from omnigraph.compiler.formatter import Language
from omnigraph.compiler.query.advice import advise
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.query.typecheck import check_query, refuse_repeated_name
from omnigraph.compiler.schema.lint import lint_schema
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.compiler.source import Source


@dataclass(frozen=True, slots=True)
class Reported:
    """One finding. `severity`: error, warning or info."""

    severity: str
    finding: Diagnostic


def diagnose(source: Source, language: Language, catalog: Catalog | None) -> tuple[Reported, ...]:
    """What is wrong with a text; queries are checked against the catalog where there is one."""
    try:
        return tuple(_schema(source) if language == "pg" else _queries(source, catalog))
    except CompileError as error:
        return (Reported("error", error.diagnostic),)


def _schema(source: Source) -> Iterator[Reported]:
    yield from (Reported("warning", each) for each in lint_schema(parse_schema(source)))
    compile_error = _compile_error(source)
    if compile_error is not None:
        yield Reported("error", compile_error)


def _compile_error(source: Source) -> Diagnostic | None:
    try:
        compile_schema(source)
    except CompileError as error:
        return error.diagnostic
    return None


def _queries(source: Source, catalog: Catalog | None) -> Iterator[Reported]:
    file = parse_queries(source)
    for position, query in enumerate(file.queries):
        try:
            refuse_repeated_name(file.queries[: position + 1], source)
            if catalog is None:
                continue
            checked = check_query(query, catalog, source)
        except CompileError as error:
            yield Reported("error", error.diagnostic)
            continue
        for advice in advise(checked, catalog, ()):
            yield Reported(advice.severity, Diagnostic(advice.code, advice.message, advice.span))
