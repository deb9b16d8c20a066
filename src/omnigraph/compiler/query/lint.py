"""Lint: every query of a file against a schema, with findings about the file as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.diagnostics import CompileError, Diagnostic, ParseError, excerpt
from omnigraph.compiler.ir.write_ops import UpdateNode
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.advice import Advice, advise
from omnigraph.compiler.query.checked import Checked, CheckedMutation
from omnigraph.compiler.query.descriptor import Operation, describe
from omnigraph.compiler.query.parse import SYNTAX, parse_queries
from omnigraph.compiler.query.typecheck import check_query, refuse_repeated_name
from omnigraph.compiler.schema.lint import lint_schema
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.compiler.source import Source

_SEVERITIES = ("error", "warning", "info")
_NO_PARAMETERS = "the mutation declares no parameters, so every run writes the same values"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the file; queries that fail are results, not findings."""

    severity: str
    code: str
    message: str
    type_name: str | None = None
    property: str | None = None
    query_names: tuple[str, ...] | None = None
    excerpt: tuple[str, ...] = ()  # for people: the lines with the caret
    place: Mapping[str, Any] = field(default_factory=dict)  # for programs: line, column and span

    def to_json(self) -> dict[str, Any]:
        """The shape of the contract; absent fields are left out."""
        found: dict[str, Any] = {"severity": self.severity, "code": self.code, "message": self.message, **self.place}
        if self.type_name is not None:
            found["type_name"] = self.type_name
        if self.property is not None:
            found["property"] = self.property
        if self.query_names is not None:
            found["query_names"] = list(self.query_names)
        return found


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The outcome of one query: `error`, or the operation it performs."""

    name: str
    is_mutation: bool
    warnings: tuple[str, ...] = ()
    error: str | None = None
    operation: Operation | None = None
    excerpt: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The shape of the contract; absent fields are left out."""
        result: dict[str, Any] = {
            "name": self.name,
            "kind": "mutation" if self.is_mutation else "read",
            "status": "ok" if self.error is None else "error",
        }
        if self.warnings:
            result["warnings"] = list(self.warnings)
        if self.error is not None:
            result["error"] = self.error
        if self.operation is not None:
            result["operation"] = self.operation.to_json()
        return result


@dataclass(frozen=True, slots=True)
class LintReport:
    """Results in file order and sorted findings."""

    schema_source: Mapping[str, str]
    query_path: str
    results: tuple[QueryResult, ...]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        """Failing queries and error findings."""
        return sum(result.error is not None for result in self.results) + self._count("error")

    @property
    def warnings(self) -> int:
        """Warnings of queries and warning findings."""
        return sum(len(result.warnings) for result in self.results) + self._count("warning")

    @property
    def infos(self) -> int:
        """Info findings."""
        return self._count("info")

    @property
    def status(self) -> str:
        """`error` decides the exit code."""
        return "error" if self.errors else "ok"

    def to_json(self) -> dict[str, Any]:
        """The document `lint --json` prints."""
        return {
            "status": self.status,
            "schema_source": dict(self.schema_source),
            "query_path": self.query_path,
            "queries_processed": len(self.results),
            "errors": self.errors,
            "warnings": self.warnings,
            "infos": self.infos,
            "results": [result.to_json() for result in self.results],
            "findings": [finding.to_json() for finding in self.findings],
        }

    def _count(self, severity: str) -> int:
        return sum(finding.severity == severity for finding in self.findings)


def lint(
    text: Source | str | bytes,
    catalog: Catalog,
    *,
    schema: Source | None = None,
    query_path: str,
    schema_source: Mapping[str, str],
    large_types: Collection[str] = (),
) -> LintReport:
    """Check a query file, and the text of the schema for what has no effect.

    `large_types` names node types whose whole order is worth a remark.
    """
    try:
        source = to_source(text, code=SYNTAX, name=query_path)
        file = parse_queries(source)
    except ParseError as bad:
        finding = Finding("error", bad.code, bad.summary, excerpt=bad.excerpt)
        return LintReport(schema_source, query_path, (), (finding,))
    results: list[QueryResult] = []
    valid: list[Checked] = []
    for position, query in enumerate(file.queries):
        try:
            refuse_repeated_name(file.queries[: position + 1], source)
            checked = check_query(query, catalog, source)
        except CompileError as bad:
            results.append(QueryResult(query.name, query.is_mutation, error=bad.summary, excerpt=bad.excerpt))
        else:
            valid.append(checked)
            results.append(QueryResult(query.name, query.is_mutation, _warnings(query), operation=describe(checked)))
    findings = [*_about_schema(schema), *_never_updated(valid, catalog), *_remarks(valid, catalog, large_types, source)]
    return LintReport(schema_source, query_path, tuple(results), tuple(sorted(findings, key=_finding_order)))


def _about_schema(schema: Source | None) -> Iterator[Finding]:
    if schema is None:
        return
    for warning in lint_schema(parse_schema(schema)):
        yield Finding("warning", warning.code, f"schema: {warning.message}", excerpt=excerpt(warning, schema))


def _warnings(query: ast.Query) -> tuple[str, ...]:
    return (_NO_PARAMETERS,) if query.is_mutation and not query.params else ()


def _never_updated(valid: list[Checked], catalog: Catalog) -> Iterator[Finding]:
    updating: dict[str, set[str]] = {}
    assigned: set[tuple[str, str]] = set()
    for checked in valid:
        for op in checked.body.ops if isinstance(checked.body, CheckedMutation) else ():
            if isinstance(op, UpdateNode):
                updating.setdefault(op.type_name, set()).add(checked.name)
                assigned.update((op.type_name, value.property) for value in op.values)
    for type_name, names in updating.items():
        node = catalog.nodes[type_name]
        for name, kind in node.properties.items():
            settled = name in (node.key or ()) or name in node.embeds or (type_name, name) in assigned
            if kind.nullable and not settled:
                message = f"{type_name}.{name} exists in schema but no update query sets it"
                yield Finding("warning", "L201", message, type_name, name, tuple(sorted(names)))


def _remarks(valid: list[Checked], catalog: Catalog, large_types: Collection[str], source: Source) -> Iterator[Finding]:
    for checked in valid:
        for advice in advise(checked, catalog, large_types):
            yield _as_finding(advice, checked.name, source)


def _as_finding(advice: Advice, query_name: str, source: Source) -> Finding:
    message = f"query `{query_name}`: {advice.message}"
    line, column = source.position(advice.span.start)
    place = {"line": line, "column": column, "span": list(source.byte_span(advice.span))}
    lines = excerpt(Diagnostic(advice.code, advice.message, advice.span), source)
    return Finding(
        advice.severity,
        advice.code,
        message,
        advice.type_name,
        query_names=(query_name,),
        excerpt=lines,
        place=place,
    )


def _finding_order(finding: Finding) -> tuple[int, str, str, str]:
    severity = _SEVERITIES.index(finding.severity)
    return severity, finding.type_name or "", finding.property or "", finding.message
