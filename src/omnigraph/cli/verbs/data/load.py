"""`init`, `load` and `export`: graphs from files and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from omnigraph.cli.address.target import AnyGraph, in_storage, read_target, refuse_served, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.consent import echo, require_consent
from omnigraph.cli.input.files import read_stdin, source_file
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.commits import note_commit
from omnigraph.cli.terminal.progress import CountedLines, progress, stages, wanted
from omnigraph.cli.verbs.data.inspect import datasets_of
from omnigraph.display import counted
from omnigraph.errors import (
    AlreadyInitialized,
    BadRequest,
    Conflict,
    KeyConflict,
    NotFound,
    PermissionDenied,
    ValueViolation,
)

if TYPE_CHECKING:
    from omnigraph.compiler.catalog.model import Catalog
    from omnigraph.engine.values.load_profile import LoadProfile
    from omnigraph.engine.values.result import LoadResult

_ONLY_IN_STORAGE = (
    "--runner",
    "--rejects",
    "--max-errors",
    "--no-embed",
    "--no-build",
    "--timings",
    "--resume",
)


def init(call: Call) -> None:
    """A new graph."""
    import omnigraph as og

    uri = call.required("URI")
    if uri.lower().startswith(("http://", "https://")):
        raise BadRequest(
            "`init` is a direct (storage-native) command and needs direct storage access, "
            f"but '{uri}' is a remote server"
        )
    refuse_cluster_layout(uri)
    schema = source_file(call.value("--schema"))
    try:
        actor = call.text("--as") or call.config.actor
        og.init(uri, schema, actor=actor, force=call.given("--force"), message=call.text("--message")).close()
    except AlreadyInitialized as error:
        if not call.given("--force"):
            raise
        raise Conflict(f"force init refuses '{uri}': it holds a graph, which init never overwrites") from error
    output.line(f"initialized {uri}")


def load(call: Call) -> None:
    """Records become one commit."""
    target = write_target(call)
    if call.value("--mode") == "overwrite":
        require_consent(call, target, "load --mode overwrite")
    echo(call, target)
    base = call.text("--from")
    with target.writer() as graph, stages(call) as stage:
        try:
            done = _load(call, graph, stage)
        except (ValueViolation, KeyConflict) as error:
            if call.text("--on-error") is None and _is_about_rows(error):
                keeps = "" if in_storage(graph) is None else "; --rejects FILE then keeps the refused ones"
                error.add_note(f"= help: --on-error skip loads the other rows{keeps}")
            raise
        shown = list(_preview_text(call, graph)) if done.dry_run and not call.json else []
    if call.json:
        output.document(
            {
                "uri": target.uri,
                "branch": done.branch,
                "mode": done.mode,
                **({} if base is None else {"base_branch": base}),
                "branch_created": done.branch_created,
                "nodes": _counts(done.nodes),
                "edges": _counts(done.edges),
                "total_entities": done.total_entities,
                "commit": None if done.commit is None else done.commit.document(),
                "runner": done.runner,
                **({"rejected": dict(done.rejected)} if call.text("--on-error") == "skip" or done.rejected else {}),
                **({"examples": dict(done.examples)} if done.examples else {}),
                **({"skipped": dict(done.skipped)} if done.skipped else {}),
                **({"dry_run": True} if done.dry_run else {}),
                **embeddings_json(done.embeddings),
                **_resumed(done.profile),
                **({"profile": done.profile.to_json()} if call.given("--timings") and done.profile else {}),
            }
        )
        return
    types = f"{counted(len(done.nodes), 'node type')} and {counted(len(done.edges), 'edge type')}"
    entities = counted(done.total_entities, "entity")
    verb = "would load" if done.dry_run else "loaded"
    output.line(f"{verb} {target.uri} on branch {done.branch} with {done.mode}: {entities} across {types}")
    if done.profile is not None and done.profile.resumed is not None:
        taken, every = done.profile.resumed
        output.line(f"took over {taken} of {counted(every, 'split')} of the input from an interrupted load")
    for line in shown:
        output.line(line)
    if done.rejected:
        verb = "would refuse" if done.dry_run else "skipped"
        output.line(f"{verb} {counted(sum(done.rejected.values()), 'bad record')}: {_by_code(done.rejected)}")
        if (place := call.text("--rejects")) is not None:
            from omnigraph.pipeline.tasks.rejects import rejects_file

            output.line(f"  with their reasons in {rejects_file(place)}")
    for code, text in done.examples.items():
        output.line(f"  {code}: {text}")
    if done.skipped:
        output.line(f"skipped edges to nodes that are not there: {_listed(done.skipped)}")
    for line in embeddings_text(done.embeddings):
        output.line(line)
    if done.branch_created:
        output.line(f"branch {done.branch} created from {base}")
    if call.given("--timings") and done.profile is not None:
        for line in profile_text(done.profile):
            output.line(line)
    note_commit(call, done.commit)


def _resumed(profile: LoadProfile | None) -> dict[str, Any]:
    """What a load with `--resume` took over; nothing of others."""
    if profile is None or profile.resumed is None:
        return {}
    return {"resumed": profile.to_json()["resumed"]}


def _is_about_rows(error: ValueViolation | KeyConflict) -> bool:
    """Whether other rows could be loaded without those; a single conflict of keys says what to do itself."""
    return isinstance(error, ValueViolation) or sum(error.refused.values()) > 1


def profile_text(profile: LoadProfile) -> Iterator[str]:
    """Stages with their time, tasks and skew, and the rates of the whole."""
    yield f"{'stage':<8} {'seconds':>8} {'tasks':>6} {'longest':>8} {'skew':>5} {'answers':>9}"
    for stage in profile.stages:
        skew = "" if stage.skew is None else f"{stage.skew:.1f}"
        longest = f"{stage.longest_task_seconds:.2f}" if stage.tasks else ""
        sent = f"{stage.answer_bytes:,}" if stage.answer_bytes else ""
        tasks = stage.tasks or ""
        yield f"{stage.name:<8} {stage.seconds:>8.2f} {tasks:>6} {longest:>8} {skew:>5} {sent:>9}".rstrip()
    rates = f"{profile.rows_per_second:,.0f} rows/s"
    if profile.bytes:
        rates += f", {profile.bytes_per_second / 1_000_000:,.1f} MB/s"
    yield f"{'total':<8} {profile.seconds:>8.2f} ({rates})"


def _load(call: Call, graph: AnyGraph, stage: Callable[[Any], None] | None) -> LoadResult:
    from omnigraph.engine.values.result import parse_mode
    from omnigraph.engine.views.table_tasks import parse_runner

    mode, branch, base = parse_mode(call.value("--mode")), call.value("--branch"), call.text("--from")
    paths = call.many("--data")
    data: Any = read_stdin() if paths == ["-"] else [path if "://" in path else Path(path) for path in paths]
    stored = in_storage(graph)
    mapping, on_error = call.text("--mapping"), call.text("--on-error")
    # A dry run is there to say what is wrong, so it goes on unless it is told to stop.
    skips = on_error == "skip" or (on_error is None and call.given("--dry-run"))
    if stored is None:
        refuse_served(call, *_ONLY_IN_STORAGE)
        return graph.load(
            None if mapping is not None else data,
            mode,
            mapping=mapping,
            branch=branch,
            from_=base,
            on_error="skip" if skips else "stop",
            dry_run=call.given("--dry-run"),
            message=call.text("--message"),
        )
    return stored.load(
        None if mapping is not None else data,
        mode,
        mapping=mapping,
        branch=branch,
        from_=base,
        on_error="skip" if skips else "stop",
        rejects=call.text("--rejects"),
        max_errors=call.number("--max-errors"),
        runner=parse_runner(call.value("--runner")),
        dry_run=call.given("--dry-run"),
        progress=stage,
        no_embed=call.given("--no-embed"),
        no_build=call.given("--no-build"),
        resume=call.given("--resume"),
        message=call.text("--message"),
    )


def export(call: Call) -> None:
    """Every entity of a branch, as JSON lines or in another format."""
    target = read_target(call)
    format, place = call.value("--format"), call.text("--out")
    if place is None and format not in ("jsonl", "graphml"):
        raise BadRequest(f"a {format} export is a directory of files; name one with --out")
    watched = place is not None or not sys.stdout.isatty()  # a bar needs a terminal to itself
    with target.reader() as graph:
        if format == "jsonl" and watched and wanted(call) and not call.given("--at"):
            written = _export_watched(call, graph, place)
        else:
            written = _export(call, graph, sys.stdout.buffer if place is None else place)
    if place is not None:
        output.note(f"wrote {counted(written, 'byte')} to {place}")


def _export(call: Call, graph: AnyGraph, out: str | BinaryIO) -> int:
    types, branch, at = call.many("--type"), call.value("--branch"), call.text("--at")
    stored = in_storage(graph)
    if stored is not None:
        return stored.export(out, types, branch=branch, at=at, format=call.value("--format"))
    refuse_served(call, "--format")
    return graph.export(out, types, branch=branch, at=at)


def _export_watched(call: Call, graph: AnyGraph, place: str | None) -> int:
    """JSON lines with a bar; a file appears under its name only when it is complete, as without one."""
    from omnigraph.engine.changes.output_file import output_file

    types, branch = call.many("--type"), call.value("--branch")
    total = sum(each["entity_count"] for each in datasets_of(graph, branch) if not types or each["type_name"] in types)
    with ExitStack() as opened:
        file = sys.stdout.buffer if place is None else opened.enter_context(output_file(place))
        advance = opened.enter_context(progress(call, "export", total, "entities"))
        return graph.export(cast("BinaryIO", CountedLines(file, advance)), types, branch=branch)


def _preview_text(call: Call, graph: AnyGraph) -> Iterator[str]:
    """The first rows that a mapping would load, by type and input."""
    from omnigraph.engine.values.result import parse_mode
    from omnigraph.pipeline.formats.preview import preview

    mapping = call.text("--mapping")
    if mapping is None:
        return
    try:
        catalog = _catalog(call, graph)
    except PermissionDenied:  # a server may let someone load who may not see the schema
        return
    for each in preview(mapping, catalog, parse_mode(call.value("--mode"))):
        yield f"{each.type_name} from {each.source}:"
        yield from (f"  {output.compact(row)}" for row in each.rows)


def _catalog(call: Call, graph: AnyGraph) -> Catalog:
    """The types of the branch that is loaded, or of the one that it would be made from."""
    base = call.text("--from")
    try:
        return _catalog_of(graph, call.value("--branch"))
    except NotFound:
        if base is None:
            raise
        return _catalog_of(graph, base)


def _catalog_of(graph: AnyGraph, branch: str) -> Catalog:
    from omnigraph.compiler.catalog import compile_schema

    stored = in_storage(graph)
    if stored is not None:
        return stored.branch(branch).schema.catalog
    return compile_schema(graph.branch(branch).schema.source)


def refuse_cluster_layout(uri: str) -> None:
    """Graphs of a cluster are created and evolved by the cluster, never directly."""
    from omnigraph.cluster.state.stored import owning_cluster

    root = owning_cluster(uri)
    if root is not None:
        raise BadRequest(f"'{uri}' belongs to the cluster at '{root}'; change its config and run `cluster apply`")


def embeddings_json(counts: Any) -> dict[str, Any]:
    """What became of `@embed` targets; nothing for a write that had none."""
    if not counts:
        return {}
    why = {} if counts.why is None else {"why": counts.why}
    return {"embeddings": {"filled": dict(counts.filled), "left": dict(counts.left), **why}}


def embeddings_text(counts: Any) -> list[str]:
    """The same in words."""
    found = []
    if counts.filled:
        found.append(f"embedded {_listed(counts.filled)}")
    if counts.left:
        found.append(f"left without a vector: {_listed(counts.left)} ({counts.why})")
    return found


def _listed(counted: Any) -> str:
    return ", ".join(f"{name} × {count}" for name, count in sorted(counted.items()))


def _by_code(rejected: Any) -> str:
    return _listed(rejected)


def _counts(by_type: Any) -> list[dict[str, Any]]:
    return [{"name": name, "entities_loaded": count} for name, count in sorted(by_type.items())]
