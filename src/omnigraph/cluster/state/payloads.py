"""Applied query and policy files: stored under their digest, so that a name never changes its meaning."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.cluster import addresses
from omnigraph.cluster.changes import Change
from omnigraph.cluster.diagnostics import Stopped
from omnigraph.cluster.moves import read_source
from omnigraph.cluster.session import Session
from omnigraph.cluster.state.digests import content_digest
from omnigraph.cluster.state.stored import Stored, policy_blob, query_blob
from omnigraph.errors import Corrupt, StorageError


def write_payloads(session: Session, changes: Iterable[Change]) -> None:
    """Store what applied query and policy changes need; Stopped before the ledger moves when one cannot be stored."""
    before = len(session.found.found)
    for change in changes:
        if change.is_applied and change.operation != "delete" and change.kind in ("query", "policy"):
            _write(session, change)
    if any(item.severity == "error" for item in session.found.found[before:]):
        raise Stopped


def blob_name(address: str, digest: str) -> str:
    """Where the file of a query or policy is stored."""
    if addresses.kind_of(address) == "query":
        return query_blob(addresses.graph_of(address) or "", addresses.name_of(address), digest)
    return policy_blob(addresses.name_of(address), digest)


def blob_problem(place: Stored, address: str, digest: str) -> str | None:
    """`payload_missing` or `payload_mismatch`, or None when the stored file is what was applied."""
    try:
        text = place.objects.read_if_exists(blob_name(address, digest))
    except Corrupt:
        return "payload_mismatch"  # not even text
    if text is None:
        return "payload_missing"
    return None if content_digest(text.encode()) == digest else "payload_mismatch"


def _write(session: Session, change: Change) -> None:
    resource = session.declared.resources[change.resource]
    data = read_source(resource.path)
    if isinstance(data, str) or content_digest(data) != resource.digest:
        reason = data if isinstance(data, str) else "its file changed while the command ran; run it again"
        session.found.error("resource_content_changed", change.resource, reason)
        return
    try:
        # A file of the right name is not enough: one that was damaged heals here.
        if blob_problem(session.place, change.resource, resource.digest) is not None:
            session.place.objects.write(blob_name(change.resource, resource.digest), data.decode())
    except StorageError as error:
        session.found.error("resource_payload_write_error", change.resource, error.message)
