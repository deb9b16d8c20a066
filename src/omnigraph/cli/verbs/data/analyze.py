"""`analyze`: whole-graph algorithms from the command line."""

from __future__ import annotations

from typing import Any

from omnigraph.cli.address.target import read_target, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.consent import echo
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.rows import Envelope
from omnigraph.cli.verbs.data.query import print_rows
from omnigraph.display import counted
from omnigraph.errors import BadRequest

# Which options an algorithm takes, under the names that the SDK has for them.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "pagerank": ("direction", "weight", "damping", "iterations"),
    "components": (),
    "labels": ("iterations",),
    "triangles": (),
    "degree": ("direction",),
    "distances": ("direction", "depth", "source_type"),
}
_METHODS = {"labels": "label_propagation"}
_NUMBERS = frozenset({"iterations", "depth"})


def analyze(call: Call) -> None:
    """Compute, show the largest values, and write them when asked to."""
    name = call.required("ALGORITHM")
    options = _given(call, name)
    writes = call.text("--write-to")
    target = read_target(call) if writes is None else write_target(call)
    if writes is not None:
        echo(call, target)
    with target.storage_reader() if writes is None else target.storage_writer() as graph:
        run = getattr(graph.analytics, _METHODS.get(name, name))
        edges = call.many("--edge")
        places = (_sources(call), edges) if name == "distances" else (edges,)
        branch, runner = call.value("--branch"), call.value("--runner")
        found = run(*places, **options, runner=runner, branch=branch, write_to=writes, message=call.text("--message"))
        rows = found.top(call.number("--top") or 0)
        count = len(found)
    if call.json:
        commit = {} if writes is None else {"commit": None if found.commit is None else found.commit.document()}
        head = {"algorithm": name, "branch": branch, "runner": found.runner, "node_count": count}
        output.document({**head, "iterations": found.iterations, "rows": rows, **commit})
        return
    print_rows(call, Envelope(name, branch, None, ("type", "id", found.column), rows))
    if writes is not None:
        done = "nothing changed" if found.commit is None else f"commit {found.commit.graph_commit_id}"
        output.note(f"wrote {found.column} of {counted(count, 'node')} to {writes} on branch {branch}: {done}")


def _given(call: Call, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for option in ("direction", "weight", "damping", "iterations", "depth", "source_type"):
        spelled = f"--{option.replace('_', '-')}"
        if not call.given(spelled):
            continue
        if option not in _OPTIONS[name]:
            raise BadRequest(f"{spelled} does not apply to {name}")
        found[option] = _value(call, spelled, option)
    if name != "distances" and call.given("--source"):
        raise BadRequest(f"--source does not apply to {name}")
    return found


def _value(call: Call, spelled: str, option: str) -> Any:
    if option in _NUMBERS:
        return call.number(spelled)
    text = call.value(spelled)
    if option != "damping":
        return text
    try:
        return float(text)
    except ValueError:
        raise BadRequest(f"--damping takes a number, and '{text}' is none") from None


def _sources(call: Call) -> list[str]:
    found = call.many("--source")
    if not found:
        raise BadRequest("distances start somewhere: pass --source ID")
    return found
