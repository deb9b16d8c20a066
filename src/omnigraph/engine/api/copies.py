"""Copies of whole graphs: `clone`, and backups with their list, verification, retention and restore."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from omnigraph.display import Displayed, ShownList
from omnigraph.engine.api.arguments import checked, checked_methods
from omnigraph.engine.merge.fast_forward import Endpoints, TransferReport, fast_forward
from omnigraph.engine.views.lifecycle import StrPath, open_graph
from omnigraph.errors import BadRequest
from omnigraph.settings import DEFAULTS
from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.base.store import store_for
from omnigraph.storage.branches.names import branch_name
from omnigraph.storage.transfer import backup as transfer
from omnigraph.storage.transfer.backup import BackupSnapshot
from omnigraph.storage.transfer.clone import CopyReport, clone_files

__all__ = ["BackupSnapshot", "Backups", "CopyReport", "PruneReport", "TransferReport", "clone", "pull", "push"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, repr=False)
class PruneReport(Displayed):
    """Which backups were removed, and how many bytes that freed."""

    removed: tuple[str, ...]
    freed_bytes: int


@checked
def clone(
    source: StrPath,
    target: StrPath,
    *,
    branches: Sequence[str] | None = None,
    depth: int | None = None,
    resume: bool = False,
    verify: bool = True,
    progress: Progress | None = None,
) -> CopyReport:
    """Copy a graph to another place, local or on an object store; writers may go on meanwhile.

    The copy has every branch, tag and commit, or main and the given `branches` only; with `depth`, versions beyond the
    newest `depth` of every table are removed from it at the end. It shares nothing with the original. One that broke
    off is continued with `resume=True`. `verify` reads every file back and compares checksums; `progress` is called
    with the bytes that are done, and all of them.
    """
    if depth is not None and depth < 1:
        raise BadRequest("depth must be at least 1")
    store = store_for(source, DEFAULTS)
    open_graph(source, read_only=True)  # names what is wrong with the source before anything is written
    chosen = None if branches is None else list(branches)
    root = normalize_root(target)
    done = clone_files(store, root, branches=chosen, resume=resume, verify=verify, report=progress)
    if depth is not None:
        from omnigraph.engine.maintenance.cleanup import Policy, cleanup

        cleanup(open_graph(target), Policy(keep=depth), confirm=True)
    return done


@checked
def push(
    source: StrPath,
    target: StrPath,
    *,
    branch: str = "main",
    into: str | None = None,
    verify: bool = True,
    progress: Progress | None = None,
) -> TransferReport:
    """Bring a branch of another clone to where this one stands, as `git push` does: fast-forward, or refused.

    Both graphs must be clones of one. The commits that the target lacks are made there one after the other, under the
    same ids; a branch that it does not have is created. `into` is the name of the branch there, by default the same.
    Writers may go on at both. One that broke off is repeated. `verify` reads every row back and compares it; `progress`
    is called with the commits that are done, and all of them.
    """
    return _transfer(source, target, branch, into, verify=verify, progress=progress)


@checked
def pull(
    target: StrPath,
    source: StrPath,
    *,
    branch: str = "main",
    into: str | None = None,
    verify: bool = True,
    progress: Progress | None = None,
) -> TransferReport:
    """Bring a branch to where that of another clone stands: `push` in the other direction.

    Where both sides have gone on, `into="theirs"` brings the other branch under another name, to be merged.
    """
    return _transfer(source, target, branch, into, verify=verify, progress=progress)


def _transfer(
    source: StrPath, target: StrPath, branch: str, into: str | None, *, verify: bool, progress: Progress | None
) -> TransferReport:
    sent = branch_name(branch)
    sender, receiver = open_graph(source, read_only=True), open_graph(target)
    try:
        ends = Endpoints(sender, sent, receiver, sent if into is None else branch_name(into))
        return fast_forward(ends, verify=verify, report=progress)
    finally:
        sender.close()
        receiver.close()


@checked_methods
class Backups(Displayed):
    """Backups of graphs at one place: consistent states in which equal files are kept once.

    >>> import omnigraph as og
    >>> og.Backups("s3://bucket/backups/graph").list()  # doctest: +SKIP
    """

    def __init__(self, place: StrPath) -> None:
        self._root = normalize_root(place)

    def __repr__(self) -> str:
        return f"Backups({self._root.uri!r})"

    def create(self, graph: StrPath, *, verify: bool = True, progress: Progress | None = None) -> CopyReport:
        """Back up the newest state of every branch; only files that this place lacks are sent."""
        open_graph(graph, read_only=True)
        return transfer.back_up(store_for(graph, DEFAULTS), self._root, verify=verify, report=progress)

    def list(self) -> ShownList[BackupSnapshot]:
        """Every backup, oldest first."""
        return ShownList(transfer.list_backups(self._root))

    def restore(
        self,
        target: StrPath,
        *,
        backup: str | None = None,
        resume: bool = False,
        verify: bool = True,
        progress: Progress | None = None,
    ) -> CopyReport:
        """Make a graph of the newest backup, or of the one with this id; every file is checked by its checksum."""
        root = normalize_root(target)
        return transfer.restore(self._root, root, backup=backup, resume=resume, verify=verify, report=progress)

    def verify(self, *, backup: str | None = None, progress: Progress | None = None) -> tuple[str, ...]:
        """The files of a backup (by default of the newest one) that are missing or damaged; none when it is whole."""
        found = transfer.find_backup(self._root, backup)
        return tuple(transfer.verify_backup(self._root, found, progress))

    def prune(self, *, keep: int) -> PruneReport:
        """Remove all but the newest `keep` backups, and the files that only they needed."""
        removed, freed = transfer.prune_backups(self._root, keep=keep)
        return PruneReport(tuple(removed), freed)
