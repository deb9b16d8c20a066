"""`schema show`, `schema plan` and `schema apply`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.cli.address.target import ServedTarget, read_target, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.consent import echo
from omnigraph.cli.input.files import source_file
from omnigraph.cli.terminal import output
from omnigraph.cli.verbs.data.load import refuse_cluster_layout
from omnigraph.compiler.catalog.steps import step_json, step_text
from omnigraph.display import counted

if TYPE_CHECKING:
    from omnigraph.compiler.catalog.migrate import Plan


def show(call: Call) -> None:
    """The schema that a branch accepts, or that of a commit, as it was written."""
    at = call.text("--at")
    with read_target(call).reader() as graph:
        schema = graph.branch(call.value("--branch")).schema
        source = schema.source if at is None else schema.at(at).source
    if call.json:
        output.document({"schema_source": source})
    else:
        output.line(source)


def plan(call: Call) -> None:
    """What would change; nothing does."""
    target, schema = read_target(call), source_file(call.value("--schema"))
    with target.reader() as graph:
        branch = graph.branch(call.value("--branch"))
        found = branch.schema.plan(schema, allow_data_loss=call.given("--allow-data-loss"))
    if call.json:
        steps = found.to_json()["steps"]
        output.document({"uri": target.uri, "supported": found.supported, "step_count": len(steps), "steps": steps})
        return
    output.line(f"schema plan for {target.uri}")
    output.line(str(found))


def apply(call: Call) -> None:
    """The schema of a branch changes in one commit."""
    target, schema = write_target(call), source_file(call.value("--schema"))
    if isinstance(target, ServedTarget):
        echo(call, target)
        _apply_served(call, target, schema)
        return
    refuse_cluster_layout(target.uri)
    echo(call, target)
    with target.storage_writer() as graph:
        branch = graph.branch(call.value("--branch"))
        lossy, message = call.given("--allow-data-loss"), call.text("--message")
        done = branch.schema.apply(schema, allow_data_loss=lossy, message=message)
    if call.json:
        steps = _step_documents(done.plan)
        output.document(
            {
                "uri": target.uri,
                "supported": done.plan.supported,
                "applied": done.applied,
                "step_count": steps["step_count"],
                "graph_manifest_version": done.version,
                "steps": steps["steps"],
            }
        )
        return
    output.line(f"schema apply for {target.uri}")
    output.line(f"supported: {_yes_no(done.plan.supported)}")
    output.line(f"applied: {_yes_no(done.applied)}")
    output.line(f"graph_manifest_version: {done.version}")
    output.write(_step_lines(done.plan))


def _apply_served(call: Call, target: ServedTarget, schema: Path) -> None:
    """The receipt of a server has the members that --json prints."""
    with target.remote() as graph:
        branch = graph.branch(call.value("--branch"))
        lossy, message = call.given("--allow-data-loss"), call.text("--message")
        done = branch.schema.apply(schema, allow_data_loss=lossy, message=message)
    if call.json:
        output.document({**done, "uri": target.uri})
        return
    output.line(f"schema apply for {target.uri}")
    output.line(f"supported: {_yes_no(done['supported'])}")
    output.line(f"applied: {_yes_no(done['applied'])}")
    output.line(f"graph_manifest_version: {done['graph_manifest_version']}")
    output.line(counted(done["step_count"], "step"))


def _step_documents(steps: Plan) -> dict[str, Any]:
    return {"step_count": len(steps.steps), "steps": [step_json(step) for step in steps.steps]}


def _step_lines(steps: Plan) -> str:
    lines = [f"- {step_text(step)}" for step in steps.steps] or ["no schema changes"]
    return "".join(f"{text}\n" for text in lines)


def _yes_no(answer: bool) -> str:
    return "yes" if answer else "no"
