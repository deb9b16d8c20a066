"""What was probably meant by the name of a branch that does not exist: one of those that the caller may list."""

from __future__ import annotations

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.table.parse import nearest_word
from omnigraph.errors import BranchNotFound, OmnigraphError


def suggest_branch(call: Call, error: BranchNotFound) -> None:
    """Add the nearest branch to the message; a graph that cannot be asked again leaves it as it is."""
    try:
        with read_target(call).reader() as graph:
            near = nearest_word(error.branch, list(graph.branches.list()))
    except OmnigraphError:
        return
    if near is not None:
        error.add_note(f"= help: did you mean '{near}'?")
