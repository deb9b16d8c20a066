"""What editors ask of a served graph: plans of schema changes, findings, completion, meanings and the one layout."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from omnigraph.compiler.assist.complete import complete
from omnigraph.compiler.assist.diagnose import Reported, diagnose
from omnigraph.compiler.assist.explain import explain
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.diagnostics import CompileError, Diagnostic
from omnigraph.compiler.formatter import format_text
from omnigraph.compiler.source import Source, Span
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, named_branch
from omnigraph.server.http.models import AssistRequest, SchemaPlanRequest
from omnigraph.server.http.refusal import bad_request

_LONGEST = 256 << 10  # of a text that a person edits
_MOST_CANDIDATES = 500


async def plan_schema(exchange: Exchange) -> Response:
    """The steps from the accepted schema to another one; they tell of every type, so all of them must be readable."""
    body = await exchange.json(SchemaPlanRequest)
    branch = named_branch(body.branch)
    await exchange.allow_whole(branch)
    graph, desired = exchange.graph.handle, Source(body.schema_source, "schema")

    def run(_: object) -> dict[str, Any]:
        plan = graph.branch(branch).schema.plan(desired, allow_data_loss=body.allow_data_loss)
        notices = [_finding(desired, Reported("info", each), "codepoints") for each in plan.diagnostics]
        steps = plan.to_json()
        return {**steps, "step_count": len(steps["steps"]), "text": str(plan), "diagnostics": notices}

    return answer(await exchange.read(run))


async def assist(exchange: Exchange) -> Response:
    """What is wrong with a text, what could stand at a place of it, what stands there, and how it is laid out.

    Names come from the schema as the sender sees it: a hidden type is completed and explained as little as it is read.
    """
    body = await exchange.json(AssistRequest)
    branch = named_branch(body.branch)
    await exchange.allow(Action.READ, branch=branch)
    if len(body.text) > _LONGEST:
        raise bad_request(f"the text has {len(body.text)} characters; at most {_LONGEST} are looked at")
    graph = exchange.graph.handle
    return answer(await exchange.read(lambda _: _assisted(body, graph.branch(branch).schema.catalog)))


def _assisted(body: AssistRequest, catalog: Catalog) -> dict[str, Any]:
    source, found = Source(body.text, "text"), dict[str, Any]()
    offset = len(body.text) if body.offset is None else _codepoints(body.text, body.offset, body.units)
    if "diagnose" in body.want:
        found["diagnostics"] = [_finding(source, each, body.units) for each in diagnose(source, body.language, catalog)]
    if "complete" in body.want:
        found["completion"] = _completion(body, source, offset, catalog)
    if "explain" in body.want:
        found["meaning"] = _meaning(body, source, offset, catalog)
    if "format" in body.want:
        found["formatted"] = _formatted(body)
    return found


def _completion(body: AssistRequest, source: Source, offset: int, catalog: Catalog) -> dict[str, Any]:
    try:
        span, candidates = complete(body.text, offset, body.language, catalog)
    except CompileError:  # a text that cannot even be cut into words has nothing to complete
        span, candidates = Span(offset, offset), ()
    listed = [{"text": each.text, "kind": each.kind, "detail": each.detail} for each in candidates[:_MOST_CANDIDATES]]
    return {"replace": _range(source, span, body.units), "candidates": listed}


def _meaning(body: AssistRequest, source: Source, offset: int, catalog: Catalog) -> dict[str, Any] | None:
    try:
        found = explain(body.text, offset, body.language, catalog)
    except CompileError:
        return None
    return None if found is None else {"range": _range(source, found.span, body.units), "text": found.text}


def _formatted(body: AssistRequest) -> str | None:
    """None where the text cannot be parsed; `diagnose` says why."""
    try:
        return format_text(body.text, body.language)
    except CompileError:
        return None


def _finding(source: Source, reported: Reported, units: str) -> dict[str, Any]:
    finding: Diagnostic = reported.finding
    span = finding.span
    line, column = (None, None) if span is None else source.position(span.start)
    return {
        "severity": reported.severity,
        "code": finding.code,
        "message": finding.message,
        "help": finding.help,
        "line": line,
        "column": column,
        "range": None if span is None else _range(source, span, units),
    }


def _range(source: Source, span: Span, units: str) -> dict[str, int]:
    return {"start": _units(source.text, span.start, units), "end": _units(source.text, span.end, units)}


def _units(text: str, offset: int, units: str) -> int:
    """An offset in code points as the sender counts; browsers count UTF-16 code units."""
    return offset if units == "codepoints" else len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


def _codepoints(text: str, offset: int, units: str) -> int:
    if units == "codepoints":
        return min(offset, len(text))
    data = text.encode("utf-16-le", "surrogatepass")[: offset * 2]
    return len(data.decode("utf-16-le", "ignore"))
