"""`cluster status`, `cluster validate` and `cluster force-unlock`: commands that look at things, or at the lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omnigraph.cluster import addresses
from omnigraph.cluster.declaration.declared import Declared, load_declared, load_storage_only
from omnigraph.cluster.declaration.document import FILE_NAME
from omnigraph.cluster.diagnostics import Stopped
from omnigraph.cluster.plan import warn_pending
from omnigraph.cluster.session import Session, no_observations, open_session
from omnigraph.cluster.state import stored
from omnigraph.cluster.state.lock import read_lock
from omnigraph.cluster.state.payloads import blob_problem
from omnigraph.cluster.state.records import Malformed
from omnigraph.errors import StorageError

_BLOB_CODES = {"payload_missing": "catalog_payload_missing", "payload_mismatch": "catalog_payload_mismatch"}


def validate(config_dir: str | Path) -> dict[str, Any]:
    """Check a declaration with everything it refers to; looks at nothing stored."""
    declared = load_declared(Path(config_dir))
    if declared.ok:
        for graph in declared.of_kind("graph"):
            if graph.blobs is None:
                message = "no external_blobs.allow: blobs outside the graph are refused"
                declared.found.warn("external_blob_ingress_default_deny", graph.address, message)
    return {
        "ok": declared.found.ok,
        "config_dir": str(declared.directory),
        "config_file": str(declared.directory / FILE_NAME),
        "resource_digests": declared.digests,
        "resources": [declared.resources[address].to_json() for address in sorted(declared.resources)],
        "dependencies": [{"from": source, "to": target} for source, target in declared.dependencies],
        "diagnostics": declared.found.to_json(),
    }


def status(config_dir: str | Path) -> dict[str, Any]:
    """Report the ledger, the lock, unfinished operations and stored files; changes nothing."""
    declared = load_storage_only(Path(config_dir))
    session: Session | None = None
    try:
        session = open_session(declared)
        _observe_lock(session)
        warn_pending(session)
        if session.read():
            _check_blobs(session)
        else:
            declared.found.warn("state_missing", session.observed.state_path, "no ledger yet; run `cluster import`")
    except Stopped:
        pass
    except StorageError as error:
        declared.found.error("state_read_error", declared.root or str(config_dir), error.message)
    return {"ok": declared.found.ok, "config_dir": str(declared.directory), **ledger_report(declared, session)}


def force_unlock(config_dir: str | Path, lock_id: str) -> dict[str, Any]:
    """Remove the lock of a command that died; it must be the lock that the caller names."""
    declared = load_storage_only(Path(config_dir))
    session: Session | None = None
    removed = False
    try:
        session = open_session(declared)
        _remove_lock(session, lock_id)
        removed = True
    except Stopped:
        pass
    except StorageError as error:
        declared.found.error("state_lock_error", declared.root or str(config_dir), error.message)
    return {
        "ok": declared.found.ok,
        "config_dir": str(declared.directory),
        "state_observations": session.observed.to_json() if session else no_observations(declared),
        "lock_removed": removed,
        "diagnostics": declared.found.to_json(),
    }


def ledger_report(declared: Declared, session: Session | None) -> dict[str, Any]:
    """The members that status, refresh and import share."""
    ledger = session.observed.ledger if session else None
    return {
        "state_observations": session.observed.to_json() if session else no_observations(declared),
        "resource_digests": ledger.digests_json() if ledger else {},
        "resource_statuses": ledger.statuses_json() if ledger else {},
        "observations": ledger.to_json()["observations"] if ledger else {},
        "diagnostics": declared.found.to_json(),
    }


def _observe_lock(session: Session) -> None:
    path = session.observed.lock_path
    try:
        session.observed.foreign = read_lock(session.place)
    except Malformed as error:
        code = "unsupported_state_lock_version" if error.unsupported else "invalid_state_lock"
        session.found.warn(code, path, str(error))
    except StorageError as error:
        session.found.warn("state_lock_read_error", path, error.message)


def _check_blobs(session: Session) -> None:
    for address, entry in sorted(session.ledger.resources.items()):
        if addresses.kind_of(address) not in ("query", "policy"):
            continue
        try:
            problem = blob_problem(session.place, address, entry.digest)
        except StorageError as error:
            session.found.error("catalog_payload_read_error", address, error.message)
            continue
        if problem is not None:
            message = "the stored file is gone or not what was applied; `cluster refresh`, then `cluster apply`"
            session.found.warn(_BLOB_CODES[problem], address, message)


def _remove_lock(session: Session, lock_id: str) -> None:
    path = session.observed.lock_path
    try:
        held = read_lock(session.place)
    except Malformed as error:
        code = "unsupported_state_lock_version" if error.unsupported else "invalid_state_lock"
        raise session.found.stop(code, path, f"{error}; remove the file by hand if you are sure") from error
    if held is None:
        raise session.found.stop("state_lock_missing", path, "there is no lock")
    session.observed.foreign = held
    if held.lock_id != lock_id:
        raise session.found.stop("state_lock_id_mismatch", path, f"the lock is {held.lock_id}, not {lock_id}")
    session.place.objects.delete(stored.LOCK)
