"""What a sitting of `bench/spark_load.py` has found, as measurements and as a part of the page of benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from bench.measure import Measurement
from bench.processes import KINDS, Spent
from bench.report import markdown_table

_PEERS = {"ladybug": "ladybug's `COPY`", "kuzu": "kuzu's `COPY`", "duckdb": "DuckDB, two tables with keys"}
_STAGES = ("start", "read", "stage", "keys", "check", "replace", "commit", "index")


@dataclass(frozen=True, slots=True)
class Load:
    """One load: what it took, its stages (seconds, tasks, skew), MiB at most by process, bytes to the driver."""

    spent: Spent
    stages: Mapping[str, tuple[float, int, float | None]]
    memory: Mapping[str, int]
    sent: int

    def note(self) -> str:
        """Stages, memory and bytes in one line."""
        stages = ", ".join(f"{name} {seconds:.1f} s" for name, (seconds, _, _) in self.stages.items())
        memory = ", ".join(f"{name} {mib} MiB" for name, mib in self.memory.items())
        return f"cpu {self.spent.cpu:.1f} s; {stages}; peak {memory}; {self.sent:,} bytes to the driver"


@dataclass(frozen=True, slots=True)
class Merged:
    """A branch with a load of its own that is merged into main: what that took, MiB at most by process."""

    spent: Spent
    memory: Mapping[str, int]


@dataclass(slots=True)
class Sitting:
    """Everything that was measured of one size."""

    nodes: int
    edges: int
    started: Spent | None = None
    warmed: Spent | None = None
    floor: Spent | None = None
    load: Load | None = None
    ready: Load | None = None
    first: Spent | None = None
    disk_mb: float = 0.0
    merge: Load | None = None
    branch: Merged | None = None
    lines: Load | None = None
    peers: dict[str, Spent | str] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return self.nodes + self.edges

    @property
    def title(self) -> str:
        return f"{_short(self.nodes)} + {_short(self.edges)}"

    def measurements(self) -> Iterator[Measurement]:
        """A line for each load, with its ratio to the floor, and for each peer."""
        for name, spent in (("start of a session", self.started), ("first job with Python workers", self.warmed)):
            if spent is not None:
                yield Measurement("spark_load", f"{name}, {self.title}", spent.seconds * 1_000)
        for name, load in (
            ("load", self.load),
            ("ready", self.ready),
            ("merge", self.merge),
            ("JSON lines", self.lines),
        ):
            if load is not None:
                ratio = load.spent.seconds / self.floor.seconds if self.floor else None
                peer = "unchecked floor" if self.floor else ""
                case = f"{name}, {self.title}"
                yield Measurement("spark_load", case, load.spent.seconds * 1_000, peer, ratio, load.note())
        for peer, spent in self.peers.items():
            known = isinstance(spent, Spent)
            yield Measurement(
                "spark_load", f"{peer}, {self.title}", spent.seconds * 1_000 if known else 0.0, note=str(spent)
            )


def section(sittings: list[Sitting], before: str) -> str:
    """The table of one sitting, a column a size."""
    rows = [
        ["unchecked floor", *_each(sittings, lambda one: str(one.floor or ""))],
        ["load, checked, without indexes", *_each(sittings, lambda one: _text(one.load))],
        *([f"… {name}", *(_stage(one.load, name) for one in sittings)] for name in _STAGES if _has(sittings, name)),
        ["processor time a row, µs", *_each(sittings, lambda one: f"{_per_row(one):.2f}")],
        ["… against the column before", "", *(f"{_per_row(b) / _per_row(a):.2f}×" for a, b in pairwise(sittings))],
        *([f"peak, {name}, MiB", *(_peak(one.load, name) for one in sittings)] for name in KINDS),
        ["bytes that tasks sent to the driver", *_each(sittings, lambda one: f"{one.load.sent:,}" if one.load else "")],
        ["the same rows again as `merge`", *_each(sittings, lambda one: _against(one.merge, one.load, "the load"))],
        ["a branch with the same rows merged into main, ready", *_each(sittings, _merged)],
        ["JSON lines", *_each(sittings, lambda one: _against(one.lines, one.load, "Parquet"))],
        ["ready for a first fast query", *_each(sittings, _ready)],
        ["… of that indexes", *_each(sittings, lambda one: _stage(one.ready, "index"))],
        ["… peak of all processes, MiB", *_each(sittings, lambda one: _all_memory(one.ready))],
        [
            "first query over two hops, ms",
            *_each(sittings, lambda one: f"{one.first.seconds * 1e3:.0f}" if one.first else ""),
        ],
        ["disk when ready, MB", *_each(sittings, lambda one: f"{one.disk_mb:,.0f}")],
        *([text, *(_peer(one, name) for one in sittings)] for name, text in _PEERS.items()),
    ]
    head = ["", *(one.title for one in sittings)]
    start = max(one.started.seconds for one in sittings if one.started is not None)
    told = (
        f"{before}. Seconds, in brackets seconds of the processor of all processes. Every load is made by a new "
        f"process, whose session was started before ({start:.1f} s) and has made a small load. In square brackets "
        "behind a peer: how many times our time until ready it takes, and processor time."
    )
    return f"{told}\n\n{markdown_table(head, rows)}"


def _each(sittings: list[Sitting], cell: Callable[[Sitting], str]) -> list[str]:
    return [cell(one) for one in sittings]


def _text(load: Load | None) -> str:
    return str(load.spent) if load else ""


def _stage(load: Load | None, name: str) -> str:
    if load is None or name not in load.stages:
        return ""
    seconds, tasks, skew = load.stages[name]
    return f"{seconds:.1f} s" + (f", {tasks} tasks, skew {skew:.1f}" if skew else "")


def _has(sittings: list[Sitting], name: str) -> bool:
    return any(one.load is not None and name in one.load.stages for one in sittings)


def _merged(one: Sitting) -> str:
    return "" if one.branch is None else f"{one.branch.spent}, driver {one.branch.memory['driver']:,} MiB"


def _per_row(one: Sitting) -> float:
    assert one.load is not None
    return one.load.spent.cpu / one.rows * 1e6


def _peak(load: Load | None, name: str) -> str:
    return f"{load.memory[name]:,}" if load else ""


def _all_memory(load: Load | None) -> str:
    return f"{sum(load.memory.values()):,}" if load else ""


def _against(load: Load | None, other: Load | None, name: str) -> str:
    if load is None or other is None:
        return ""
    times, cpu = load.spent.seconds / other.spent.seconds, load.spent.cpu / other.spent.cpu
    return f"{load.spent}: {times:.1f}× {name} ({cpu:.1f}×)"


def _ready(one: Sitting) -> str:
    if one.ready is None or one.first is None:
        return ""
    seconds, cpu = _until_ready(one)
    floor = f": {seconds / one.floor.seconds:.1f}× the floor" if one.floor else ""
    return f"{Spent(seconds, cpu)}{floor}"


def _until_ready(one: Sitting) -> tuple[float, float]:
    assert one.ready is not None
    assert one.first is not None
    return one.ready.spent.seconds + one.first.seconds, one.ready.spent.cpu + one.first.cpu


def _peer(one: Sitting, name: str) -> str:
    found = one.peers.get(name, "")
    if not isinstance(found, Spent):
        return found
    seconds, cpu = _until_ready(one)
    return f"{found} [{found.seconds / seconds:.2f}×, {found.cpu / cpu:.2f}×]"


def _short(count: int) -> str:
    return f"{count / 1e6:g}M"
