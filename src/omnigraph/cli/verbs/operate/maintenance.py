"""`optimize`, `check`, `repair`, `cleanup` and `indexes`: maintenance of the storage below a graph."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from omnigraph.cli.address.target import read_target, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.consent import echo, require_consent
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.failure import subject
from omnigraph.cli.terminal.progress import counting
from omnigraph.display import counted
from omnigraph.errors import BadRequest, OmnigraphError

if TYPE_CHECKING:
    from omnigraph.engine.maintenance.checks.report import CheckReport
    from omnigraph.engine.maintenance.cleanup import CleanupReport
    from omnigraph.engine.maintenance.indexes import IndexReport
    from omnigraph.engine.maintenance.optimize import DatasetStats
    from omnigraph.engine.maintenance.repair import DatasetRepair, RepairReport

# Repair signs for itself and cleanup makes no commit, so their target is resolved like a reader's.


def optimize(call: Call) -> None:
    """Compact, index, publish."""
    target = write_target(call)
    echo(call, target)
    with target.storage_writer() as graph, counting(call, "optimize", "datasets") as progress:
        stats = graph.optimize(progress=progress, message=call.text("--message"))
    if call.json:
        output.document({"uri": target.uri, "datasets": [each.to_json() for each in stats]})
        return
    output.line(f"optimize {target.uri} — {len(stats)} datasets")
    for each in stats:
        output.line(f"  {subject(each.type_key):<40} {_optimized(each)}")
        for pending in each.pending_indexes:
            output.line(f"    ↳ index pending on property '{pending.property}': {pending.reason}")


def _optimized(stats: DatasetStats) -> str:
    if stats.skipped is not None:
        return f"skipped ({stats.skipped}: run `omnigraph repair`)"
    if stats.committed:
        return f"frags {stats.fragments_removed} → {stats.fragments_added} ✓"
    return "no-op"


def check(call: Call) -> int:
    """Verify everything, and say what is wrong."""
    target, quick = read_target(call), call.given("--quick")
    try:
        reader = target.storage_reader()
    except OmnigraphError as error:
        from omnigraph.engine.maintenance.checks.report import report_unopened  # only after a failure

        report = report_unopened(error, quick=quick)
    else:
        with reader as graph, counting(call, "check", "steps") as progress:
            report = graph.check(branch=call.text("--branch"), quick=quick, progress=progress)
    if call.json:
        output.document({"uri": target.uri, **report.to_json()})
    else:
        output.write("".join(f"{finding}\n" for finding in report.findings))
        output.line(_checked(target.uri, report))
    return 0 if report.ok else 1


def _checked(uri: str, report: CheckReport) -> str:
    counts = report.counts
    seen = [counted(counts.branches, "branch"), counted(counts.tags, "tag"), counted(counts.versions, "version")]
    seen.append(counted(counts.files, "file"))
    if not report.quick:
        seen.append(f"{counted(counts.commits, 'commit')} ({counts.reclaimed_commits} reclaimed)")
        seen.append(counted(counts.rows, "row"))
        seen.append(
            f"{counted(counts.verified_files, 'checksum')} ({counted(counts.unverified_files, 'file')} without one)"
        )
    found = "no damage found" if report.ok else f"{counted(len(report.findings), 'problem')} found"
    return f"check {uri} — {', '.join(seen)}: {found}"


def repair(call: Call) -> int:
    """Show drift, or publish it."""
    target = read_target(call)
    echo(call, target)
    with target.storage_writer() as graph:
        message = call.text("--message")
        report = graph.repair(confirm=call.given("--confirm"), force=call.given("--force"), message=message)
    if call.json:
        output.document({"uri": target.uri, **_repair_json(report)})
    else:
        mode = "confirm" if report.confirm else "preview"
        output.line(f"repair {target.uri} — {mode} mode, {len(report.datasets)} datasets")
        output.write("".join(f"{_repaired(each)}\n" for each in report.datasets))
        if not report.confirm and any(each.action == "preview" for each in report.datasets):
            output.line("nothing was changed; publish verified maintenance with --confirm")
    if not report.refused:
        return 0
    names = ", ".join(subject(each.type_key) for each in report.refused)
    output.note(f"error: repair refused {names}; look at the operations, then use --confirm --force")
    return 1


def _repair_json(report: RepairReport) -> dict[str, Any]:
    found = report.to_json()
    return {name: found[name] for name in ("confirm", "force", "graph_manifest_version", "datasets")}


def _repaired(each: DatasetRepair) -> str:
    versions = str(each.published_dataset_version)
    if each.lance_head_version != each.published_dataset_version:
        versions = f"{versions} → {each.lance_head_version}"
    operations = f" [{', '.join(each.operations)}]" if each.operations else ""
    error = f" ({each.error})" if each.error is not None else ""
    text = f"  {subject(each.type_key):<40} {each.action:<12} {each.classification:<22} {versions}"
    return f"{text}{operations}{error}"


def cleanup(call: Call) -> None:
    """Remove old versions; without --confirm only say which policy would apply, without opening the graph."""
    target = read_target(call)
    keep, age = call.number("--keep"), _age(call)
    if keep is None and age is None:
        raise BadRequest("cleanup needs a policy: --keep <N>, --older-than <DURATION>, or both")
    policy = _policy(keep, age)
    if not call.given("--confirm"):
        output.note(f"cleanup of {target.uri} would apply: {policy}; nothing was removed, use --confirm to run it")
        return
    require_consent(call, target, "cleanup")
    echo(call, target)
    with target.storage_writer() as graph, counting(call, "cleanup", "datasets") as progress:
        report = graph.cleanup(keep=keep, older_than=age, confirm=True, progress=progress)
    if call.json:
        datasets = report.to_json()["datasets"]
        named = {"keep_versions": report.keep_versions, "older_than_secs": report.older_than_secs}
        output.document({"uri": target.uri, **named, "datasets": datasets})
        return
    output.write(_cleaned(target.uri, policy, report))


def _age(call: Call) -> timedelta | None:
    text = call.text("--older-than")
    if text is None:
        return None
    from omnigraph.engine.values.durations import parse_duration

    return parse_duration(text)


def _policy(keep: int | None, age: timedelta | None) -> str:
    parts = [f"keep {keep} versions"] if keep is not None else []
    parts += [f"remove anything older than {int(age.total_seconds())}s"] if age is not None else []
    return ", ".join(parts)


def _cleaned(uri: str, policy: str, report: CleanupReport) -> str:
    failed = [each for each in report.datasets if each.error is not None]
    versions = sum(each.old_versions_removed for each in report.datasets)
    size = sum(each.bytes_removed for each in report.datasets)
    count = len(report.datasets) - len(failed)
    text = f"cleanup {uri} ({policy}) — removed {versions} versions ({size} bytes) across {count} datasets\n"
    for branch in report.branches_removed:
        freed = f"{counted(branch.bytes, 'byte')} in {counted(branch.files, 'file')}"
        text += f"  the deleted branch {branch.branch} gave back {freed}\n"
    if failed:
        names = ", ".join(subject(each.type_key) for each in failed)
        text += f"  {len(failed)} dataset(s) failed and were left alone: {names}\n"
    return text


def indexes(call: Call) -> None:
    """Every declared index and how much of its table it covers."""
    with read_target(call).reader() as graph:
        found = graph.indexes(branch=call.value("--branch"))
    if call.json:
        output.document({"indexes": [each.to_json() for each in found]})
        return
    for each in found:
        output.line(f"{subject(each.type_key):<32} {each.column:<24} {each.index_type:<10} {_coverage(each)}")


def _coverage(each: IndexReport) -> str:
    if each.pending is not None:
        return f"pending: {each.pending}"
    if each.name is None:
        return "not built; run `omnigraph optimize`"
    return f"{each.coverage:.0%} of {counted(each.rows, 'row')}"
