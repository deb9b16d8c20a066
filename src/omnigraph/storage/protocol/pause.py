"""A pause for writers: an intent without effects that makes the writers of every process wait for a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from omnigraph import host
from omnigraph.ids import new_ulid, now_micros
from omnigraph.storage.base import lease
from omnigraph.storage.base.lease import Heartbeat
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import token_of
from omnigraph.storage.intent.sidecar import Sidecar
from omnigraph.storage.intent.writeset import ManifestDelta
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol import tickets


@contextmanager
def paused_writers(store: Store) -> Iterator[Callable[[], None]]:
    """Keep other writers off main for the block; those that were armed first are waited for.

    One that began earlier may still arm itself within the block, which is given a way to wait for it. Nothing depends
    on the pause: a writer that does not see the intent, or takes it for dead, is as safe as without it.
    """
    since, intent = host.monotonic(), _intent(store)
    with store.gates.branches([None]), lease.active(intent.operation_id):
        sidecar.arm(store.objects, intent)
        ttl = store.settings.lease_ttl_ms
        heartbeat = Heartbeat(lambda: _renew(store, intent), ttl_ms=ttl, since=since).start()
        try:
            _wait_for_older(store, intent)
            yield lambda: _wait_for_older(store, intent)
        finally:
            heartbeat.stop()
            if (
                not heartbeat.lapsed()
            ):  # else a recovery may be at it, which is finished by the process that finds the intent
                sidecar.remove(store.objects, intent.operation_id)


def _intent(store: Store) -> Sidecar:
    return Sidecar(
        operation_id=new_ulid(),
        branch=None,
        actor_id=None,
        writer_kind="Optimize",
        lease=lease.fresh_lease(store.settings.lease_ttl_ms),
        authority=token_of(manifest.load(store.root).state),
        rollback_commit_id=new_ulid(),
        merged_parent_commit_id=None,
        created_at=now_micros(),
        tables=(),
        delta=ManifestDelta(),
    )


def _renew(store: Store, intent: Sidecar) -> None:
    sidecar.renew(store.objects, sidecar.with_lease(intent, lease.fresh_lease(store.settings.lease_ttl_ms)))


def _wait_for_older(store: Store, intent: Sidecar) -> None:
    deadline = host.monotonic() + store.settings.writer_wait_ms / 1_000
    while (older := tickets.older(store, intent, withdraws=False)) is not None:
        tickets.watch(store, older, deadline, intent.branch)
