"""Records of pipeline runs: one small object each beside the graph, and the digest that says what a run has read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from omnigraph.checkpoints import checkpoint
from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.intake.inputs.files import open_input, written_at
from omnigraph.engine.intake.mapping import described
from omnigraph.engine.intake.mapping_sources import FileSource, SparkSource, SqlSource
from omnigraph.errors import Corrupt
from omnigraph.pipeline.runs.declared import Pipeline
from omnigraph.storage.base import lease
from omnigraph.storage.base.clouds import is_remote

RUNS_DIR = "__pipelines"
_CHUNK = 8 << 20

# A run says this often that it is alive; one that has not for this long is taken for dead.
ALIVE_SECONDS = 10.0
_LOST = timedelta(seconds=6 * ALIVE_SECONDS)

Status = Literal[
    "running", "merged", "loaded", "review", "rejected", "conflict", "failed", "timed_out", "waiting", "unchanged",
    "dry_run", "lost",
]  # fmt: skip
# A run that ended like this has taken its input in; the same input is not taken in again.
DONE: frozenset[str] = frozenset({"merged", "loaded", "review"})


@dataclass(frozen=True, slots=True)
class Input:
    """One thing a run read: its name, its size in bytes, and its digest (None when it cannot be known beforehand)."""

    source: str
    name: str
    bytes: int
    digest: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a pipeline, as it is kept; `progress`, `updated_at` and `owner`, its process, are those of a run that
    goes on."""

    run_id: str
    pipeline: str
    status: Status
    started_at: str
    duration_ms: int
    actor_id: str | None
    digest: str | None
    inputs: tuple[Input, ...] = ()
    branch: str | None = None
    merged_into: str | None = None
    commit_id: str | None = None
    runner: str | None = None
    nodes: Mapping[str, int] = field(default_factory=dict)
    edges: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    checks: Mapping[str, int] = field(default_factory=dict)
    message: str | None = None
    attempts: int = 1
    gates: Mapping[str, float] = field(default_factory=dict)
    progress: Mapping[str, Any] | None = None
    updated_at: str | None = None
    owner: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is left to be looked into."""
        return self.status not in ("rejected", "conflict", "failed", "timed_out", "waiting", "lost")

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object, for others than this package."""
        return {name: value for name, value in asdict(self).items() if name != "owner"}


def keep(graph: Graph, run: Run) -> None:
    """Store a record; its name sorts by time."""
    access(graph).store.objects.write(f"{RUNS_DIR}/{run.pipeline}/{run.run_id}.json", json.dumps(asdict(run)))


def history(graph: Graph, pipeline: str | None = None, limit: int | None = None) -> list[Run]:
    """The runs of a pipeline, or of all, newest first; one that goes on is among them, with how far it is."""
    objects = access(graph).store.objects
    paths = objects.list_tree(RUNS_DIR if pipeline is None else f"{RUNS_DIR}/{pipeline}")
    newest = sorted((path for path in paths if path.endswith(".json")), key=_run_id, reverse=True)[:limit]
    found = ((path, objects.read_if_exists(path)) for path in newest)
    return [_alive(_run(path, text)) for path, text in found if text is not None]


def instant(moment: datetime) -> str:
    """A moment as records write it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _run_id(path: str) -> str:
    return path.rpartition("/")[2]


def _alive(run: Run) -> Run:
    """A run that says it goes on is lost when its process has ended, or has not said so for long."""
    if run.status != "running" or run.updated_at is None:
        return run
    late = datetime.now(UTC) - datetime.fromisoformat(run.updated_at) >= _LOST
    if not late and (run.owner is None or not _has_ended(run.owner, run.run_id)):
        return run
    return replace(run, status="lost", message=f"its process has not reported since {run.updated_at}")


def _has_ended(owner: str, run_id: str) -> bool:
    return not lease.is_active(run_id) if owner == lease.process_owner() else lease.is_dead(owner)


def previous(graph: Graph, pipeline: str, digest: str | None) -> Run | None:
    """The newest run that has taken in exactly this input."""
    if digest is None:
        return None
    return next((run for run in history(graph, pipeline) if run.status in DONE and run.digest == digest), None)


def _run(name: str, text: str) -> Run:
    try:
        value = json.loads(text)
        return Run(**{**value, "inputs": tuple(Input(**each) for each in value["inputs"])})
    except (ValueError, TypeError, KeyError) as error:
        raise Corrupt(f"{name} is unreadable: {error}") from error


# --- digests ---------------------------------------------------------------------------------------


def inputs_of(pipeline: Pipeline) -> tuple[Input, ...]:
    """Everything a run would read, with digests: files of this machine by content, remote ones by size and time."""
    found: list[Input] = []
    for name, source in described(pipeline.mapping).sources.items():
        match source:
            case FileSource():
                files = source.files()
                found += [Input(name, file.path, file.size, _file_digest(file.path, file.size)) for file in files]
            case SqlSource(sql):
                found.append(Input(name, sql, 0, hashlib.sha256(sql.encode()).hexdigest()))
            case SparkSource():
                found.append(Input(name, source.table or source.path or source.format or name, 0, None))
    return tuple(found)


def digest_of(pipeline: Pipeline, inputs: tuple[Input, ...]) -> str | None:
    """What identifies a run's work: its inputs and every word of its definition; None when an input cannot be known."""
    if any(each.digest is None for each in inputs):
        return None
    whole = hashlib.sha256()
    gates = ";".join(f"{gate.name} {gate.low} {gate.high}" for gate in pipeline.gates)
    for part in (pipeline.name, pipeline.graph, pipeline.mode, pipeline.merge_into or "", pipeline.on_error, gates):
        whole.update(part.encode() + b"\0")
    for path in (pipeline.mapping, *pipeline.checks):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    for each in inputs:
        whole.update(f"{each.source}\0{Path(each.name).name}\0{each.digest}\0".encode())
    return whole.hexdigest()


def _file_digest(path: str, size: int) -> str | None:
    if is_remote(path):
        return hashlib.sha256(f"{path}\0{size}\0{written_at(path)}".encode()).hexdigest()
    whole = hashlib.sha256()
    for name in _members(path):
        with open_input(name) as file:
            while chunk := file.read(_CHUNK):
                checkpoint()
                whole.update(chunk)
    return whole.hexdigest()


def _members(path: str) -> Iterator[str]:
    place = Path(path)
    if not place.is_dir():
        yield path
        return
    yield from sorted(str(file) for file in place.rglob("*") if file.is_file())
