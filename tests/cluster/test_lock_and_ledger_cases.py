"""Plan, lock, status, import and the ledger: cases 13 to 23 and 44."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from cluster_desk import CONFIG, SCHEMA, Desk, case, codes, dispositions

import omnigraph as og
from omnigraph.cluster.state.lock import Lock, new_lock, take_lock
from omnigraph.cluster.state.stored import open_stored
from omnigraph.storage.base import failpoints


def hold_lock(desk: Desk) -> Lock:
    lock = new_lock("apply")
    assert take_lock(open_stored(str(desk.place)), lock)
    return lock


@case(13)
def test_a_plan_without_a_ledger_creates_everything(desk: Desk, case: str) -> None:
    report = desk.plan()
    assert report["ok"]
    assert {change["operation"] for change in report["changes"]} == {"create"}
    assert set(dispositions(report).values()) == {"applied"}
    seen = report["state_observations"]
    assert seen["state_found"] is False
    assert seen["lock_acquired"] is True
    assert "acquired_lock_id" in seen
    assert not desk.lock_file.exists()
    assert not desk.state_file.exists()


@case(14)
def test_a_minimal_old_ledger_is_understood(desk: Desk, case: str) -> None:
    desk.write("__cluster/state.json", '{"version": 1, "applied_revision": {}}')
    report = desk.plan()
    assert report["ok"]
    assert report["state_observations"]["state_revision"] == 0
    assert report["state_observations"]["state_found"] is True
    assert len(report["changes"]) == 4


@case(15)
def test_a_held_lock_stops_a_plan(desk: Desk, case: str) -> None:
    lock = hold_lock(desk)
    report = desk.plan()
    assert not report["ok"]
    assert codes(report) == ["state_lock_held"]
    assert f"cluster force-unlock {lock.lock_id}" in report["diagnostics"][0]["message"]
    seen = report["state_observations"]
    assert (seen["locked"], seen["lock_id"], seen["lock_operation"]) == (True, lock.lock_id, "apply")
    assert seen["lock_acquired"] is False
    assert json.loads(desk.lock_file.read_text())["lock_id"] == lock.lock_id


@case(16)
def test_the_lock_can_be_turned_off(desk: Desk, case: str) -> None:
    desk.write("cluster.yaml", CONFIG + "state: {lock: false}\n")
    hold_lock(desk)
    report = desk.plan()
    assert report["ok"]
    assert "state_lock_disabled" in codes(report, "warning")
    assert report["state_observations"]["lock_acquired"] is False


@case(17)
def test_another_state_backend_is_refused_everywhere(desk: Desk, case: str) -> None:
    lock = hold_lock(desk)
    desk.write("cluster.yaml", CONFIG + "state: {backend: 's3://bucket/state'}\n")
    assert codes(desk.plan(), "error") == ["unsupported_state_backend"]
    assert codes(desk.force_unlock(lock.lock_id), "error") == ["unsupported_state_backend"]
    assert desk.lock_file.exists()


@case(18)
def test_force_unlock_removes_exactly_the_lock_that_is_named(desk: Desk, case: str) -> None:
    assert codes(desk.force_unlock("x")) == ["state_lock_missing"]
    lock = hold_lock(desk)
    assert codes(desk.force_unlock("x")) == ["state_lock_id_mismatch"]
    assert desk.lock_file.exists()
    desk.lock_file.write_text("{")
    assert codes(desk.force_unlock(lock.lock_id)) == ["invalid_state_lock"]
    desk.lock_file.write_text('{"version": 2}')
    assert codes(desk.force_unlock(lock.lock_id)) == ["unsupported_state_lock_version"]
    assert desk.lock_file.exists()
    desk.lock_file.unlink()
    report = desk.force_unlock(hold_lock(desk).lock_id)
    assert report["ok"]
    assert report["lock_removed"]
    assert not desk.lock_file.exists()


@case(19)
def test_status_reports_a_missing_and_a_broken_ledger(desk: Desk, case: str) -> None:
    report = desk.status()
    assert report["ok"]
    assert codes(report) == ["state_missing"]
    desk.write("__cluster/state.json", "{")
    report = desk.status()
    assert not report["ok"]
    assert codes(report) == ["invalid_state_json"]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ('{"version": 2, "applied_revision": {}}', "unsupported_state_version"),
        ('{"version": 1}', "invalid_state_json"),
        ('{"version": 1, "applied_revision": {}, "wat": 1}', "invalid_state_json"),
        ('{"version": 1, "applied_revision": {"resources": {"schema.a": {"digest": "", "applies_to": []}}}}', "invalid_state_json"),
        ('{"version": 1, "applied_revision": {}, "resource_statuses": {"a": {"status": "fine"}}}', "invalid_state_json"),
        ('{"version": 1, "version": 1, "applied_revision": {}}', "invalid_state_json"),
    ],
)  # fmt: skip
def test_a_ledger_with_something_unknown_in_it_is_refused(desk: Desk, document: str, code: str) -> None:
    desk.write("__cluster/state.json", document)
    for report in (desk.status(), desk.plan(), desk.apply(), desk.refresh()):
        assert codes(report, "error") == [code]


def test_status_reports_a_lock_without_taking_it(applied: Desk) -> None:
    lock = hold_lock(applied)
    seen = applied.status()["state_observations"]
    assert (seen["locked"], seen["lock_id"], seen["lock_acquired"]) == (True, lock.lock_id, False)
    applied.lock_file.write_text("nonsense")
    report = applied.status()
    assert report["ok"]
    assert codes(report) == ["invalid_state_lock"]


@case(20)
def test_import_records_live_graphs(desk: Desk, case: str) -> None:
    og.init(desk.root(), SCHEMA).close()
    report = desk.import_state()
    assert report["ok"], report
    assert report["operation"] == "import"
    assert desk.state["state_revision"] == 1
    digests = desk.validate()["resource_digests"]
    assert desk.resources["schema.knowledge"] == {"digest": digests["schema.knowledge"]}
    observed = desk.state["observations"]["graph.knowledge"]
    assert isinstance(observed["graph_manifest_version"], int)
    assert observed["schema_matches_desired"] is True
    assert not [address for address in desk.resources if address.startswith(("query", "policy"))]
    report = desk.apply()
    assert report["converged"]
    assert dispositions(report)["graph.knowledge"] == "derived"


@case(21)
def test_a_ledger_is_imported_once(applied: Desk, case: str) -> None:
    before = applied.state_file.read_bytes()
    assert codes(applied.import_state()) == ["state_already_exists"]
    assert applied.state_file.read_bytes() == before


@case(22)
def test_import_writes_nothing_when_a_graph_does_not_open(desk: Desk, case: str) -> None:
    desk.write("graphs/knowledge.omni/_schema.pg", "junk")
    assert codes(desk.import_state()) == ["graph_observation_error"]
    assert not desk.state_file.exists()


@case(23)
def test_apply_needs_a_ledger(desk: Desk, case: str) -> None:
    report = desk.apply()
    assert codes(report) == ["state_missing"]
    assert "cluster import" in report["diagnostics"][0]["message"]
    assert not desk.root().exists()
    assert not desk.state_file.exists()


@case(44)
def test_a_ledger_that_moved_meanwhile_is_not_overwritten(applied: Desk, case: str) -> None:
    applied.write("find.gq", "// another version\n" + (applied.place / "find.gq").read_text())

    def interfere() -> None:
        applied.edit_state(lambda state: state.update(state_revision=41))

    with failpoints.armed({"cluster.before_state_write": interfere}):
        report = applied.apply()
    assert codes(report, "error") == ["state_cas_mismatch"]
    assert report["state_written"] is False
    assert report["converged"] is False
    assert report["resource_statuses"]["query.knowledge.find_person"] == {"status": "applied"}
    assert applied.state["state_revision"] == 41


def test_of_several_commands_at_once_only_one_works(applied: Desk) -> None:
    applied.write("base.yaml", "# changed\nversion: 1\n")
    reports = []
    ready = threading.Barrier(6)

    def run() -> None:
        ready.wait()
        reports.append(applied.apply())

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = [report for report in reports if report["state_written"]]
    assert len(written) == 1
    for report in reports:
        assert report["ok"] or codes(report) == ["state_lock_held"]
    assert applied.state["state_revision"] == 3
    assert not applied.lock_file.exists()


def test_the_lock_goes_away_when_a_command_is_interrupted(applied: Desk) -> None:
    applied.write("base.yaml", "# changed\nversion: 1\n")

    def interrupt() -> None:
        raise KeyboardInterrupt

    with failpoints.armed({"cluster.after_payloads": interrupt}), pytest.raises(KeyboardInterrupt):
        applied.apply()
    assert not applied.lock_file.exists()


def test_a_relative_storage_root_is_relative_to_the_declaration(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "config").declare(CONFIG + "storage: ../data\n")
    assert desk.import_state()["state_observations"]["state_path"] == str(tmp_path / "data/__cluster/state.json")
    assert desk.apply()["converged"]
    assert (tmp_path / "data" / "graphs" / "knowledge.omni").is_dir()
