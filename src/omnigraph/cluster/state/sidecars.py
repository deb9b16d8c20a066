"""Sidecars of the control plane: the intent of a graph operation, kept until the ledger knows its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from omnigraph.cluster.state.records import (
    MAYBE_NUMBER,
    MAYBE_TEXT,
    NUMBER,
    TEXT,
    Malformed,
    check_members,
    check_version,
    parse_object,
)
from omnigraph.cluster.state.stored import RECOVERIES, Stored, to_text
from omnigraph.errors import StorageError

Kind = Literal["graph_create", "schema_apply", "graph_delete"]
_KINDS = ("graph_create", "schema_apply", "graph_delete")
_MEMBERS = {
    "schema_version": NUMBER,
    "operation_id": TEXT,
    "started_at": TEXT,
    "actor": MAYBE_TEXT,
    "kind": TEXT,
    "graph_id": TEXT,
    "graph_uri": TEXT,
    "observed_manifest_version": MAYBE_NUMBER,
    "expected_manifest_version": MAYBE_NUMBER,
    "desired_schema_digest": TEXT,
    "state_cas_base": MAYBE_TEXT,
    "approval_id": MAYBE_TEXT,
}


@dataclass(frozen=True, slots=True)
class Sidecar:
    """One operation in flight."""

    operation_id: str
    started_at: str
    actor: str | None
    kind: Kind
    graph_id: str
    graph_uri: str
    observed_manifest_version: int | None
    expected_manifest_version: int | None
    desired_schema_digest: str
    state_cas_base: str | None
    approval_id: str | None = None

    @property
    def name(self) -> str:
        return f"{RECOVERIES}/{self.operation_id}.json"


@dataclass(frozen=True, slots=True)
class Unusable:
    """A sidecar that cannot be acted upon, with the code that says why."""

    name: str
    code: str
    message: str


def write_sidecar(stored: Stored, sidecar: Sidecar) -> None:
    """Make an intent, or what is known of its outcome, durable."""
    stored.objects.write(sidecar.name, to_text({"schema_version": 1, **asdict(sidecar)}))


def read_sidecars(stored: Stored) -> Iterator[tuple[str, Sidecar | Unusable]]:
    """Every sidecar by name; those that cannot be read are told apart, never skipped."""
    for name in stored.documents(RECOVERIES):
        try:
            text = stored.objects.read_if_exists(name)
        except StorageError as error:
            yield name, Unusable(name, "recovery_sidecar_read_error", error.message)
            continue
        if text is not None:  # else somebody retired it between the listing and now
            yield name, _parsed(name, text)


def _parsed(name: str, text: str) -> Sidecar | Unusable:
    try:
        document = parse_object(text)
        check_version(document, "schema_version")
        check_members(document, _MEMBERS, where="the sidecar")
        if document["kind"] not in _KINDS:
            raise Malformed(f"unknown kind '{document['kind']}'")
    except Malformed as error:
        code = "unsupported_recovery_sidecar_version" if error.unsupported else "invalid_recovery_sidecar"
        return Unusable(name, code, str(error))
    del document["schema_version"]
    return Sidecar(**document)
