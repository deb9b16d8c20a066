"""The clean state that maintenance asks for: no operation unresolved, none at work."""

from __future__ import annotations

from omnigraph.errors import RecoveryRequired
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.waiting import looks
from omnigraph.storage.branches import private_branches
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import control_is_held
from omnigraph.storage.manifest import manifest


def require_clean(store: Store, what: str) -> None:
    """Return when no sidecar is left; operations at work are waited for, abandoned ones are refused at once."""
    for more in looks(store.settings.writer_wait_ms / 1_000):
        found = _unresolved(store)
        if found is None:
            break
        operation_id, live = found
        if not live or not more:
            raise RecoveryRequired(operation_id, f"{what} needs a clean recovery state")
    for more in looks(store.settings.writer_wait_ms / 1_000):
        transaction = private_branches.opening(store)
        if transaction is None:
            break
        if not more:
            raise RecoveryRequired(transaction, f"{what} waits for a transaction that is being opened")
    _refuse_schema_apply(store, what)


def _unresolved(store: Store) -> tuple[str, bool] | None:
    for operation_id in sidecar.pending(store.objects):
        intent = sidecar.load(store.objects, operation_id)
        if intent is not None:
            return operation_id, sidecar.is_live(intent, skew_ms=store.settings.lease_skew_ms)
    return None


def _refuse_schema_apply(store: Store, what: str) -> None:
    control = manifest.load(store.root).state.control
    holder = None if control is None else control.holder
    if holder is not None and holder.kind == "schema_apply" and control_is_held(store, holder):
        raise RecoveryRequired(holder.operation_id, f"{what} waits for a schema apply in progress")
