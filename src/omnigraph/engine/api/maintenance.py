"""The verbs that keep the storage below a graph in shape."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from omnigraph.display import ShownList
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.branch_reader import BranchReader
from omnigraph.engine.values.message import commit_message
from omnigraph.engine.views.table_tasks import Runner

if TYPE_CHECKING:
    from omnigraph.engine.maintenance.checks.report import CheckReport
    from omnigraph.engine.maintenance.cleanup import CleanupReport
    from omnigraph.engine.maintenance.indexes import IndexReport, PendingIndex
    from omnigraph.engine.maintenance.optimize import DatasetStats
    from omnigraph.engine.maintenance.repair import RepairReport


@checked_methods
class GraphMaintenance(BranchReader):
    """What an operator does to a graph; it changes how rows are stored, never which rows there are."""

    def indexes(self, *, branch: str | None = None) -> ShownList[IndexReport]:
        """Every index that the schema asks for: what it is built as, and how much of its table it covers."""
        from omnigraph.engine.maintenance.indexes import report_indexes

        return ShownList(report_indexes(self._core.view(self._named(branch))))

    def ensure_indices(
        self, *, branch: str | None = None, runner: Runner = "auto", message: str | None = None
    ) -> ShownList[PendingIndex]:
        """Build the declared indexes that are missing, in one commit; returns those that cannot be built yet.

        `runner="spark"` builds them in Spark tasks, `"inline"` here; `"auto"` takes a running Spark for large tables.
        """
        self._core.require_admin(self.actor)
        from omnigraph.engine.maintenance.indexes import ensure_indices

        text = commit_message(message)
        return ShownList(ensure_indices(self._core, self._named(branch), runner=runner, actor=self.actor, message=text))

    def optimize(
        self,
        *,
        progress: Callable[[int, int], None] | None = None,
        runner: Runner = "auto",
        message: str | None = None,
    ) -> ShownList[DatasetStats]:
        """Compact the tables of main, extend and build their indexes, and compact the manifest; rows stay the same.

        `progress` is called after every table with how many are done, and of how many. `runner` says where indexes are
        built, as for `ensure_indices`.
        """
        self._core.require_admin(self.actor)
        from omnigraph.engine.maintenance.optimize import optimize, require_main

        require_main(self._branch, "optimize")
        return ShownList(optimize(self._core, progress, runner, self.actor, commit_message(message)))

    def check(
        self,
        *,
        branch: str | None = None,
        quick: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> CheckReport:
        """Verify the graph from end to end, or what one branch knows of it; changes nothing, finds what is damaged.

        Every file that a branch, a tag or a commit needs is there and has the checksum it was written with, every
        commit can be read, ids are unique and agree with keys, edges have both ends, indexes and derived state agree
        with the tables. `quick` looks only whether the files of heads and tags are there and have their sizes.
        """
        self._core.require_open()
        self._core.require_everything_visible("a check")
        from omnigraph.engine.maintenance.checks.check import check

        named = None if branch is None else self._named(branch) or "main"
        return check(self._core, named, quick=quick, progress=progress)

    def repair(self, *, confirm: bool = False, force: bool = False, message: str | None = None) -> RepairReport:
        """Look at table versions of main that were not published; `confirm` publishes verified ones, `force` all."""
        self._core.require_admin(self.actor)
        from omnigraph.engine.maintenance.optimize import require_main
        from omnigraph.engine.maintenance.repair import repair

        require_main(self._branch, "repair")
        return repair(self._core, confirm=confirm, force=force, message=commit_message(message))

    def cleanup(
        self,
        *,
        keep: int | None = None,
        older_than: str | int | timedelta | None = None,
        confirm: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> CleanupReport:
        """Remove old table versions beyond the newest `keep` and older than `older_than` (`"7d"`); irreversible.

        What live branches and tags need always stays. Without `confirm` nothing is removed: the report is a preview.
        `progress` is called as by `optimize`.
        """
        self._core.require_admin(self.actor)
        from omnigraph.engine.maintenance.cleanup import Policy, cleanup
        from omnigraph.engine.maintenance.optimize import require_main
        from omnigraph.engine.values.durations import parse_duration

        require_main(self._branch, "cleanup")
        policy = Policy(keep, None if older_than is None else parse_duration(older_than))
        return cleanup(self._core, policy, confirm=confirm, progress=progress)
