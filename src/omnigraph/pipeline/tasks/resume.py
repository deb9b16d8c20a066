"""What a load leaves for another that goes on after it: what it was about to stage, and what became of each split.

The driver writes a plan before the first task, and every task a record of its split after its last part. A later load
of the same input takes over the directory of one that has ended, and stages only splits whose input has changed
or that have no record. Ids that were generated come from the plan, so rows are the same whichever run staged them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.intake.inputs.files import written_at
from omnigraph.engine.values.result import EmbedCounts
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.pipeline.tasks.key_sets import Part
from omnigraph.pipeline.tasks.splits import Source, Split
from omnigraph.pipeline.tasks.stage import Staged, StageJob, record_name
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance.parts import load_directory
from omnigraph.storage.maintenance.load_claims import abandoned, take_claim
from omnigraph.storage.maintenance.strays import has_arrived
from omnigraph.storage.protocol.recovery import sweep

_PLAN = "plan.json"


class LoadArrived(BadRequest):
    """What was interrupted may be in the graph, so going on with it could bring its rows twice."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What decides whether staged rows are those that another load would stage, and what it has to do alike.

    `groups` says how many splits each task had: which small files go together depends on the sizes of all.
    """

    request: str
    schema: str
    first_id: int
    cores: int
    sources: Mapping[str, str]
    groups: Sequence[int]

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "first_id": str(self.first_id)})

    @classmethod
    def from_json(cls, text: str) -> Plan:
        found = json.loads(text)
        return cls(**{**found, "first_id": int(found["first_id"])})


def plan_of(
    job: StageJob, request: LoadRequest, sources: Sequence[Source], cores: int, groups: Sequence[Sequence[Split]]
) -> Plan:
    """The plan of a load that is about to stage its input."""
    states = {source.file.path: _state(source) for source in sources}
    sizes = [len(group) for group in groups]
    return Plan(request_digest(request), job.catalog.ir_hash, job.first_id, cores, states, sizes)


def write_plan(objects: Objects, load_id: str, plan: Plan) -> None:
    """Leave the plan beside what will be staged."""
    objects.write(f"{load_directory(load_id)}/{_PLAN}", plan.to_json())


def request_digest(request: LoadRequest) -> str:
    """A text that is equal for requests that would stage the same rows of the same files."""
    told = [
        request.mode,
        request.type,
        request.edge,
        sorted((request.columns or {}).items()),
        request.on_error,
        request.max_errors,
        request.no_embed,
        None if request.embedder is None else type(request.embedder).__name__,
        request.branch if request.mode == "patch" else None,  # elsewhere staged rows do not depend on stored ones
    ]
    return hashlib.sha256(json.dumps(told, default=str).encode()).hexdigest()


def _state(source: Source) -> str:
    """What changes when a file does, and when it is read as something else."""
    frame = "" if source.frame is None else repr(source.frame)
    return hashlib.sha256(f"{source.file.size}/{written_at(source.file.path)}/{frame}".encode()).hexdigest()


# --- taking over -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Resumed:
    """The directory of an earlier load, and its plan."""

    load_id: str
    plan: Plan


def take_over(store: Store, request: LoadRequest) -> Resumed | None:
    """Claim what an interrupted load of the same kind has left; None when there is nothing to go on with.

    Of several that try one succeeds. A load that had begun to change tables when it was interrupted is refused: its
    rows may be in the graph, and would come twice.
    """
    left = [(load_id, plan) for load_id in abandoned(store) if (plan := _plan(store.objects, load_id)) is not None]
    for load_id, plan in reversed(left):
        if plan.request != request_digest(request):
            continue
        sweep(store, eager_restore=False)  # what it had armed is decided first
        if has_arrived(store, load_id):
            raise LoadArrived(
                "the load that was interrupted had begun to change tables, so its rows may be in the graph already; "
                "look, and load without resume if they are not"
            )
        if take_claim(store, load_id):
            return Resumed(load_id, plan)
    return None


def _plan(objects: Objects, load_id: str) -> Plan | None:
    text = objects.read_if_exists(f"{load_directory(load_id)}/{_PLAN}")
    try:
        return None if text is None else Plan.from_json(text)
    except (ValueError, TypeError, KeyError):
        return None


def adopted(objects: Objects, resumed: Resumed, now: Plan, groups: Iterable[Sequence[Split]]) -> list[Staged]:
    """The splits that need not be staged again: their group has a record, and its input is what it was."""
    if resumed.plan.schema != now.schema:
        return []
    found: list[Staged] = []
    for group in groups:
        paths = {split.source.file.path for split in group}
        if any(path not in now.sources or resumed.plan.sources.get(path) != now.sources[path] for path in paths):
            continue
        text = objects.read_if_exists(record_name(resumed.load_id, group[0].index))
        staged = [] if text is None else _staged(text, group)
        if all(objects.list_tree(part.location) for each in staged for part in each.parts):
            found += staged
    return found


def _staged(text: str, group: Sequence[Split]) -> list[Staged]:
    """What a record says of the splits of a group; nothing when it is about others."""
    try:
        told: dict[str, Any] = json.loads(text)
        if [each["place"] for each in told["splits"]] != [_place(split) for split in group]:
            return []
        found = [
            Staged(
                split.index,
                each["counted_from"],
                each["lines"],
                each["bytes"],
                embeddings=EmbedCounts(**each["embeddings"]),
            )
            for split, each in zip(group, told["splits"], strict=True)
        ]
        found[0].parts = [_part(part) for part in told["parts"]]
        found[0].referred = told["referred"]
    except (ValueError, TypeError, KeyError, OmnigraphError):
        return []
    return found


def _place(split: Split) -> list[Any]:
    return [split.source.file.path, split.start, split.stop]


def _part(told: dict[str, Any]) -> Part:
    return Part(**{**told, "further": tuple((at, split) for at, split in told["further"])})
