"""What a server serves: the applied revision, read once, read-only, with every byte checked against its digest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from omnigraph.cluster import addresses
from omnigraph.cluster.declaration.document import FILE_NAME, load_config, storage_root
from omnigraph.cluster.diagnostics import Diagnostic, Diagnostics, Stopped
from omnigraph.cluster.state import stored
from omnigraph.cluster.state.digests import content_digest, provider_digest
from omnigraph.cluster.state.ledger import Ledger, parse_ledger, state_cas
from omnigraph.cluster.state.records import Malformed
from omnigraph.cluster.state.sidecars import Unusable, read_sidecars
from omnigraph.cluster.state.stored import Stored, open_stored
from omnigraph.errors import BadRequest, BootRefused, Corrupt, PolicyInvalid, StorageError
from omnigraph.policy.bundle import Bundle, parse_bundle
from omnigraph.policy.external_blobs import ExternalBlobPolicy


@dataclass(frozen=True, slots=True)
class AppliedGraph:
    """One applied graph; with a `quarantined` reason it must not be served.

    `pending` is the reason that passes by itself: an operation of the control plane has not ended yet.
    """

    id: str
    uri: str
    queries: Mapping[str, str]
    policy: Bundle | None = None
    policy_name: str | None = None
    policy_problem: str | None = None
    embedding: Mapping[str, str] | None = None
    external_blobs: ExternalBlobPolicy | None = None
    quarantined: str | None = None
    pending: bool = False


@dataclass(frozen=True, slots=True)
class AppliedCluster:
    """The applied revision; `tag` changes exactly when the ledger does."""

    root: str
    graphs: tuple[AppliedGraph, ...]
    server_policy: Bundle | None
    server_policy_name: str | None
    revision: int
    tag: str
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def has_policy(self) -> bool:
        """Whether any bundle is applied, even one that a graph cannot be served under."""
        return self.server_policy is not None or any(graph.policy_name is not None for graph in self.graphs)


def read_applied(root: str, environ: Mapping[str, str] | None = None) -> AppliedCluster:
    """The applied revision of a cluster, by its directory or storage root; BootRefused when it cannot be served.

    Takes no lock, repairs nothing and never looks at declared sources. `environ` is where `${NAME}` secrets of
    embedding providers are looked up; a graph whose secret is missing is quarantined.
    """
    found = Diagnostics()
    try:
        place = open_cluster(root, found)
        return _Boot(place, found, os.environ if environ is None else environ).read()
    except Stopped:
        raise BootRefused(root, found.found) from None


def open_cluster(root: str, found: Diagnostics) -> Stored:
    """The storage behind a directory or a storage root."""
    uri = root
    if "://" not in root:
        directory = Path(root)
        uri = str(directory.resolve())
        if (directory / FILE_NAME).exists():
            config = load_config(directory, found)
            uri = storage_root(config, directory, found)
            if not found.ok:
                raise Stopped
    try:
        return open_stored(uri)
    except (BadRequest, StorageError) as error:
        raise found.stop("storage_root_invalid", uri, error.message) from error


def read_ledger(place: Stored, found: Diagnostics) -> tuple[Ledger, str] | None:
    """The ledger with its tag, or None when there is none; Stopped when it cannot be read."""
    path = place.shown(stored.STATE)
    try:
        text = place.objects.read_if_exists(stored.STATE)
        return None if text is None else (parse_ledger(text), state_cas(text))
    except Corrupt as error:
        raise found.stop("invalid_state_json", path, error.message) from error
    except StorageError as error:
        raise found.stop("state_read_error", path, error.message) from error
    except Malformed as error:
        code = "unsupported_state_version" if error.unsupported else "invalid_state_json"
        raise found.stop(code, path, str(error)) from error


def applied_graph_uri(root: str, graph_id: str | None = None) -> str:
    """Where one applied graph is, for maintenance: only the ledger is read, so a damaged catalog does not matter."""
    found = Diagnostics()
    try:
        place = open_cluster(root, found)
        read = read_ledger(place, found)
    except Stopped:
        raise BootRefused(root, found.found) from None
    known = read[0].graphs() if read is not None else []
    if graph_id is None:
        if len(known) == 1:
            return place.graph_uri(known[0])
        if not known:
            raise BadRequest(f"the cluster '{root}' has no applied graphs; run `cluster apply`")
        raise BadRequest(f"the cluster '{root}' has {len(known)} graphs ({', '.join(known)}); pass --graph <id>")
    if graph_id not in known:
        applied = ", ".join(known) or "none"
        raise BadRequest(
            f"graph '{graph_id}' is not applied in cluster '{root}' (applied: {applied}); run `cluster apply`",
            code="graph_not_applied",
        )
    return place.graph_uri(graph_id)


def embedded_blob_policy(root: str, graph_id: str) -> ExternalBlobPolicy | None:
    """What blobs of an applied graph may refer to when this process writes it: directories as well, unlike a server."""
    found = Diagnostics()
    try:
        read = read_ledger(open_cluster(root, found), found)
    except Stopped:
        raise BootRefused(root, found.found) from None
    entry = None if read is None else read[0].resources.get(addresses.graph(graph_id))
    if read is None or entry is None:
        return None
    if entry.digest != read[0].composite(graph_id):
        found.error("external_blob_policy_digest_mismatch", addresses.graph(graph_id), "the ledger was edited by hand")
        raise BootRefused(root, found.found)
    return entry.external_blob_policy


@dataclass(frozen=True, slots=True)
class _Boot:
    """One reading of the applied revision."""

    place: Stored
    found: Diagnostics
    environ: Mapping[str, str]

    def read(self) -> AppliedCluster:
        pending = self._pending()
        ledger, tag = self._ledger()
        graphs = [self._graph(ledger, graph_id, graph_id in pending) for graph_id in ledger.graphs()]
        graphs, server = self._with_policies(ledger, graphs)
        if not ledger.graphs():
            self.found.error("cluster_empty", self.place.shown(stored.STATE), "no graph is applied")
        elif all(graph.quarantined for graph in graphs):
            self.found.error("cluster_no_healthy_graphs", self.place.shown(stored.STATE), "every graph is quarantined")
        if not self.found.ok:
            raise Stopped
        name, bundle = server or (None, None)
        warnings = tuple(self.found.found)
        return AppliedCluster(self.place.root.uri, tuple(graphs), bundle, name, ledger.revision, tag, warnings)

    def _pending(self) -> set[str]:
        """Graphs with an unfinished operation; the next `cluster apply` decides about them, never a server."""
        pending = set()
        for name, sidecar in read_sidecars(self.place):
            path = self.place.shown(name)
            if isinstance(sidecar, Unusable):
                self.found.error(sidecar.code, path, sidecar.message)
            elif not sidecar.graph_id:
                self.found.error("cluster_recovery_unattributed", path, "the sidecar names no graph")
            else:
                pending.add(sidecar.graph_id)
                message = f"operation {sidecar.operation_id} is unfinished; run `cluster apply`"
                self.found.warn("cluster_recovery_pending", addresses.graph(sidecar.graph_id), message)
        return pending

    def _ledger(self) -> tuple[Ledger, str]:
        read = read_ledger(self.place, self.found)
        if read is None:
            path = self.place.shown(stored.STATE)
            raise self.found.stop("cluster_state_missing", path, "no state; run `cluster import` and `cluster apply`")
        return read

    def _graph(self, ledger: Ledger, graph_id: str, is_pending: bool) -> AppliedGraph:
        address, uri = addresses.graph(graph_id), self.place.graph_uri(graph_id)
        if is_pending:
            reason = "an operation of the control plane is unfinished"
            return AppliedGraph(graph_id, uri, {}, quarantined=reason, pending=True)
        entry = ledger.resources[address]
        if entry.digest != ledger.composite(graph_id):
            message = "the recorded digest does not follow from the recorded parts"
            self.found.error("external_blob_policy_digest_mismatch", address, message)
        profile = self._profile(ledger, entry.embedding_provider, address)
        queries = {
            name: self._blob(stored.query_blob(graph_id, name, digest), digest, addresses.query(graph_id, name))
            for name, digest in sorted(ledger.queries(graph_id).items())
        }
        resolved, missing = resolve_secret(profile, self.environ)
        unservable = None if addresses.is_servable(graph_id) else f"'{graph_id}' cannot be part of a URL"
        blobs = entry.external_blob_policy
        if unservable or missing:
            self.found.warn("graph_quarantined", address, unservable or missing or "")
        return AppliedGraph(
            graph_id,
            uri,
            {name: text for name, text in queries.items() if text is not None},
            embedding=resolved,
            external_blobs=None if blobs is None else blobs.for_server(),
            quarantined=unservable or missing,
        )

    def _profile(self, ledger: Ledger, provider: str | None, address: str) -> Mapping[str, str] | None:
        if provider is None:
            return None
        entry = ledger.resources.get(provider)
        if entry is None:
            self.found.error("embedding_provider_missing", address, f"'{provider}' is not applied")
            return None
        if entry.embedding_profile is None:
            self.found.error("embedding_provider_profile_missing", provider, "no profile is recorded; apply again")
        elif provider_digest(entry.embedding_profile) != entry.digest:
            self.found.error("embedding_provider_digest_mismatch", provider, "the recorded profile was changed")
        return entry.embedding_profile

    def _blob(self, name: str, digest: str, address: str) -> str | None:
        try:
            text = self.place.objects.read_if_exists(name)
        except Corrupt:
            text = ""  # not text at all, so not what was applied either
        except StorageError as error:
            self.found.error("catalog_payload_read_error", address, error.message)
            return None
        if text is None:
            self.found.error("catalog_payload_missing", address, f"'{self.place.shown(name)}' is gone")
        elif content_digest(text.encode()) != digest:
            message = f"'{self.place.shown(name)}' is not what was applied"
            self.found.error("catalog_payload_digest_mismatch", address, message)
            return None
        return text

    def _with_policies(
        self, ledger: Ledger, graphs: list[AppliedGraph]
    ) -> tuple[list[AppliedGraph], tuple[str, Bundle] | None]:
        bound: dict[str, tuple[str, Bundle | PolicyInvalid]] = {}
        served = {addresses.graph(graph.id) for graph in graphs if graph.quarantined is None} | {addresses.CLUSTER}
        known = {addresses.graph(graph.id) for graph in graphs} | {addresses.CLUSTER}
        for address, entry in sorted(ledger.resources.items()):
            if addresses.kind_of(address) != "policy":
                continue
            if entry.applies_to is None:
                self.found.error("policy_bindings_missing", address, "no bindings are recorded; apply again")
                continue
            for scope in entry.applies_to:
                if scope not in known:
                    self.found.error("dangling_graph_reference", address, f"bound to '{scope}', which is not applied")
            scopes = [scope for scope in entry.applies_to if scope in served]
            name = addresses.name_of(address)
            text = self._blob(stored.policy_blob(name, entry.digest), entry.digest, address) if scopes else None
            if text is None:
                continue
            bundle = _bundle(text, name)
            if isinstance(bundle, PolicyInvalid):
                for scope in scopes:
                    if scope != addresses.CLUSTER:
                        self.found.warn("graph_quarantined", scope, bundle.message)
            for scope in scopes:
                if scope in bound:
                    message = f"'{bound[scope][0]}' and '{name}' are both bound to '{scope}'"
                    self.found.error("duplicate_policy_binding", address, message)
                bound[scope] = (name, bundle)
        return [_governed(graph, bound) for graph in graphs], self._server_policy(bound)

    def _server_policy(self, bound: Mapping[str, tuple[str, Bundle | PolicyInvalid]]) -> tuple[str, Bundle] | None:
        if addresses.CLUSTER not in bound:
            return None
        name, bundle = bound[addresses.CLUSTER]
        if isinstance(bundle, PolicyInvalid):
            self.found.error("policy_invalid", addresses.policy(name), bundle.message)
            return None
        return name, bundle


def resolve_secret(
    profile: Mapping[str, str] | None, environ: Mapping[str, str]
) -> tuple[Mapping[str, str] | None, str | None]:
    """A profile with its `${NAME}` secret filled in, and why that is impossible, if it is."""
    key = None if profile is None else profile.get("api_key")
    if profile is None or key is None:
        return profile, None
    variable = key.removeprefix("${").removesuffix("}")
    secret = environ.get(variable, "").strip()
    if not secret:
        return profile, f"the environment variable {variable} of its embedding provider is not set"
    return {**profile, "api_key": secret}, None


def _bundle(text: str, name: str) -> Bundle | PolicyInvalid:
    try:
        return parse_bundle(text, name)
    except PolicyInvalid as error:
        return error


def _governed(graph: AppliedGraph, bound: Mapping[str, tuple[str, Bundle | PolicyInvalid]]) -> AppliedGraph:
    if addresses.graph(graph.id) not in bound:
        return graph
    name, bundle = bound[addresses.graph(graph.id)]
    if isinstance(bundle, PolicyInvalid):
        return replace(graph, policy_name=name, policy_problem=bundle.message, quarantined=bundle.message)
    return replace(graph, policy=bundle, policy_name=name)
