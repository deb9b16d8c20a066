"""`import`: graphs of other systems."""

from __future__ import annotations

from omnigraph.cli.address.target import Target
from omnigraph.cli.call import Call
from omnigraph.cli.input.consent import echo
from omnigraph.cli.terminal import output
from omnigraph.display import counted
from omnigraph.errors import BadRequest


def import_graph(call: Call) -> None:
    """Read everything, then declare what is missing and load it as one commit."""
    from omnigraph.engine.values.result import parse_mode
    from omnigraph.engine.views.table_tasks import parse_runner
    from omnigraph.pipeline.formats.importers.entry import read_from

    bundle = read_from(call.value("--from"), *call.rest("SOURCE"))
    for note in bundle.notes:
        output.note(f"note: {note}")
    if call.given("--schema-only"):
        output.write(bundle.schema)
        return
    into = call.text("--store") or call.value("--into")
    if into.lower().startswith(("http://", "https://")):
        raise BadRequest(f"'{into}' is a server; import into the storage of a graph")
    actor = call.text("--as") or call.config.actor
    echo(call, Target(into, actor))
    mode, branch = parse_mode(call.value("--mode")), call.value("--branch")
    runner = parse_runner(call.value("--runner"))
    message = call.text("--message") or f"import from {call.value('--from')}"
    done = bundle.load(into, actor=actor, mode=mode, branch=branch, runner=runner, message=message)
    if call.json:
        load = done.load
        output.document(
            {
                "uri": into,
                "branch": load.branch,
                "nodes": dict(load.nodes),
                "edges": dict(load.edges),
                "total_entities": load.total_entities,
                "runner": load.runner,
                "commit": None if load.commit is None else load.commit.document(),
                "notes": list(done.notes),
            }
        )
        return
    nodes, edges = sum(done.load.nodes.values()), sum(done.load.edges.values())
    entities = f"{counted(nodes, 'node')} and {counted(edges, 'edge')}"
    types = [counted(len(done.load.nodes), "node type"), counted(len(done.load.edges), "edge type")]
    output.line(f"imported {entities} of {' and '.join(types)} into {into}")
