"""`pipeline …`: declared pipelines, run by hand or by a scheduler."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.cli.address.target import Target
from omnigraph.cli.call import Call
from omnigraph.cli.input.consent import echo
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.progress import stages
from omnigraph.display import counted
from omnigraph.errors import BadRequest, NotFound, OmnigraphError

if TYPE_CHECKING:
    from omnigraph.pipeline.runs.declared import Pipeline
    from omnigraph.pipeline.runs.records import Run

# What the library advises where there is no graph.
_CREATE = "create it with init"


def list_pipelines(call: Call) -> None:
    """What is declared."""
    found, _ = _declared(call)
    if call.json:
        output.document({"pipelines": [_described(each) for each in found.values()]})
        return
    for each in found.values():
        way = "" if each.branch is None else f" via {each.branch}"
        after = f" into {each.merge_into}" if each.merge_into else (" for review" if each.branch else "")
        when = f"  ({each.schedule})" if each.schedule else ""
        output.line(f"{each.name}: {each.mode} {each.mapping.name} → {each.graph}{way}{after}{when}")


def validate(call: Call) -> None:
    """Everything a run needs, short of the data: files are read, gates and target branches looked up in the graphs.

    Every pipeline is looked at, so that all that is wrong is told at once.
    """
    found, uris, wrong = _read(call)
    unchecked: dict[str, str] = {}
    for each in found.values():
        try:
            if (reason := _require_target(each, _uri(each, uris))) is not None:
                unchecked[each.name] = reason
        except BadRequest as error:
            wrong.append(error.message)
    if wrong:
        raise BadRequest("\n".join(wrong))
    gates = {name: reason for name, reason in unchecked.items() if found[name].gates}
    targets = {name: reason for name, reason in unchecked.items() if _names_target(found[name])}
    if call.json:
        lists = {"gates_not_checked": gates, "targets_not_checked": targets}
        output.document({"ok": True, "pipelines": sorted(found), **lists})
        return
    verb = "is" if len(found) == 1 else "are"
    output.line(f"{counted(len(found), 'pipeline')} {verb} fine: {', '.join(found) or 'none'}")
    for name, reason in unchecked.items():
        told = "gates" if name in gates else "target branch"
        output.line(f"the {told} of {name} could not be checked: {reason}")


def _names_target(pipeline: Pipeline) -> bool:
    """Whether a run merges into a branch that may be missing; main is there when the graph is."""
    return pipeline.merge_into not in (None, "main")


def _require_target(pipeline: Pipeline, uri: str) -> str | None:
    """Refuse a missing target and gates that no run can measure; why neither is known when the graph cannot be read."""
    import omnigraph as og
    from omnigraph.pipeline.runs.gates import require_gate

    if not pipeline.gates and not _names_target(pipeline):
        return None
    target = pipeline.merge_into or "main"
    try:
        with _in_cluster(), og.open(uri, read_only=True) as graph:
            branches = graph.branches.list()
            view = graph.branch(target).view() if target in branches else None
    except OmnigraphError as error:
        return error.message
    if view is None:
        known = ", ".join(branches)
        raise BadRequest(
            f"pipelines.{pipeline.name}.merge_into: graph '{pipeline.graph}' has no branch '{target}' "
            f"(there are: {known})"
        )
    for gate in pipeline.gates:
        try:
            require_gate(gate, view)
        except BadRequest as error:
            raise BadRequest(f"pipelines.{pipeline.name}.{error.message}") from error
    return None


def run(call: Call) -> int:
    """One run; exit 1 when its data did not pass."""
    import omnigraph as og
    from omnigraph.cluster.boot import embedded_blob_policy
    from omnigraph.pipeline.runs.declared import in_order
    from omnigraph.pipeline.runs.execute import RunOptions, run_pipeline

    found, uris = _declared(call)
    name = call.required("NAME")
    if name not in found:
        raise NotFound(f"there is no pipeline '{name}' (declared: {', '.join(found) or 'none'})")
    actor = call.text("--as") or call.config.actor
    for each in in_order(found, name) if call.given("--with-dependencies") else [found[name]]:
        uri = _uri(each, uris)
        echo(call, Target(uri, actor))
        allowed = embedded_blob_policy(call.value("--config"), each.graph) or ()
        with _in_cluster(), og.open(uri, actor=actor, external_blobs=allowed) as graph, stages(call) as progress:
            options = RunOptions(
                dry_run=call.given("--dry-run"),
                force=call.given("--force") and each.name == name,
                rejects=call.text("--rejects"),
                progress=progress,
                after={other: uris[found[other].graph] for other in each.after},
            )
            done = run_pipeline(each, graph, options)
        if not call.json:
            output.line(_line(done))
        if not done.ok:
            break
    if call.json:
        output.document(done.to_json())
    return 0 if done.ok else 1


def schedule(call: Call) -> None:
    """The schedules, for what runs things by the clock."""
    from omnigraph.pipeline.runs.schedules import airflow, crontab

    found, _ = _declared(call)
    make = airflow if call.text("--format") == "airflow" else crontab
    output.line(make(found.values(), Path(call.value("--config")).resolve(), _program()).rstrip("\n"))


def _program() -> list[str]:
    """How this program is started from anywhere: what runs by the clock has a PATH of its own."""
    script = Path(sys.argv[0])
    if script.name == "omnigraph" and script.is_file():
        return [str(script.absolute())]
    return [sys.executable, "-m", "omnigraph.cli"]


def show_history(call: Call) -> None:
    """The records that runs leave beside their graphs."""
    import omnigraph as og
    from omnigraph.pipeline.runs.records import history

    found, uris = _declared(call)
    wanted = call.argument("NAME")
    if wanted is not None and wanted not in found:
        raise NotFound(f"there is no pipeline '{wanted}' (declared: {', '.join(found) or 'none'})")
    runs: list[Run] = []
    limit = call.number("--limit")
    for each in found.values():
        if wanted in (None, each.name):
            with _in_cluster(), og.open(_uri(each, uris), read_only=True) as graph:
                runs += history(graph, each.name, limit)
    runs.sort(key=lambda each: each.run_id, reverse=True)
    runs = runs[:limit]
    if call.json:
        output.document({"runs": [each.to_json() for each in runs]})
        return
    for done in runs:
        output.line(f"{done.started_at}  {_line(done)}")


@contextmanager
def _in_cluster() -> Iterator[None]:
    """The graphs of a cluster are made by applying it: say so where one is not there."""
    try:
        yield
    except NotFound as error:
        if _CREATE not in error.message:
            raise
        raise NotFound(error.message.replace(_CREATE, "run `omnigraph cluster apply` first")) from error


def _declared(call: Call) -> tuple[dict[str, Pipeline], dict[str, str]]:
    """The pipelines of a directory, none of them wrong, and where the graphs of its cluster are."""
    found, uris, wrong = _read(call)
    if wrong:
        raise BadRequest("\n".join(wrong))
    return found, uris


def _read(call: Call) -> tuple[dict[str, Pipeline], dict[str, str], list[str]]:
    """The pipelines of a directory, where the graphs of its cluster are, and what is wrong with other pipelines."""
    from omnigraph.cluster.declaration.document import load_config, storage_root
    from omnigraph.cluster.diagnostics import Diagnostics, Stopped
    from omnigraph.cluster.state.stored import graph_name
    from omnigraph.pipeline.runs.declared import read_pipelines

    directory, problems = Path(call.value("--config")), Diagnostics()
    try:
        config = load_config(directory, problems)
        root = storage_root(config, directory, problems)
    except Stopped:
        root = ""
    if not problems.ok:
        raise BadRequest("; ".join(str(each) for each in problems.found if each.severity == "error"))
    found, wrong = read_pipelines(config.pipelines, directory)
    return found, {graph: f"{root}/{graph_name(graph)}" for graph in config.graphs}, wrong


def _uri(pipeline: Pipeline, uris: dict[str, str]) -> str:
    if pipeline.graph not in uris:
        known = ", ".join(uris) or "none"
        raise BadRequest(
            f"pipelines.{pipeline.name}.graph: no graph '{pipeline.graph}' is declared (there are: {known})"
        )
    return uris[pipeline.graph]


def _described(pipeline: Pipeline) -> dict[str, object]:
    return {
        "name": pipeline.name,
        "graph": pipeline.graph,
        "mapping": str(pipeline.mapping),
        "branch": pipeline.branch,
        "checks": [str(path) for path in pipeline.checks],
        "merge_into": pipeline.merge_into,
        "mode": pipeline.mode,
        "schedule": pipeline.schedule,
        "after": list(pipeline.after),
        "retries": pipeline.retries,
        "timeout": pipeline.timeout,
        "gates": [gate.name for gate in pipeline.gates],
        "description": pipeline.description,
    }


def _line(run: Run) -> str:
    entities = sum(run.nodes.values()) + sum(run.edges.values())
    parts = [f"{run.pipeline} {run.status}"]
    if run.progress is not None:
        parts.append("{stage} {done}/{total}".format(**run.progress))
    if run.status not in ("unchanged", "failed", "timed_out", "waiting", "running", "lost"):
        parts.append(counted(entities, "entity"))
    if run.rejected:
        parts.append(f"{sum(run.rejected.values())} refused")
    if run.merged_into is not None:
        parts.append(f"into {run.merged_into}")
    elif run.branch is not None:
        parts.append(f"on branch {run.branch}")
    if run.commit_id is not None and run.ok:
        parts.append(f"commit {run.commit_id}")
    parts.append(f"{run.duration_ms} ms" + (f" in {run.attempts} attempts" if run.attempts > 1 else ""))
    return ", ".join(parts) + (f": {run.message}" if run.message else "")
