"""`query` and `mutate`: running text that the user wrote."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.cli.address.scope import ServerScope, resolve_scope
from omnigraph.cli.address.target import AnyGraph, in_storage, read_target, refuse_served, served_target, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.params import Texts, params_of
from omnigraph.cli.input.query_text import declared_query, require_kind, source_of, text_params
from omnigraph.cli.terminal import output, pages
from omnigraph.cli.terminal.commits import note_commit
from omnigraph.cli.terminal.rows import Envelope, metadata, render, via
from omnigraph.cli.verbs.data.batch import mutate_batch
from omnigraph.cli.verbs.data.load import embeddings_json, embeddings_text
from omnigraph.display import counted
from omnigraph.engine.values.text_table import TextLayout
from omnigraph.errors import BadRequest, OmnigraphError, QueryNotFound

if TYPE_CHECKING:
    from omnigraph.client.graph import RemoteGraph
    from omnigraph.client.inspection import RemoteExplanation
    from omnigraph.engine.read.frames.explain import Explanation
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import MutationResult


Plan: TypeAlias = "Explanation | RemoteExplanation"


def query(call: Call) -> None:
    """Rows of a read, its plan, or its plan with measurements."""
    with source_of(call) as source:
        if source is None:
            _stored_read(call)
        else:
            _read(call, source)


def _read(call: Call, source: str | Path) -> None:
    declared = declared_query(source, call.argument("NAME"))
    params = params_of(call, lambda: text_params(declared))
    target = read_target(call)
    require_kind(declared, mutation=False)
    with target.reader() as graph:
        started = perf_counter()
        try:
            if call.given("--explain"):
                _print_plan(call, _explain(call, graph, source, params))
                return
            if call.given("--analyze") and in_storage(graph) is None:
                _print_plan(call, _profile(call, graph, source, params))
                return
            result = _run(call, graph, source, params)
        except QueryNotFound as error:
            raise _ambiguous(error) from error
    if call.given("--analyze") and result.explanation is not None:
        _print_plan(call, result.explanation)
        return
    _print_result(call, result, started)


def _stored_read(call: Call) -> None:
    with _stored_graph(call, write=False) as graph:
        params = params_of(call, lambda: _stored_texts(graph, call.required("NAME")))
        bound = graph.branch(call.value("--branch"))
        started = perf_counter()
        result = bound.queries.run(call.required("NAME"), params or None, at=call.text("--snapshot"))
    _print_result(call, result, started)


def _print_result(call: Call, result: Result, started: float) -> None:
    snapshot = call.text("--snapshot")
    branch = None if snapshot is not None else call.value("--branch")
    answer = Envelope(result.query_name, branch, snapshot, result.columns, result.rows(), result.commit_id)
    print_rows(call, answer, started=started)


def mutate(call: Call) -> None:
    """One mutation, or a batch of them: one commit."""
    if call.given("--batch"):
        mutate_batch(call)
        return
    with source_of(call) as source:
        done = _stored_write(call) if source is None else _write(call, source)
    _print_mutation(call, done)


def _stored_write(call: Call) -> MutationResult:
    with _stored_graph(call, write=True) as served:
        params = params_of(call, lambda: _stored_texts(served, call.required("NAME")))
        bound = served.branch(call.value("--branch"))
        return bound.queries.mutate(
            call.required("NAME"), params or None, if_commit=call.text("--if-commit"), message=call.text("--message")
        )


def _write(call: Call, source: str | Path) -> MutationResult:
    declared = declared_query(source, call.argument("NAME"))
    params = params_of(call, lambda: text_params(declared))
    target = write_target(call)
    require_kind(declared, mutation=True)
    with target.writer() as graph:
        try:
            return _mutate(call, graph, source, params)
        except QueryNotFound as error:
            raise _ambiguous(error) from error


def _mutate(call: Call, graph: AnyGraph, source: str | Path, params: dict[str, Any]) -> MutationResult:
    name, branch, expected = call.argument("NAME"), call.value("--branch"), call.text("--if-commit")
    stored = in_storage(graph)
    if stored is not None:
        return stored.mutate(
            source, name, params, branch, expected, no_embed=call.given("--no-embed"), message=call.text("--message")
        )
    refuse_served(call, "--no-embed")
    return graph.mutate(source, name, params, branch, expected, message=call.text("--message"))


def _print_mutation(call: Call, done: MutationResult) -> None:
    if call.json:
        output.document(
            {
                "branch": done.branch,
                "query_name": done.query_name,
                "affected_nodes": done.affected_nodes,
                "affected_edges": done.affected_edges,
                "actor_id": done.actor_id,
                "commit": None if done.commit is None else done.commit.document(),
                **embeddings_json(done.embeddings),
            }
        )
        return
    counts = f"{counted(done.affected_nodes, 'node')}, {counted(done.affected_edges, 'edge')}"
    output.line(f"changed {done.branch}{via(done.query_name)}: {counts}")
    if done.actor_id is not None:
        output.line(f"actor_id: {done.actor_id}")
    for line in embeddings_text(done.embeddings):
        output.line(line)
    note_commit(call, done.commit)


def print_rows(call: Call, envelope: Envelope, preferred: str | None = None, started: float | None = None) -> None:
    """Rows in the format that was asked for, else in `preferred`, else in the configured one.

    At a terminal, tables end after a thousand rows unless `--all` is given, and the time since `started` is printed.
    """
    took = None if started is None else perf_counter() - started
    format = "json" if call.json else call.text("--format") or preferred or call.config.defaults.output or "table"
    defaults = call.config.defaults
    layout = TextLayout(defaults.table_max_column_width, defaults.table_cell_layout == "wrap")
    cut = pages.watched() and format in ("table", "kv") and not call.given("--all")
    shown = envelope.first(pages.TERMINAL_ROWS) if cut else envelope
    pages.show(render(shown, format, layout), call.env)
    if shown is not envelope:
        output.note(f"the first {len(shown.rows)} of {len(envelope.rows)} rows; --all prints every one")
    if took is not None and pages.watched() and not call.given("--quiet"):
        output.note(pages.elapsed(took))
    beside = metadata(envelope, format)
    if beside is not None and not call.given("--quiet"):
        output.note(beside)


def _run(call: Call, graph: AnyGraph, source: str | Path, params: dict[str, Any]) -> Result:
    from omnigraph.engine.views.table_tasks import parse_runner

    snapshot = call.text("--snapshot")
    branch = None if snapshot is not None else call.value("--branch")
    stored = in_storage(graph)
    if stored is None:
        refuse_served(call, "--runner")
        return graph.query(source, call.argument("NAME"), params, branch=branch, at=snapshot)
    runner = parse_runner(call.value("--runner"))
    return stored.query(source, call.argument("NAME"), params, branch=branch, at=snapshot, runner=runner)


def _explain(call: Call, graph: AnyGraph, source: str | Path, params: dict[str, Any]) -> Plan:
    snapshot = call.text("--snapshot")
    branch = None if snapshot is not None else call.value("--branch")
    return graph.explain(source, call.argument("NAME"), params or None, branch=branch, at=snapshot)


def _profile(call: Call, graph: AnyGraph, source: str | Path, params: dict[str, Any]) -> Plan:
    """What a read cost on a server, which does not answer the rows as well."""
    from omnigraph.client.graph import RemoteGraph

    assert isinstance(graph, RemoteGraph)
    refuse_served(call, "--runner")
    snapshot = call.text("--snapshot")
    branch = None if snapshot is not None else call.value("--branch")
    return graph.profile(source, call.argument("NAME"), params or None, branch=branch, at=snapshot)


def _print_plan(call: Call, explanation: Plan) -> None:
    if call.json or call.text("--format") == "json":
        output.document(explanation.to_dict())
    else:
        output.line(str(explanation))


def _stored_graph(call: Call, *, write: bool) -> RemoteGraph:
    """The server that has a stored query of the given name."""
    if call.argument("NAME") is None:
        raise BadRequest("say what to run: --query FILE, -e TEXT, or the NAME of a stored query of a server")
    scope = resolve_scope(call)
    if not isinstance(scope, ServerScope):
        raise BadRequest("a stored query needs a server: use --server, or give the source with --query or -e")
    return served_target(call, scope, write=write).remote()


def _stored_texts(graph: RemoteGraph, name: str) -> Texts:
    """Which parameters of a stored query take text, as far as the server says."""
    try:
        stored = next((each for each in graph.queries.list() if each["name"] == name), {})
    except OmnigraphError:
        return {}
    kinds = ("string", "blob", "date", "datetime")
    return {each["name"]: each["nullable"] for each in stored.get("params", ()) if each.get("kind") in kinds}


def _ambiguous(error: QueryNotFound) -> Exception:
    """Which query was meant, in the words of this command line."""
    if error.name is not None or not error.available:
        return error
    return BadRequest(f"the source holds multiple queries; name one of: {', '.join(error.available)}", code=error.code)
