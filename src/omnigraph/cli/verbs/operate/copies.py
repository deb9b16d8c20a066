"""`clone`, `backup …` and `restore`: copies of whole graphs; `push` and `pull`: branches between clones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

import omnigraph as og
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.progress import counting
from omnigraph.display import counted
from omnigraph.memory.sizes import size_text

if TYPE_CHECKING:
    from omnigraph.engine.merge.fast_forward import TransferReport
    from omnigraph.storage.transfer.clone import CopyReport


def clone_graph(call: Call) -> None:
    """Copy, check, report."""
    with counting(call, "clone", "bytes") as progress:
        done = og.clone(
            call.required("GRAPH"),
            call.required("TARGET"),
            branches=call.many("--branch") or None,
            depth=call.number("--depth"),
            resume=call.given("--resume"),
            verify=not call.given("--no-verify"),
            progress=progress,
        )
    _show(call, "cloned", done)


def push_branch(call: Call) -> None:
    """From this graph to the clone."""
    _transfer(call, "push", og.push)


def pull_branch(call: Call) -> None:
    """From the clone to this graph."""
    _transfer(call, "pull", og.pull)


def _transfer(call: Call, verb: str, run: Callable[..., TransferReport]) -> None:
    with counting(call, verb, "commits") as progress:
        done = run(
            call.required("GRAPH"),
            call.required("CLONE"),
            branch=call.text("--branch") or "main",
            into=call.text("--into"),
            verify=not call.given("--no-verify"),
            progress=progress,
        )
    _show_transfer(call, f"{verb}ed", done)


def create_backup(call: Call) -> None:
    """Back up and, with --keep, remove what is too old."""
    backups = og.Backups(call.required("BACKUPS"))
    with counting(call, "backup", "bytes") as progress:
        done = backups.create(call.required("GRAPH"), verify=not call.given("--no-verify"), progress=progress)
    keep = call.number("--keep")
    if keep is not None:
        backups.prune(keep=keep)
    _show(call, "backed up", done)


def list_backups(call: Call) -> None:
    """One line per backup."""
    found = og.Backups(call.required("BACKUPS")).list()
    if call.json:
        output.document({"backups": [each.to_json() for each in found]})
        return
    for each in found:
        when = each.created_at.strftime("%Y-%m-%d %H:%M:%S")
        branches = counted(len(each.heads), "branch")
        output.line(f"{each.id}  {when}  {size_text(each.bytes):>9}  {branches}  {each.source}")
    if not found:
        output.line("no backups")


def verify_backup(call: Call) -> int:
    """Name what is missing or damaged; exit code 1 when there is any."""
    with counting(call, "verify", "bytes") as progress:
        wrong = og.Backups(call.required("BACKUPS")).verify(backup=call.text("--backup"), progress=progress)
    if call.json:
        output.document({"damaged": list(wrong)})
    elif wrong:
        output.write("".join(f"missing or damaged: {name}\n" for name in wrong))
    else:
        output.line("every file has its checksum")
    return 1 if wrong else 0


def prune_backups(call: Call) -> None:
    """Remove old backups."""
    keep = call.number("--keep")
    assert keep is not None, "the table requires it"
    done = og.Backups(call.required("BACKUPS")).prune(keep=keep)
    if call.json:
        output.document({"removed": list(done.removed), "freed_bytes": done.freed_bytes})
    else:
        output.line(f"removed {counted(len(done.removed), 'backup')}, freed {size_text(done.freed_bytes)}")


def restore_graph(call: Call) -> None:
    """Make a graph of a backup."""
    with counting(call, "restore", "bytes") as progress:
        done = og.Backups(call.required("BACKUPS")).restore(
            call.required("TARGET"),
            backup=call.text("--backup"),
            resume=call.given("--resume"),
            verify=not call.given("--no-verify"),
            progress=progress,
        )
    _show(call, "restored", done)


def _show_transfer(call: Call, what: str, done: TransferReport) -> None:
    if call.json:
        output.document(asdict(done))
    elif done.up_to_date:
        output.line(f"{done.branch} of {done.target} is up to date, at {done.head}")
    else:
        commits = counted(len(done.commits), "commit")
        begun = " (a new branch)" if done.created else ""
        where = f"{done.branch}{begun} of {done.target}"
        output.line(f"{what} {commits} to {where}, now at {done.head}, in {done.seconds:.1f} s")


def _show(call: Call, what: str, done: CopyReport) -> None:
    if call.json:
        output.document(asdict(done))
        return
    sent = (
        ""
        if done.copied_files == done.files
        else f" ({counted(done.copied_files, 'file')}, {size_text(done.copied_bytes)} sent)"
    )
    output.line(
        f"{what} to {done.target}: {counted(done.files, 'file')}, {size_text(done.bytes)}{sent} in {done.seconds:.1f} s"
    )
    for branch, head in done.heads.items():
        output.line(f"  {branch} at {head}")
