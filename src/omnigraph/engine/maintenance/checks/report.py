"""What a check finds, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from omnigraph.display import Displayed
from omnigraph.errors import Conflict, Corrupt, HistoricalVersionReclaimed, NotFound, OmnigraphError, StorageError
from omnigraph.storage.base.errors import brief, is_failure

FindingKind = Literal[
    "manifest", "schema", "commit", "version", "file", "checksum", "columns", "unreadable", "row_count", "null",
    "duplicate_id", "key", "orphan_edge", "index", "derived",
]  # fmt: skip
Progress = Callable[[int, int], None]
Pin = tuple[str, str | None, int]
"""Location, ref and version of a table."""


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Displayed):
    """One thing that is wrong: where, and what; `file` is relative to the graph, `branch` one that is affected."""

    kind: FindingKind
    message: str
    type_key: str | None = None
    branch: str | None = None
    version: int | None = None
    file: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Every field that says something."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        where = "" if self.type_key is None else f"{self.type_key}: "
        shown = [f"branch '{self.branch}'"] if self.branch is not None else []
        # Many messages name the file themselves.
        if self.file is not None and self.file not in self.message:
            shown.append(f"file {self.file}")
        return f"{self.kind}: {where}{self.message}" + (f" ({', '.join(shown)})" if shown else "")


@dataclass(slots=True, repr=False)
class Counts(Displayed):
    """How much was looked at."""

    branches: int = 0
    tags: int = 0
    commits: int = 0
    reclaimed_commits: int = 0
    versions: int = 0
    unverified_versions: int = 0
    files: int = 0
    bytes_verified: int = 0
    verified_files: int = 0
    unverified_files: int = 0
    rows: int = 0
    indexes: int = 0
    derived: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class CheckReport(Displayed):
    """What a check looked at and what it found; `ok` when nothing is wrong."""

    quick: bool
    counts: Counts
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        """`{ok, quick, counts, findings}`."""
        found = [each.to_json() for each in self.findings]
        return {"ok": self.ok, "quick": self.quick, "counts": asdict(self.counts), "findings": found}


def report_unopened(error: OmnigraphError, *, quick: bool) -> CheckReport:
    """The report of a graph that is too damaged to be opened; raises what says nothing about damage."""
    damage = (Corrupt, Conflict, NotFound)
    if not isinstance(error, damage) and not (isinstance(error, StorageError) and error.kind == "Unknown"):
        raise error
    return CheckReport(quick, Counts(), (Finding("unreadable", f"the graph cannot be opened: {error.message}"),))


@dataclass(slots=True)
class Checking:
    """A check under way: what it has counted and found, and whom to tell how far it is."""

    progress: Progress | None = None
    counts: Counts = field(default_factory=Counts)
    findings: list[Finding] = field(default_factory=list)
    damaged: set[Pin] = field(default_factory=set)  # reported already, so that nothing below is derived from them
    _done: int = 0
    _total: int = 0

    def found(self, kind: FindingKind, message: str, **where: Any) -> None:
        """Note something that is wrong, once."""
        finding = Finding(kind, message, **where)
        if finding not in self.findings:
            self.findings.append(finding)

    @contextmanager
    def looking(self, kind: FindingKind, before: str = "", after: str = "", **where: Any) -> Iterator[None]:
        """Whatever fails inside is a finding: a damaged file may make any code fail, in any way.

        What a cleanup removes meanwhile is skipped.
        """
        try:
            yield
        except HistoricalVersionReclaimed:
            return
        except BaseException as error:
            if not (is_failure(error) or isinstance(error, Exception)):
                raise
            self.found(kind, before + _said_by(error) + after, **where)

    def expect(self, units: int) -> None:
        """So many more pieces of work will come."""
        self._total += units
        self._tell()

    def done(self) -> None:
        """One of them is done."""
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(self._done, self._total)


def _said_by(error: BaseException) -> str:
    if isinstance(error, OmnigraphError):
        return error.message
    return f"what is stored cannot be understood ({type(error).__name__}: {brief(error)}); restore it from a backup"
