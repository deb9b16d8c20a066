"""`mutate --batch`: lines of mutations as one commit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.cli.address.target import in_storage, refuse_served, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.files import read_stdin
from omnigraph.cli.input.query_text import source_of
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.commits import note_commit
from omnigraph.display import counted
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.engine.values.result import BatchResult


def mutate_batch(call: Call) -> None:
    """All of the lines, or none of them."""
    if call.argument("NAME") is not None:
        raise BadRequest("with --batch each line says which query it runs: leave out NAME")
    with source_of(call) as source:
        done = _run(call, source)
    if call.json:
        output.document(
            {
                "branch": done.branch,
                "mutations": done.mutations,
                "affected_nodes": done.affected_nodes,
                "affected_edges": done.affected_edges,
                "actor_id": done.actor_id,
                "commit": None if done.commit is None else done.commit.document(),
            }
        )
        return
    counts = f"{counted(done.affected_nodes, 'node')}, {counted(done.affected_edges, 'edge')}"
    output.line(f"changed {done.branch} via {counted(done.mutations, 'mutation')}: {counts}")
    note_commit(call, done.commit)


def _run(call: Call, source: str | Path | None) -> BatchResult:
    from omnigraph.engine.values.batch_lines import batch_lines

    entries = batch_lines(_bytes(call.value("--batch")))
    branch, expected, message = call.value("--branch"), call.text("--if-commit"), call.text("--message")
    with write_target(call).writer() as graph:
        stored = in_storage(graph)
        if stored is None:
            refuse_served(call, "--no-embed")
            return graph.mutate_many(entries, source, branch=branch, if_commit=expected, message=message)
        no_embed = call.given("--no-embed")
        return stored.mutate_many(
            entries, source, branch=branch, if_commit=expected, no_embed=no_embed, message=message
        )


def _bytes(path: str) -> bytes:
    if path == "-":
        return read_stdin()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadRequest(f"cannot read '{path}': {error.strerror}") from error
