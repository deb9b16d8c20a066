"""Running loads: each claims its scratch directory with a lease, so that what dead ones left is known and removed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.ids import now_micros
from omnigraph.storage.base import lease
from omnigraph.storage.base.layout import LOADS_DIR
from omnigraph.storage.base.lease import Heartbeat, Lease
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance.parts import discard_load, load_directory
from omnigraph.storage.maintenance.strays import discard_with_strays

_CLAIM = "claim.json"


@contextmanager
def claimed(store: Store, load_id: str) -> Iterator[None]:
    """Hold the scratch directory of a load; it is gone afterwards, and so is what a failed load put into tables."""
    claim = _Claim(store, load_id)
    heartbeat = Heartbeat(claim.renew, ttl_ms=store.settings.control_ttl_ms).start()
    try:
        with lease.active(load_id):
            yield
    except BaseException:
        heartbeat.stop()
        with suppress(OmnigraphError):  # what is in the way of tidying up is not what went wrong
            discard_with_strays(store, load_id)
        raise
    heartbeat.stop()
    discard_load(store.objects, load_id)


def claim_for_others(objects: Objects, load_id: str, ttl_ms: int) -> None:
    """Claim a scratch directory for processes that come and go: it is not renewed, and its time runs out."""
    lasting = Lease(owner=f"nobody/{load_id}", heartbeat_seq=0, heartbeat_at=now_micros(), ttl_ms=ttl_ms)
    objects.write(f"{load_directory(load_id)}/{_CLAIM}", json.dumps(asdict(lasting)))


def discard_abandoned(store: Store) -> list[str]:
    """Remove the scratch directories of loads that no process works on any more, and say which those were.

    Taking a live load for dead costs that load its scratch files, and so the load; never more.
    """
    found = [load_directory(load_id) for load_id in abandoned(store) if discard_with_strays(store, load_id)]
    return [*found, *_discard_empty(store)]


def abandoned(store: Store) -> list[str]:
    """The loads that have left something and that no process works on any more, the oldest first."""
    found = {name.split("/")[1] for name in store.objects.list_tree(LOADS_DIR) if name.count("/") > 1}
    return sorted(load_id for load_id in found if not _is_held(store, load_id))


def _discard_empty(store: Store) -> list[str]:
    """Remove directories without files, which a task that outlives its load makes after those of the load are gone.

    Those of a load that is just beginning are younger than a lease; only a disk has directories.
    """
    root, found = store.root, []
    if root.backing is not None or not root.is_local:
        return []
    newest = time.time() - store.settings.control_ttl_ms / 1_000
    for load_id in _listed(os.path.join(root.uri, LOADS_DIR)):
        tree = list(os.walk(os.path.join(root.uri, LOADS_DIR, load_id), topdown=False))
        with suppress(OSError):  # somebody else removes them, or has put a file there
            if tree and not any(files or os.stat(path).st_mtime > newest for path, _, files in tree):
                for path, *_ in tree:
                    os.rmdir(path)
                found.append(load_directory(load_id))
    return found


def _listed(directory: str) -> list[str]:
    return sorted(os.listdir(directory)) if os.path.isdir(directory) else []


def take_claim(store: Store, load_id: str) -> bool:
    """Claim the directory of an abandoned load; of several processes that try, one succeeds."""
    name = f"{load_directory(load_id)}/{_CLAIM}"
    fresh = json.dumps(asdict(lease.fresh_lease(store.settings.control_ttl_ms)))
    found = store.objects.read_tagged(name)
    if found is None:
        return store.objects.write_if_absent(name, fresh)
    text, tag = found
    held = lease.held(Lease(**json.loads(text)), load_id, skew_ms=store.settings.lease_skew_ms)
    return not held and store.objects.write_if_match(name, fresh, tag)


def require_part(store: Store, load_id: str, location: str) -> None:
    """Refuse to go on with a load that was taken for dead: its parts are gone, and maybe what tables have of them."""
    if not store.objects.list_tree(location):
        told = f"the files of load {load_id} were removed while it stood still; run the load again"
        raise StorageError(told, kind="Transient")


class _Claim:
    """The lease file of one load."""

    def __init__(self, store: Store, load_id: str) -> None:
        self._store = store
        self._name = f"{load_directory(load_id)}/{_CLAIM}"
        self._lease = lease.fresh_lease(store.settings.control_ttl_ms)
        # First of all files in the directory: without a claim it would look abandoned.
        store.objects.write(self._name, json.dumps(asdict(self._lease)))

    def renew(self) -> None:
        self._lease = self._lease.renewed()
        self._store.objects.write(self._name, json.dumps(asdict(self._lease)))


def _is_held(store: Store, load_id: str) -> bool:
    text = store.objects.read_if_exists(f"{load_directory(load_id)}/{_CLAIM}")
    if text is None:
        return False
    return lease.held(Lease(**json.loads(text)), load_id, skew_ms=store.settings.lease_skew_ms)
