"""What an apply leaves when it is killed, and what the next one makes of it: cases 42, 43, 45 and 46."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from cluster_desk import CONFIG, FIND, SCHEMA, WIDER, Desk, case, codes, dispositions

import omnigraph as og
from omnigraph.cluster.boot import read_applied
from omnigraph.errors import BootRefused
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.cluster_child import apply_and_die

STEPS = sorted(name for name in failpoints.NAMES if name.startswith("cluster."))


def killed(desk: Desk, step: str) -> None:
    """Apply in another process that dies at this step; nobody is left to release its lock."""
    outcome = apply_and_die(desk.place, desk.place.parent, f"{step}=kill")
    assert outcome.exit_code == -signal.SIGKILL
    lock = json.loads(desk.lock_file.read_text())
    assert codes(desk.apply()) == ["state_lock_held"]
    assert desk.force_unlock(lock["lock_id"])["ok"]


@case(42)
def test_a_graph_created_by_a_dead_apply_is_adopted(desk: Desk, case: str) -> None:
    assert desk.import_state()["ok"]
    killed(desk, "cluster.after_graph_create")
    assert len(desk.sidecars()) == 1
    assert "cluster_recovery_pending" in codes(desk.plan(), "warning")
    report = desk.apply()
    assert "cluster_recovery_rolled_forward" in codes(report, "warning")
    assert report["converged"], report
    (record,) = desk.state["recovery_records"].values()
    assert (record["kind"], record["graph_id"], record["outcome"], record["actor"]) == (
        "graph_create",
        "knowledge",
        "rolled_forward",
        "act-child",
    )
    assert desk.sidecars() == []


@case(43)
def test_stored_files_without_a_ledger_mean_nothing(applied: Desk, case: str) -> None:
    applied.write("find.gq", "// edited\n" + FIND)
    before = applied.state_file.read_bytes()
    killed(applied, "cluster.after_payloads")
    assert applied.state_file.read_bytes() == before
    assert read_applied(str(applied.place), {}).graphs[0].queries["find_person"] == FIND
    assert applied.apply()["converged"]


@case(45)
def test_a_graph_deleted_by_a_dead_apply_is_buried_by_the_next(two_graphs: Desk, case: str) -> None:
    two_graphs.write("cluster.yaml", CONFIG)
    approval = two_graphs.approve("graph.old")["approval_id"]
    killed(two_graphs, "cluster.after_graph_delete")
    assert not two_graphs.root("old").exists()
    assert "graph.old" in two_graphs.resources
    report = two_graphs.apply()
    assert report["converged"], report
    assert two_graphs.state["observations"]["graph.old"]["kind"] == "tombstone"
    assert approval in two_graphs.state["approval_records"]
    assert two_graphs.approvals()[0]["consumed_at"] is not None
    assert two_graphs.sidecars() == []


@case(46)
def test_a_half_created_graph_waits_for_a_person(desk: Desk, case: str) -> None:
    assert desk.import_state()["ok"]
    killed(desk, "cluster.before_graph_create")
    desk.write("graphs/knowledge.omni/_schema.pg", "half a graph")
    report = desk.apply()
    assert "graph_create_incomplete" in codes(report, "error")
    assert dispositions(report)["graph.knowledge"] == "blocked: cluster_recovery_pending"
    assert len(desk.sidecars()) == 1
    assert desk.root().exists()
    (desk.root() / "_schema.pg").unlink()
    desk.root().rmdir()
    assert desk.apply()["converged"]


@pytest.mark.parametrize("step", STEPS)
def test_whatever_step_an_apply_dies_at_the_next_one_converges(two_graphs: Desk, step: str) -> None:
    """One apply that creates a graph, changes a schema, stores files and deletes a graph."""
    config = CONFIG.replace("policies:", "  fresh: {schema: people2.pg}\npolicies:")
    two_graphs.write("cluster.yaml", config)
    two_graphs.write("people2.pg", SCHEMA)
    two_graphs.write("people.pg", WIDER)
    two_graphs.write("find.gq", FIND.replace("$p.age", "$p.city"))
    with two_graphs.graph() as graph:
        graph.load([{"type": "Person", "data": {"name": "Ada", "age": 36}}])
    assert two_graphs.approve("graph.old")["ok"]
    revision = two_graphs.state["state_revision"]
    killed(two_graphs, step)
    assert two_graphs.state["state_revision"] == revision
    _still_bootable(two_graphs)
    report = two_graphs.apply()
    assert report["ok"], report
    assert report["converged"], report
    assert two_graphs.sidecars() == []
    assert not two_graphs.root("old").exists()
    assert {graph.id for graph in read_applied(str(two_graphs.place), {}).graphs} == {"knowledge", "fresh"}
    with two_graphs.graph() as graph:
        assert graph.get("Person", "Ada") == {"id": "Ada", "name": "Ada", "age": 36, "city": None}
        assert graph.schema.source == WIDER
    before = two_graphs.state_file.read_bytes()
    assert two_graphs.apply()["changes"] == []
    assert two_graphs.state_file.read_bytes() == before


def _still_bootable(desk: Desk) -> None:
    """A server may start between the crash and the next apply: graphs with unfinished business are left out."""
    pending = {json.loads(path.read_text())["graph_id"] for path in desk.sidecars()}
    if {"knowledge", "old"} <= pending:
        with pytest.raises(BootRefused, match="cluster_no_healthy_graphs"):
            read_applied(str(desk.place), {})
        return
    served = read_applied(str(desk.place), {}).graphs
    assert {graph.id for graph in served if graph.quarantined} == pending & {"knowledge", "old"}


def test_a_raised_step_is_a_diagnostic_and_no_traceback(applied: Desk) -> None:
    applied.write("find.gq", "// edited\n" + FIND)
    with failpoints.armed("cluster.after_payloads=raise"):
        assert codes(applied.apply(), "error") == ["injected_failpoint"]
    assert not applied.lock_file.exists()
    assert applied.apply()["converged"]


def test_refresh_adopts_what_a_dead_apply_did(applied: Desk) -> None:
    applied.write("people.pg", WIDER)
    killed(applied, "cluster.after_schema_apply")
    report = applied.refresh()
    assert report["ok"]
    assert "cluster_recovery_rolled_forward" in codes(report)
    assert applied.sidecars() == []
    assert applied.plan()["changes"] == []


def test_a_schema_that_is_neither_recorded_nor_intended_stays_blocked(applied: Desk) -> None:
    applied.write("people.pg", WIDER)
    killed(applied, "cluster.before_schema_apply")
    with applied.graph() as graph:
        graph.schema.apply(SCHEMA.replace("age: I32?", "age: I32?\n  shoe: I32?"))
    report = applied.apply()
    assert "cluster_recovery_pending" in codes(report, "warning")
    assert dispositions(report)["schema.knowledge"] == "blocked: cluster_recovery_pending"
    assert report["resource_statuses"]["graph.knowledge"]["conditions"] == ["actual_applied_state_pending"]
    assert applied.refresh()["ok"]
    assert len(applied.sidecars()) == 1
    with applied.graph() as graph:
        graph.schema.apply(WIDER)
    assert applied.apply()["converged"]


@pytest.mark.parametrize(
    ("text", "code"),
    [("{", "invalid_recovery_sidecar"), ('{"schema_version": 2}', "unsupported_recovery_sidecar_version")],
)
def test_a_sidecar_that_cannot_be_read_is_left_alone(applied: Desk, text: str, code: str) -> None:
    path = applied.write("__cluster/recoveries/x.json", text)
    for report in (applied.apply(), applied.refresh(), applied.plan(), applied.status()):
        assert report["ok"]
        assert codes(report) == [code]
    assert path.read_text() == text
    with pytest.raises(BootRefused) as refused:
        read_applied(str(applied.place), {})
    assert [(item.code, item.severity) for item in refused.value.diagnostics] == [(code, "error")]


def test_a_retired_create_sidecar_touches_nothing(applied: Desk, tmp_path: Path) -> None:
    other = Desk(tmp_path / "other").declare()
    assert other.import_state()["ok"]
    killed(other, "cluster.before_graph_create")
    assert other.apply()["converged"]
    assert other.sidecars() == []
    assert other.state["recovery_records"] == {}


def test_an_adopted_graph_may_have_left_the_declaration(desk: Desk) -> None:
    assert desk.import_state()["ok"]
    killed(desk, "cluster.after_graph_create")
    desk.write("cluster.yaml", "version: 1\n")
    report = desk.apply()
    assert report["ok"], report
    assert dispositions(report)["graph.knowledge"] == "blocked: approval_required"
    with og.open(desk.root()) as graph:
        assert graph.schema.source == SCHEMA
