"""The part of an apply that moves graphs: creates, schema changes, approved deletions, each under its own sidecar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from omnigraph.assembly import open as open_graph
from omnigraph.cluster import addresses
from omnigraph.cluster.changes import DEPENDENCY, Change
from omnigraph.cluster.live import Live, live_state, look_at
from omnigraph.cluster.session import Session, step
from omnigraph.cluster.state.approvals import Approval
from omnigraph.cluster.state.digests import content_digest
from omnigraph.cluster.state.sidecars import Kind, Sidecar, write_sidecar
from omnigraph.cluster.state.stored import graph_name, now
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.views.lifecycle import create_graph
from omnigraph.errors import BadRequest, Conflict, OmnigraphError, ResourceLimitExceeded, StorageError
from omnigraph.ids import new_ulid
from omnigraph.storage.base.store import store_for


@dataclass(slots=True)
class Moves:
    """Moves graphs one after the other; after the first failure only what moves no graph goes on."""

    session: Session
    changes: list[Change]
    actor: str | None
    bindings: Mapping[str, tuple[str, ...]]
    retired: list[str] = field(default_factory=list)
    deleted: list[tuple[str, str, Approval]] = field(default_factory=list)
    failed: bool = False

    def create_graphs(self) -> None:
        for change in self._applied("graph", "create"):
            if self.failed:
                self._skip(change, "graph_create_skipped")
            else:
                self._create(change)

    def apply_schemas(self) -> None:
        for change in self._applied("schema", "update"):
            if self.failed:
                self._skip(change, "schema_apply_skipped")
            else:
                self._apply_schema(change)

    def delete_graphs(self, approvals: Mapping[str, Approval]) -> None:
        for change in self._applied("graph", "delete"):
            if self.failed:
                self._skip(change, "graph_delete_skipped")
            else:
                self._delete(change, approvals[change.resource])

    # --- create ----------------------------------------------------------------------------------

    def _create(self, change: Change) -> None:
        graph_id = addresses.name_of(change.resource)
        desired = self.session.declared.resources[addresses.schema(graph_id)]
        sidecar = self._armed("graph_create", graph_id, desired.digest)
        if sidecar is None:
            self._fail(change, "graph_create_failed")
            return
        step("cluster.before_graph_create", self.session.found)
        data = self._unchanged_source(desired.path, desired.digest, change.resource)
        if data is None:
            self._drop(sidecar)
            self._fail(change, "graph_create_failed")
            return
        try:
            self._require_vacant(graph_id)
            create_graph(sidecar.graph_uri, data.decode(), actor=self.actor)
            live = look_at(sidecar.graph_uri, desired)
        except OmnigraphError as error:
            self.session.found.error("graph_create_failed", change.resource, error.message)
            self._fail(change, "graph_create_failed")
            return
        step("cluster.after_graph_create", self.session.found)
        self._landed(sidecar, live)

    def _require_vacant(self, graph_id: str) -> None:
        """A root with anything in it may belong to somebody; an empty directory does not."""
        if self.session.place.objects.exists(graph_name(graph_id)):
            uri = self.session.place.graph_uri(graph_id)
            raise Conflict(f"'{uri}' is not empty; `cluster refresh` adopts a graph, anything else has to be removed")

    # --- schema ----------------------------------------------------------------------------------

    def _apply_schema(self, change: Change) -> None:
        graph_id = addresses.name_of(change.resource)
        desired = self.session.declared.resources[change.resource]
        try:
            graph = open_graph(self.session.place.graph_uri(graph_id), actor=self.actor)
        except OmnigraphError as error:
            self._schema_failed(change, error)
            return
        with graph:
            data = self._unchanged_source(desired.path, desired.digest, change.resource)
            if data is None:
                self._fail(change, "schema_apply_failed")
                return
            try:
                _require_applicable(graph, data.decode())
                before = live_state(graph, None)
            except OmnigraphError as error:
                self._schema_failed(change, error)
                return
            self._change_schema(change, graph, data.decode(), before)

    def _change_schema(self, change: Change, graph: Graph, text: str, before: Live) -> None:
        graph_id = addresses.name_of(change.resource)
        desired = self.session.declared.resources[change.resource]
        sidecar = self._armed("schema_apply", graph_id, desired.digest, before.version)
        if sidecar is None:
            self._fail(change, "schema_apply_failed")
            return
        step("cluster.before_schema_apply", self.session.found)
        try:
            graph.schema.apply(text)
            live = live_state(graph, desired)
        except OmnigraphError as error:
            self._schema_failed(change, error)
            self._drop_if_nothing_happened(sidecar, graph, before)
            return
        step("cluster.after_schema_apply", self.session.found)
        self._landed(sidecar, live)

    def _drop_if_nothing_happened(self, sidecar: Sidecar, graph: Graph, before: Live) -> None:
        try:
            if live_state(graph, None) == before:
                self._drop(sidecar)
        except OmnigraphError:
            return  # unknown what happened; the next sweep finds out

    def _schema_failed(self, change: Change, error: OmnigraphError) -> None:
        self.session.found.error("schema_apply_failed", change.resource, error.message)
        self._fail(change, "schema_apply_failed")

    # --- delete ----------------------------------------------------------------------------------

    def _delete(self, change: Change, approval: Approval) -> None:
        graph_id = addresses.name_of(change.resource)
        place, found = self.session.place, self.session.found
        lock = export_lock_of(store_for(place.graph_uri(graph_id)))
        try:
            lock.take()
        except ResourceLimitExceeded:
            found.error("graph_delete_export_in_progress", change.resource, "an export is running; try again later")
            self._fail(change, "graph_delete_failed")
            return
        try:
            self._delete_root(change, approval)
        finally:
            lock.give_back()

    def _delete_root(self, change: Change, approval: Approval) -> None:
        graph_id = addresses.name_of(change.resource)
        place, found = self.session.place, self.session.found
        sidecar = self._armed("graph_delete", graph_id, "", approval_id=approval.approval_id)
        if sidecar is None:
            self._fail(change, "graph_delete_failed")
            return
        step("cluster.before_graph_delete", found)
        try:
            place.objects.delete_prefix(graph_name(graph_id))
        except StorageError as error:
            found.error("graph_delete_failed", change.resource, error.message)
            self._fail(change, "graph_delete_failed")
            return
        step("cluster.after_graph_delete", found)
        self.retired.append(sidecar.name)
        self.deleted.append((graph_id, sidecar.operation_id, approval))

    # --- sidecars --------------------------------------------------------------------------------

    def _armed(
        self, kind: Kind, graph_id: str, digest: str, version: int | None = None, approval_id: str | None = None
    ) -> Sidecar | None:
        uri = self.session.place.graph_uri(graph_id)
        cas = self.session.observed.cas
        sidecar = Sidecar(new_ulid(), now(), self.actor, kind, graph_id, uri, version, None, digest, cas, approval_id)
        try:
            write_sidecar(self.session.place, sidecar)
        except StorageError as error:
            self.session.found.error("recovery_sidecar_write_error", addresses.graph(graph_id), error.message)
            return None
        return sidecar

    def _landed(self, sidecar: Sidecar, live: Live) -> None:
        """It happened; the note about the version is a convenience, the schema alone decides in a sweep."""
        self.retired.append(sidecar.name)
        try:
            write_sidecar(self.session.place, replace(sidecar, expected_manifest_version=live.version))
        except StorageError as error:
            address = addresses.graph(sidecar.graph_id)
            self.session.found.warn("recovery_sidecar_write_error", address, error.message)

    def _drop(self, sidecar: Sidecar) -> None:
        try:
            self.session.place.objects.delete(sidecar.name)
        except StorageError as error:
            path = self.session.place.shown(sidecar.name)
            self.session.found.warn("recovery_sidecar_cleanup_failed", path, error.message)

    # --- what a failure means for the others -----------------------------------------------------

    def _applied(self, kind: str, operation: str) -> list[Change]:
        return [each for each in self.changes if each.kind == kind and each.operation == operation and each.is_applied]

    def _unchanged_source(self, path: Path | None, digest: str, address: str) -> bytes | None:
        data = read_source(path)
        if isinstance(data, bytes) and content_digest(data) == digest:
            return data
        reason = data if isinstance(data, str) else "its file changed while the command ran; run it again"
        self.session.found.error("resource_content_changed", address, reason)
        return None

    def _skip(self, change: Change, code: str) -> None:
        self.session.found.warn(code, change.resource, "skipped, because an earlier graph operation failed")
        self._demote(change, DEPENDENCY)

    def _fail(self, change: Change, reason: str) -> None:
        self.failed = True
        self._demote(change, reason)

    def _demote(self, change: Change, reason: str) -> None:
        """The change is blocked, and so is everything that needs its graph."""
        change.demote(reason)
        for other in self.changes:
            if other.graph == change.graph and other.kind in ("graph", "schema", "query"):
                other.demote(DEPENDENCY)
            bound = self.bindings.get(other.resource, ())
            if other.kind == "policy" and other.operation != "delete" and addresses.graph(change.graph or "") in bound:
                other.demote(DEPENDENCY)


def read_source(path: Path | None) -> bytes | str:
    """The bytes of a declared file, or why it cannot be read."""
    try:
        return path.read_bytes() if path is not None else "the resource has no file"
    except OSError as error:
        return f"'{path}' cannot be read: {error.strerror}"


def _require_applicable(graph: Graph, text: str) -> None:
    """Everything that can be known before anything is written: whether the plan is supported."""
    for refused in graph.schema.plan(text).unsupported:
        raise BadRequest(refused.message, code=refused.code)
