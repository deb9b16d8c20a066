"""`lint`: a file of queries against a schema, offline or against a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.files import read_bytes, source_file
from omnigraph.cli.terminal import output
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.query.lint import lint
from omnigraph.compiler.source import Source

if TYPE_CHECKING:
    from omnigraph.compiler.query.lint import LintReport

# From here on a whole order of a type is worth a remark.
_LARGE_TYPE_ROWS = 100_000
_LABELS = {"error": "ERROR", "warning": "WARN ", "info": "INFO "}


def lint_file(call: Call) -> int:
    """Print the report; errors in it decide the exit code."""
    report = _report(call)
    if call.json:
        output.document(report.to_json())
    else:
        output.write("".join(f"{text}\n" for text in _lines(report)))
    return 1 if report.status == "error" else 0


def _report(call: Call) -> LintReport:
    path, schema = call.value("--query"), call.text("--schema")
    queries = read_bytes(path)
    if schema is not None:
        text = to_source(source_file(schema).read_bytes(), code="S000", name=schema)
        seen = {"kind": "file", "path": schema}
        return lint(queries, compile_schema(text), schema=text, query_path=path, schema_source=seen)
    target = read_target(call)
    with target.storage_reader() as graph:
        view, text = graph.view(), Source(graph.schema.source, "schema")
    large = {info.name for info in view.catalog.nodes.values() if _is_large(view.find(info))}
    seen = {"kind": "graph", "uri": target.uri}
    return lint(queries, view.catalog, schema=text, query_path=path, schema_source=seen, large_types=large)


def _is_large(entry: object) -> bool:
    return int(getattr(entry, "row_count", 0)) >= _LARGE_TYPE_ROWS


def _lines(report: LintReport) -> list[str]:
    lines = []
    for result in report.results:
        kind = "mutation" if result.is_mutation else "read"
        if result.error is None:
            lines.append(f"OK    query `{result.name}` ({kind})")
        else:
            lines += [f"ERROR query `{result.name}`: {result.error}", *_indented(result.excerpt)]
        lines += [f"WARN  query `{result.name}`: {warning}" for warning in result.warnings]
    for finding in report.findings:
        lines += [f"{_LABELS[finding.severity]} {finding.message}", *_indented(finding.excerpt)]
    counts = f"{report.errors} error(s), {report.warnings} warning(s), {report.infos} info item(s)"
    return [*lines, f"INFO  Lint complete: {len(report.results)} queries processed ({counts})"]


def _indented(excerpt: tuple[str, ...]) -> list[str]:
    return [f"    {line}" for line in excerpt]
