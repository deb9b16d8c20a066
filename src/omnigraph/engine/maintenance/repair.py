"""`repair`: look at versions that were not published, and publish those that are wanted."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from omnigraph.display import Displayed
from omnigraph.engine.maintenance.optimize import in_parallel
from omnigraph.engine.views.core import Core
from omnigraph.errors import BadRequest, OmnigraphError, ReadSetChanged
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import ManifestDelta, WriteSet
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.maintenance.drift import drift_of, newest_of
from omnigraph.storage.manifest.rows import VersionRow
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.storage.protocol.commit import commit
from omnigraph.storage.protocol.quiesce import require_clean
from omnigraph.storage.protocol.recovery import version_row

Classification = Literal["no_drift", "verified_maintenance", "suspicious", "unverifiable"]
Action = Literal["no_op", "preview", "healed", "refused", "forced"]

ACTOR = "omnigraph:repair"
FORCED_ACTOR = "omnigraph:repair:force"
_RESERVE = "ReserveFragments"
_MAINTENANCE = frozenset({"Rewrite", _RESERVE})


@dataclass(frozen=True, slots=True, repr=False)
class DatasetRepair(Displayed):
    """One table: its published and newest versions, what happened in between, and what was done about it."""

    type_key: str
    published_dataset_version: int
    lance_head_version: int
    classification: Classification
    action: Action
    operations: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class RepairReport(Displayed):
    """Every table of main; `graph_manifest_version` is that of the commit, None when nothing was published."""

    confirm: bool
    force: bool
    graph_manifest_version: int | None
    datasets: tuple[DatasetRepair, ...]

    @property
    def refused(self) -> tuple[DatasetRepair, ...]:
        """Drift that only `force` would publish."""
        return tuple(each for each in self.datasets if each.action == "refused")

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return {**asdict(self), "datasets": [asdict(each) for each in self.datasets]}


def repair(core: Core, *, confirm: bool = False, force: bool = False, message: str | None = None) -> RepairReport:
    """Classify the drift of every table; `confirm` publishes what is verified, `force` whatever is there."""
    if force and not confirm:
        raise BadRequest("repair with force publishes unverified drift; it needs confirm as well")
    require_clean(core.store, "repair")
    entries = list(core.state(None).snapshot)
    found = in_parallel(entries, lambda entry: _inspect(core.store, entry))
    datasets = tuple(replace(each, action=_action(each, confirm=confirm, force=force)) for each in found)
    adopted = {each.type_key: each for each in datasets if each.action in ("healed", "forced")}
    version = _publish(core, adopted, message) if adopted else None
    core.tables.clear()
    return RepairReport(confirm, force, version, datasets)


def _action(found: DatasetRepair, *, confirm: bool, force: bool) -> Action:
    if found.classification == "no_drift":
        return "no_op"
    if not confirm:
        return "preview"
    if found.classification == "verified_maintenance":
        return "healed"
    return "forced" if force else "refused"


def _inspect(store: Store, entry: TableEntry) -> DatasetRepair:
    newest = drift_of(store, entry)
    if newest is None:
        head = newest_of(store, entry).version
        return DatasetRepair(entry.table_key, entry.version, head, "no_drift", "no_op")
    result = DatasetRepair(entry.table_key, entry.version, newest.version, "no_drift", "no_op")
    operations: list[str] = []
    for version in range(entry.version + 1, newest.version + 1):
        try:
            name = _operation(newest, version)
        except OmnigraphError as error:
            reason = f"version {version}: {error}"
            return replace(result, classification="unverifiable", operations=tuple(operations), error=reason)
        operations.append(name)
    kind: Classification = "verified_maintenance" if _MAINTENANCE.issuperset(operations) else "suspicious"
    return replace(result, classification=kind, operations=tuple(operations))


def _operation(newest: TableHandle, version: int) -> str:
    info = newest.transaction(version)
    if info is None:
        raise BadRequest("its operation record is missing")
    if not info.is_unmapped:
        return info.operation
    # pylance has no name for the reservation of fragment ids; it is told by changing nothing at all.
    return _RESERVE if tables.preserves_content(newest.address, info) else "Unknown"


def _publish(core: Core, adopted: dict[str, DatasetRepair], message: str | None) -> int:
    def prepare(txn: Txn) -> WriteSet:
        pointers = tuple(_pointer(core.store, txn.snapshot.entry(key), each) for key, each in adopted.items())
        forced = any(each.action == "forced" for each in adopted.values())
        return WriteSet(
            writer_kind="Optimize",
            delta=ManifestDelta(pointers=pointers),
            actor_id=FORCED_ACTOR if forced else ACTOR,
            kind="recovery",
            message=message or f"repair {', '.join(sorted(adopted))}",
        )

    return commit(core.store, None, prepare).state.version


def _pointer(store: Store, entry: TableEntry, seen: DatasetRepair) -> VersionRow:
    newest = newest_of(store, entry)
    if (entry.version, newest.version) != (seen.published_dataset_version, seen.lance_head_version):
        raise ReadSetChanged(f"table:{entry.table_key}", expected=seen.lance_head_version, actual=newest.version)
    return version_row(store, entry.table_key, newest)
