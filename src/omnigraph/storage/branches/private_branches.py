"""Private branches of transactions: refs that no listing shows, each under a lease that says whether its owner lives.

The lease is a file beside the sidecars. It is there before the first file of the branch and goes after the last one, so
a listing of that directory, which every writer makes, names everything that a dead process has left. Names are never
used twice, so nothing has to be sealed and graph control is not needed: an owner that was given up by mistake finds its
branch gone and fails as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field

from omnigraph.errors import BranchNotFound, Corrupt, OmnigraphError, StorageError
from omnigraph.ids import new_ulid
from omnigraph.storage.base import lease
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import MANIFEST, PRIVATE_PREFIX, RECOVERY_DIR, ref_file
from omnigraph.storage.base.lease import Heartbeat, Lease, fresh_lease
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import capture
from omnigraph.storage.intent.control import await_cleanup
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import read_ref, ref_names
from omnigraph.storage.manifest import manifest

SUFFIX = ".transaction"


@dataclass(slots=True)
class PrivateBranch:
    """One private branch that this process owns; others leave it alone while its lease is renewed."""

    store: Store
    transaction_id: str
    branch: str
    _lease: Lease
    _held: ExitStack = field(default_factory=ExitStack, repr=False)
    _heartbeat: Heartbeat | None = field(default=None, repr=False)

    @property
    def is_lost(self) -> bool:
        """Whether another process has given this branch up."""
        return self.store.objects.stat(_path(self.transaction_id)) is None

    def drop(self) -> None:
        """Remove the branch and everything that only it holds."""
        self._stop()
        hit("transaction.pre_drop")
        _remove(self.store, self.transaction_id, self.branch, self._written())

    def _written(self) -> list[str]:
        """The tables that the branch has written to; what a failed write has left besides goes with a cleanup."""
        try:
            snapshot = manifest.load(self.store.root, self.branch).state.snapshot
        except BranchNotFound:
            return []
        except StorageError as error:
            if error.kind != "NotFound":
                raise
            return []  # given up by others, who have removed what the ref stands for
        return sorted(entry.location for entry in snapshot if entry.ref == self.branch)

    def _begin(self) -> None:
        self._held.enter_context(lease.active(self.transaction_id))
        self._heartbeat = Heartbeat(self._renew, ttl_ms=self.store.settings.lease_ttl_ms).start()

    def _renew(self) -> None:
        self._lease = self._lease.renewed()
        if not self.is_lost:
            self.store.objects.write(_path(self.transaction_id), _encode(self.branch, self._lease), durable=False)

    def _stop(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self._held.close()


def open_private(store: Store, source: str | None) -> PrivateBranch:
    """A new private branch at the newest state of a branch (None is main)."""
    transaction_id = new_ulid()
    branch = f"{PRIVATE_PREFIX}{transaction_id}"
    private = PrivateBranch(store, transaction_id, branch, fresh_lease(store.settings.lease_ttl_ms))
    private._begin()
    try:
        store.objects.write_if_absent(_path(transaction_id), _encode(branch, private._lease), durable=False)
        hit("transaction.post_lease")
        # After the announcement: a cleanup that begins later waits until the branch is there and counts it.
        await_cleanup(store)
        captured = capture(store, source).loaded
        trunk = tables.open_table(store.root.manifest(), control=True)
        tables.create_ref(trunk, branch, source=captured.handle.address.ref, version=captured.state.version)
        made = read_ref(store.root.manifest(), branch)
        if made is not None:
            manifest.inherit(captured, made)
        hit("transaction.post_fork")
    except BaseException:
        with suppress(OmnigraphError):
            private.drop()
        raise
    return private


def discard_abandoned(store: Store, transactions: Iterable[str]) -> None:
    """Remove what dead transactions have left; `transactions` are the ids of all that have a lease."""
    for transaction_id in transactions:
        found = _load(store, transaction_id)
        if found is not None and not lease.held(found[1], transaction_id, skew_ms=store.settings.lease_skew_ms):
            _remove(store, transaction_id, found[0], _locations(store))


def discard_unannounced(store: Store) -> None:
    """Remove private branches whose transaction is gone; called under graph control, before branches are counted.

    A transaction that slept while it was given up finishes what it was about to do: the ref that it was making appears
    after its lease has gone.
    """
    refs = [name for name in ref_names(store.root.manifest()) if name.startswith(PRIVATE_PREFIX)]
    known = set(announced(store)) if refs else set()  # asked later: a lease is there before its ref
    for branch in refs:
        transaction_id = branch.removeprefix(PRIVATE_PREFIX)
        if transaction_id not in known:
            _remove(store, transaction_id, branch, _locations(store))


def live_transactions(store: Store) -> dict[str, str]:
    """Private branches of running transactions and the processes that own them; the dead are removed first."""
    discard_abandoned(store, announced(store))
    found = ((transaction_id, _load(store, transaction_id)) for transaction_id in announced(store))
    return {known[0]: known[1].owner for _, known in found if known is not None}


def opening(store: Store) -> str | None:
    """A transaction that is about to make its branch; a count of the branches has to wait for it."""
    for transaction_id in announced(store):
        found = _load(store, transaction_id)
        if found is None or not lease.held(found[1], transaction_id, skew_ms=store.settings.lease_skew_ms):
            continue
        if read_ref(store.root.manifest(), found[0]) is None:
            return transaction_id
    return None


def announced(store: Store) -> list[str]:
    """The ids of all transactions that have a lease, oldest first."""
    names = sorted(store.objects.list_dir(RECOVERY_DIR))
    return [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]


def _locations(store: Store) -> list[str]:
    return sorted({row.location for row in manifest.load(store.root).state.registrations.values()})


def _remove(store: Store, transaction_id: str, branch: str, locations: Iterable[str]) -> None:
    """Authority first, then files, then the operations it left, and last the lease that names all of it."""
    for location in (MANIFEST, *locations):
        store.objects.delete(f"{location}/{ref_file(branch)}")
        store.objects.delete_prefix(f"{location}/tree/{branch}")
        hit("transaction.mid_drop")
    for operation_id in sidecar.pending(store.objects):
        intent = sidecar.load(store.objects, operation_id)
        if intent is not None and intent.branch == branch:
            sidecar.remove(store.objects, operation_id)
    store.objects.delete(_path(transaction_id))


def _load(store: Store, transaction_id: str) -> tuple[str, Lease] | None:
    text = store.objects.read_if_exists(_path(transaction_id))
    if text is None:
        return None
    try:
        body = json.loads(text)
        return str(body["branch"]), Lease(**body["lease"])
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"the lease of transaction {transaction_id} is unreadable: {error}") from error


def _encode(branch: str, held: Lease) -> str:
    return json.dumps({"branch": branch, "lease": asdict(held)})


def _path(transaction_id: str) -> str:
    return f"{RECOVERY_DIR}/{transaction_id}{SUFFIX}"
