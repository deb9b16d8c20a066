"""Hard drops: once a schema change is published, what it dropped is taken off the disk at once."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from omnigraph.compiler.catalog.migrate import Plan
from omnigraph.compiler.catalog.steps import DropProperty, DropType
from omnigraph.engine.views.core import Core
from omnigraph.errors import OmnigraphError
from omnigraph.storage.base.layout import Address
from omnigraph.storage.intent.control import Control, hold_control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import existing_versions
from omnigraph.storage.lance.tables import Landed, TableHandle
from omnigraph.storage.lance.transaction_log import BRANCH, EFFECT, MAINTAIN, OPERATION_ID
from omnigraph.storage.maintenance.checksum_ledger import remove_versions
from omnigraph.storage.maintenance.retention import Needs, needs_of
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.protocol.commit import Committed

_log = logging.getLogger(__name__)


def reclaim_dropped(core: Core, plan: Plan, done: Committed) -> None:
    """Remove the old versions of every table that lost a property or its type for good.

    The change is durable whatever happens here: what cannot be removed now is left to cleanup.
    """
    keys = {_key_of(step): step for step in plan.steps if isinstance(step, DropType | DropProperty)}
    hard = {key: step for key, step in keys.items() if step.mode == "hard" and key in done.state.registrations}
    if not hard or done.commit is None:
        return
    try:
        with hold_control(core.store, "cleanup") as control:
            needs = needs_of(core.store)
            for address in _emptied(core, (key for key, step in hard.items() if isinstance(step, DropType)), done):
                _reclaim(core, address, needs, control)
            for key, step in hard.items():
                if isinstance(step, DropProperty):
                    _reclaim(core, _address(core, done.state, key), needs, control)
    except OmnigraphError as error:
        _log.warning("data dropped by commit %s is still on disk: %s", done.commit.graph_commit_id, error)
    core.tables.clear()
    tables.forget_cached(core.store.root)


def _key_of(step: DropType | DropProperty) -> str:
    return f"{step.type_kind}:{step.name if isinstance(step, DropType) else step.type_name}"


def _address(core: Core, state: ManifestState, key: str) -> Address:
    return core.store.root.table(state.registrations[key].location)


def _emptied(core: Core, keys: Iterable[str], done: Committed) -> Iterable[Address]:
    """Each dropped type's dataset, with an empty version on top: lance never removes a newest version."""
    assert done.commit is not None
    owner = {OPERATION_ID: done.commit.graph_commit_id, BRANCH: "main", EFFECT: MAINTAIN}
    for key in keys:
        newest = tables.open_table(_address(core, done.state, key), control=True)
        staged = tables.stage_overwrite(newest, newest.schema)
        staged.properties = owner
        if isinstance(tables.commit(staged), Landed):
            yield newest.address


def _reclaim(core: Core, address: Address, needs: Needs, control: Control) -> None:
    newest = tables.open_table(address, control=True)
    control.require()
    remove_versions(core.store, newest, _removable(newest, needs))


def _removable(newest: TableHandle, needs: Needs) -> list[int]:
    return sorted(needs.removable(newest.address.location, None, existing_versions(newest), newest.version))
