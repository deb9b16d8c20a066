"""`cluster refresh` and `cluster import`: write into the ledger what is really there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from omnigraph.cluster import addresses
from omnigraph.cluster.declaration.declared import Resource, load_declared
from omnigraph.cluster.diagnostics import Stopped
from omnigraph.cluster.live import Live, observation
from omnigraph.cluster.session import Session, open_session
from omnigraph.cluster.state.approvals import write_approval
from omnigraph.cluster.state.ledger import APPLIED, Entry, Status
from omnigraph.cluster.state.payloads import blob_problem
from omnigraph.cluster.status import ledger_report
from omnigraph.cluster.sweep import Swept, sweep
from omnigraph.errors import OmnigraphError, StorageError


def refresh(config_dir: str | Path) -> dict[str, Any]:
    """Observe stored files and live graphs, and record how they differ from what was applied."""
    return _command(config_dir, "refresh")


def import_state(config_dir: str | Path) -> dict[str, Any]:
    """Start a ledger from the graphs that are there; queries and policies are applied afterwards."""
    return _command(config_dir, "import")


def _command(config_dir: str | Path, operation: str) -> dict[str, Any]:
    declared = load_declared(Path(config_dir))
    session: Session | None = None
    try:
        session = open_session(declared)
        with session.locked(operation):
            _refresh(session) if operation == "refresh" else _import(session)
    except Stopped:
        pass
    except OmnigraphError as error:
        declared.found.error(f"{operation}_failed", str(config_dir), error.message)
    head = {"ok": declared.found.ok, "operation": operation, "config_dir": str(declared.directory)}
    return {**head, **ledger_report(declared, session)}


def _refresh(session: Session) -> None:
    session.require_state()
    session.require_unforged()
    swept = sweep(session)
    _observe_blobs(session)
    _observe_graphs(session, swept)
    _resign(session)
    if session.write():
        _finish(session, swept)


def _import(session: Session) -> None:
    if session.read():
        message = "there is a ledger already; `cluster refresh` brings it up to date"
        raise session.found.stop("state_already_exists", session.observed.state_path, message)
    swept = sweep(session)
    session.ledger.config_digest = session.declared.digest or ""
    _observe_graphs(session, swept)
    _resign(session)
    if not session.found.ok:
        raise Stopped
    if session.write():
        _finish(session, swept)


def _observe_blobs(session: Session) -> None:
    ledger = session.ledger
    for address, entry in sorted(ledger.resources.items()):
        if addresses.kind_of(address) not in ("query", "policy"):
            continue
        try:
            problem = blob_problem(session.place, address, entry.digest)
        except StorageError as error:
            ledger.statuses[address] = Status("error", ("payload_read_error",), error.message)
            session.found.error("catalog_payload_read_error", address, error.message)
            continue
        if problem is not None:
            # Without its entry the next apply sees a create, and publishes the file again.
            del ledger.resources[address]
            message = "the stored file is gone or not what was applied; the next apply stores it again"
            ledger.statuses[address] = Status("drifted", (problem,), message)


def _observe_graphs(session: Session, swept: Swept) -> None:
    for graph in session.declared.of_kind("graph"):
        graph_id = addresses.name_of(graph.address)
        schema = session.declared.resources.get(addresses.schema(graph_id))
        record, live = observation(session.place, graph_id, schema)
        session.ledger.observations[graph.address] = record
        if graph_id in swept.pending:
            continue  # what is recorded decides whether its operation happened, so it must not move
        if not record["exists"]:
            _missing(session, graph_id)
        elif live is None:
            message = f"the graph does not open: {record['error']}"
            session.ledger.statuses[graph.address] = Status("error", ("graph_observation_error",), message)
            session.found.error("graph_observation_error", graph.address, message)
        else:
            _found(session, graph, graph_id, live, matches=bool(record["schema_matches_desired"]))


def _missing(session: Session, graph_id: str) -> None:
    ledger, was_applied = session.ledger, False
    for address in (addresses.graph(graph_id), addresses.schema(graph_id)):
        was_applied |= ledger.resources.pop(address, None) is not None
    if was_applied:
        message = "nothing is at the graph's root; the next apply creates an empty graph"
        for address in (addresses.graph(graph_id), addresses.schema(graph_id)):
            ledger.statuses[address] = Status("drifted", ("graph_missing",), message)


def _found(session: Session, graph: Resource, graph_id: str, live: Live, *, matches: bool) -> None:
    ledger, schema = session.ledger, addresses.schema(graph_id)
    ledger.resources[schema] = Entry(live.schema_digest)
    if graph.address not in ledger.resources:
        ledger.resources[graph.address] = Entry("")
    drift = Status("drifted", ("schema_mismatch",), "the live schema is not the declared one")
    ledger.statuses[schema] = ledger.statuses[graph.address] = APPLIED if matches else drift


def _resign(session: Session) -> None:
    """Entries came and went, so the composites of graphs follow."""
    for graph_id in session.ledger.graphs():
        entry = session.ledger.resources[addresses.graph(graph_id)]
        session.ledger.resources[addresses.graph(graph_id)] = replace(entry, digest=session.ledger.composite(graph_id))


def _finish(session: Session, swept: Swept) -> None:
    for name in swept.retired:
        session.place.objects.delete(name)
    for approval in swept.consumed:
        write_approval(session.place, approval)
