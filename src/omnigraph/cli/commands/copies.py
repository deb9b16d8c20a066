"""Commands that copy whole graphs."""

from __future__ import annotations

from omnigraph.cli.commands import shared
from omnigraph.cli.commands.shared import JSON
from omnigraph.cli.table.model import Argument, Capability, Command, Option

_BACKUPS = Argument("BACKUPS", "where backups are kept: a directory, s3://, az:// or gs://", required=True)
_NEW = "where the new graph goes: a directory, s3://, az:// or gs://, empty or not there yet"
_TARGET = Argument("TARGET", _NEW, required=True)
_SOURCE = Argument("GRAPH", "the graph: a path, file://, s3://, az:// or gs://", required=True, graph=True)
_SCOPE = frozenset({"--store"})
_RESUME = Option("--resume", "go on with a copy that broke off")
_UNVERIFIED = Option("--no-verify", "do not read every file back to compare its checksum")
_WHICH = Option("--backup", "the id of a backup, or its beginning; by default the newest", "ID")
_CLONE = Argument("CLONE", "a clone of it: a path, file://, s3://, az:// or gs://", required=True)
_BRANCH = Option("--branch", "the branch, by default main", "NAME")
_INTO = Option("--into", "what the branch is called where the commits go; by default the same", "NAME")
_UNREAD = Option("--no-verify", "do not read every row back to compare it")

COPIES = (
    Command(
        ("clone",),
        Capability.LOCAL,
        "Copy a graph to another place, with its branches, tags and history",
        "operate.copies.clone_graph",
        _SCOPE,
        arguments=(_SOURCE, _TARGET),
        options=(
            Option("--branch", "copy main and this branch only", "NAME", repeats=True),
            Option("--depth", "keep only this many newest versions of every dataset in the copy", "N", number=True),
            _RESUME,
            _UNVERIFIED,
            shared.PROGRESS,
            JSON,
        ),
        notes="Writers may go on meanwhile; the copy shares nothing with the original.",
    ),
    Command(
        ("push",),
        Capability.LOCAL,
        "Bring a branch of another clone to where this graph's stands",
        "operate.copies.push_branch",
        _SCOPE,
        arguments=(_SOURCE, _CLONE),
        options=(_BRANCH, _INTO, _UNREAD, shared.PROGRESS, JSON),
        notes="Fast-forward or refused, as with Git. One that broke off is repeated; writers may go on at both.",
    ),
    Command(
        ("pull",),
        Capability.LOCAL,
        "Bring a branch of this graph to where another clone's stands",
        "operate.copies.pull_branch",
        _SCOPE,
        arguments=(_SOURCE, _CLONE),
        options=(_BRANCH, _INTO, _UNREAD, shared.PROGRESS, JSON),
        notes="Where both have gone on, pull with --into under another name, merge that, and push.",
    ),
    Command(
        ("backup", "create"),
        Capability.LOCAL,
        "Back up a graph; only files that the backups lack are sent",
        "operate.copies.create_backup",
        _SCOPE,
        arguments=(_SOURCE, _BACKUPS),
        options=(
            Option("--keep", "remove all but this many newest backups afterwards", "N", number=True),
            _UNVERIFIED,
            shared.PROGRESS,
            JSON,
        ),
    ),
    Command(
        ("backup", "list"),
        Capability.LOCAL,
        "List backups, the oldest first",
        "operate.copies.list_backups",
        arguments=(_BACKUPS,),
        options=(JSON,),
    ),
    Command(
        ("backup", "verify"),
        Capability.LOCAL,
        "Read a backup and compare every checksum",
        "operate.copies.verify_backup",
        arguments=(_BACKUPS,),
        options=(_WHICH, shared.PROGRESS, JSON),
    ),
    Command(
        ("backup", "prune"),
        Capability.LOCAL,
        "Remove old backups and what only they needed",
        "operate.copies.prune_backups",
        arguments=(_BACKUPS,),
        options=(Option("--keep", "how many newest backups stay", "N", number=True, required=True), JSON),
    ),
    Command(
        ("restore",),
        Capability.LOCAL,
        "Make a graph of a backup",
        "operate.copies.restore_graph",
        _SCOPE,
        arguments=(_BACKUPS, Argument("TARGET", _NEW, required=True, graph=True)),
        options=(_WHICH, _RESUME, _UNVERIFIED, shared.PROGRESS, JSON),
    ),
)
