"""Failures that name something which is not, or no longer, there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from omnigraph.errors.base import OmnigraphError


class NotFound(OmnigraphError):
    """The thing named does not exist."""

    code = "not_found"
    http_status = 404


class BranchNotFound(NotFound):
    """No live branch has this name."""

    code = "branch_not_found"

    def __init__(self, branch: str) -> None:
        super().__init__(f"branch '{branch}' not found")
        self.branch = branch

    def details(self) -> dict[str, Any]:
        return {"branch": self.branch}


class CommitNotFound(NotFound):
    """No live branch knows this commit or version."""

    code = "commit_not_found"

    def __init__(self, reference: str, why: str | None = None) -> None:
        super().__init__(f"commit '{reference}' not found{' on any live branch' if why is None else f': {why}'}")
        self.reference = reference


class AmbiguousCommit(CommitNotFound):
    """Several commits have an id that begins like this."""

    code = "ambiguous_commit"
    _SHOWN: ClassVar[int] = 5

    def __init__(self, reference: str, candidates: Sequence[str]) -> None:
        self.candidates = tuple(sorted(candidates, reverse=True))
        shown = ", ".join(self.candidates[: self._SHOWN])
        more = len(self.candidates) - self._SHOWN
        older = f" and {more} older" if more > 0 else ""
        super().__init__(
            reference, f"{len(self.candidates)} commits begin like this ({shown}{older}); write more of the id"
        )

    def details(self) -> dict[str, Any]:
        return {"candidates": list(self.candidates[: self._SHOWN])}


class QueryNotFound(NotFound):
    """The file contains no query of this name (R001)."""

    code = "R001"

    def __init__(self, name: str | None, available: Sequence[str]) -> None:
        known = ", ".join(available) if available else "none"
        asked = f"query '{name}' not found" if name else "name a query: the file does not hold exactly one"
        super().__init__(f"R001: {asked} (available: {known})")
        self.name = name
        self.available = tuple(available)


class HistoricalVersionReclaimed(NotFound):
    """The version existed and was removed by cleanup."""

    code = "historical_version_reclaimed"
    http_status = 410

    def __init__(self, version: int, *, table: str | None = None) -> None:
        where = f" of {table}" if table else ""
        super().__init__(f"historical published dataset version {version}{where} was reclaimed")
        self.version = version
        self.table = table


class ChangeFeedGap(NotFound):
    """Cleanup removed history that a reader of changes still needed; start over from a baseline."""

    code = "change_feed_gap"
    http_status = 410

    def __init__(self, first_unreadable_commit_id: str, cursor: str | None = None) -> None:
        super().__init__(
            f"the changes of commit {first_unreadable_commit_id} were reclaimed by cleanup; capture a new baseline"
        )
        self.first_unreadable_commit_id = first_unreadable_commit_id
        self.cursor = cursor

    def details(self) -> dict[str, Any]:
        return {"cursor": self.cursor, "first_unreadable_commit_id": self.first_unreadable_commit_id}
