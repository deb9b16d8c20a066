"""`check`: verify a graph from end to end, without changing anything."""

from __future__ import annotations

from omnigraph.engine.maintenance.checks.derived import DerivedChecks
from omnigraph.engine.maintenance.checks.files import check_files
from omnigraph.engine.maintenance.checks.history import check_history
from omnigraph.engine.maintenance.checks.indexes import check_indexes
from omnigraph.engine.maintenance.checks.report import Checking, CheckReport, Pin, Progress
from omnigraph.engine.maintenance.checks.rows import RowChecks
from omnigraph.engine.values.arrow import table_types
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.view import View
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest.manifest import ManifestState


def check(
    core: Core, branch: str | None = None, *, quick: bool = False, progress: Progress | None = None
) -> CheckReport:
    """Look at every branch, tag and commit, or at what one branch knows, and report what is wrong.

    `quick` looks whether the files of heads and tags are there and have their sizes, and reads none of them.
    """
    checking = Checking(progress)
    core.tables.clear()  # what was read before says nothing about what is stored
    tables.forget_cached(core.store.root)
    history = check_history(core, checking, None if branch is None else [branch], quick=quick)
    check_files(core, checking, history, quick=quick)
    if not quick:
        views = _views(core, history.heads)
        checking.expect(sum(3 * len(table_types(view.catalog)) for view in views.values()))
        rows, derived, seen = RowChecks(checking), DerivedChecks(checking), set[Pin]()
        for name, view in views.items():
            rows.check(view, name)
            check_indexes(view, name, checking, seen)
            derived.check(view, name)
    return CheckReport(quick, checking.counts, tuple(checking.findings))


def _views(core: Core, heads: dict[str, ManifestState]) -> dict[str, View]:
    found: dict[str, View] = {}
    for name, state in heads.items():
        try:
            found[name] = core.view_of(state)
        except Exception:
            continue  # its schema was reported already
    return found
