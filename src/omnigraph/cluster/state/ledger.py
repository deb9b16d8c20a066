"""The ledger `state.json`: what was applied. It is the only thing servers boot from, and is replaced by comparison."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.cluster import addresses
from omnigraph.cluster.state.digests import graph_digest
from omnigraph.cluster.state.records import MAPPING, NUMBER, TEXT, Malformed, check_members, check_version, parse_object
from omnigraph.cluster.state.stored import to_text
from omnigraph.errors import BadRequest
from omnigraph.policy.external_blobs import ExternalBlobPolicy, parse_policy

STATUSES = ("pending", "planned", "applying", "applied", "drifted", "blocked", "error")
_OPTIONAL = {
    "embedding_provider": TEXT,
    "external_blob_policy": MAPPING,
    "applies_to": (list,),
    "embedding_profile": MAPPING,
}
_KIND_MEMBERS = {
    "graph": ("embedding_provider", "external_blob_policy"),
    "policy": ("applies_to",),
    "embedding_provider": ("embedding_profile",),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One applied resource; the optional members belong to one kind each."""

    digest: str
    embedding_provider: str | None = None
    external_blob_policy: ExternalBlobPolicy | None = None
    applies_to: tuple[str, ...] | None = None
    embedding_profile: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        blobs = self.external_blob_policy
        members: dict[str, Any] = {
            "digest": self.digest,
            "embedding_provider": self.embedding_provider,
            "external_blob_policy": None if blobs is None else blobs.to_json(),
            "applies_to": None if self.applies_to is None else list(self.applies_to),
            "embedding_profile": None if self.embedding_profile is None else dict(self.embedding_profile),
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Status:
    """How a resource fares."""

    status: str
    conditions: tuple[str, ...] = ()
    message: str | None = None

    def to_json(self) -> dict[str, Any]:
        result: dict[str, Any] = {"status": self.status}
        if self.conditions:
            result["conditions"] = list(self.conditions)
        if self.message is not None:
            result["message"] = self.message
        return result


APPLIED = Status("applied")


@dataclass(slots=True)
class Ledger:
    """The content of `state.json`; a command changes it in memory and writes it once."""

    revision: int = 0
    config_digest: str = ""
    resources: dict[str, Entry] = field(default_factory=dict)
    statuses: dict[str, Status] = field(default_factory=dict)
    approval_records: dict[str, Any] = field(default_factory=dict)
    recovery_records: dict[str, Any] = field(default_factory=dict)
    observations: dict[str, Any] = field(default_factory=dict)

    def graphs(self) -> list[str]:
        """The ids of applied graphs, sorted."""
        return sorted(addresses.name_of(a) for a in self.resources if addresses.kind_of(a) == "graph")

    def queries(self, graph_id: str) -> dict[str, str]:
        """Names and digests of the applied queries of a graph."""
        prefix = addresses.query(graph_id, "")
        return {a[len(prefix) :]: entry.digest for a, entry in self.resources.items() if a.startswith(prefix)}

    def composite(self, graph_id: str) -> str:
        """The digest that a graph's entry must have, from the ledger's own parts."""
        entry = self.resources[addresses.graph(graph_id)]
        schema = self.resources.get(addresses.schema(graph_id))
        provider = None
        if entry.embedding_provider is not None:
            known = self.resources.get(entry.embedding_provider)
            provider = (entry.embedding_provider, known.digest if known else "")
        return graph_digest(
            graph_id, schema.digest if schema else "", self.queries(graph_id), provider, entry.external_blob_policy
        )

    def forged_graphs(self) -> list[str]:
        """Graphs whose recorded digest does not follow from their parts: somebody edited the ledger by hand."""
        return [g for g in self.graphs() if self.resources[addresses.graph(g)].digest != self.composite(g)]

    def statuses_json(self) -> dict[str, Any]:
        return {address: self.statuses[address].to_json() for address in sorted(self.statuses)}

    def digests_json(self) -> dict[str, str]:
        return {address: self.resources[address].digest for address in sorted(self.resources)}

    def to_json(self) -> dict[str, Any]:
        resources = {address: self.resources[address].to_json() for address in sorted(self.resources)}
        return {
            "version": 1,
            "state_revision": self.revision,
            "applied_revision": {"config_digest": self.config_digest, "resources": resources},
            "resource_statuses": self.statuses_json(),
            "approval_records": _sorted(self.approval_records),
            "recovery_records": _sorted(self.recovery_records),
            "observations": _sorted(self.observations),
        }

    def to_text(self) -> str:
        return to_text(self.to_json())


def parse_ledger(text: str) -> Ledger:
    """A ledger from its text; Malformed when any member is not known."""
    document = parse_object(text)
    check_version(document)
    maps = ("resource_statuses", "approval_records", "recovery_records", "observations")
    optional = {"state_revision": NUMBER, **dict.fromkeys(maps, MAPPING)}
    check_members(document, {"version": NUMBER, "applied_revision": MAPPING}, optional, "the ledger")
    applied = document["applied_revision"]
    check_members(applied, {}, {"config_digest": (str, type(None)), "resources": MAPPING}, "applied_revision")
    return Ledger(
        document.get("state_revision", 0),
        applied.get("config_digest") or "",
        {address: _entry(address, value) for address, value in applied.get("resources", {}).items()},
        {address: _status(address, value) for address, value in document.get("resource_statuses", {}).items()},
        document.get("approval_records", {}),
        document.get("recovery_records", {}),
        document.get("observations", {}),
    )


def state_cas(text: str) -> str:
    """What a command remembers of the bytes it read."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _entry(address: str, value: Any) -> Entry:
    allowed = {name: _OPTIONAL[name] for name in _KIND_MEMBERS.get(addresses.kind_of(address), ())}
    check_members(value, {"digest": TEXT}, allowed, f"resource '{address}'")
    applies_to = value.get("applies_to")
    profile = value.get("embedding_profile")
    if not _all_text(applies_to or ()) or not _all_text((profile or {}).values()):
        raise Malformed(f"resource '{address}' holds something else than text")
    try:
        blobs = parse_policy(value.get("external_blob_policy"))
    except BadRequest as error:
        raise Malformed(f"resource '{address}': {error}") from error
    bound = None if applies_to is None else tuple(applies_to)
    return Entry(value["digest"], value.get("embedding_provider"), blobs, bound, profile)


def _status(address: str, value: Any) -> Status:
    optional = {"conditions": (list,), "message": (str, type(None))}
    check_members(value, {"status": TEXT}, optional, f"the status of '{address}'")
    if value["status"] not in STATUSES or not _all_text(value.get("conditions", ())):
        raise Malformed(f"the status of '{address}' is none of {', '.join(STATUSES)}")
    return Status(value["status"], tuple(value.get("conditions", ())), value.get("message"))


def _all_text(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _sorted(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {key: mapping[key] for key in sorted(mapping)}
