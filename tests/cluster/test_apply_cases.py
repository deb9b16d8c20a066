"""What an apply does, refuses and records: cases 24 to 41, 47 and 48."""

from __future__ import annotations

import json

import pytest
from cluster_desk import CONFIG, FIND, SCHEMA, WIDER, Desk, case, codes, dispositions

import omnigraph as og
from omnigraph.cluster.boot import read_applied
from omnigraph.errors import BootRefused

ALLOW = "    external_blobs: {allow: [{base: 's3://bucket/docs', scope: server_safe}]}\n"


def boot_codes(desk: Desk) -> list[str]:
    with pytest.raises(BootRefused) as refused:
        read_applied(str(desk.place), {})
    return [item.code for item in refused.value.diagnostics]


@case(24)
def test_the_first_apply_creates_everything(desk: Desk, case: str) -> None:
    assert desk.import_state()["ok"]
    report = desk.apply()
    assert report["ok"], report
    assert (report["applied_count"], report["deferred_count"]) == (4, 0)
    assert report["converged"]
    assert report["state_written"]
    assert report["actor"] == "act-ops"
    with desk.graph() as graph:
        assert graph.schema.source == SCHEMA
    digests = desk.validate()["resource_digests"]
    assert desk.blob("query").name == f"{digests['query.knowledge.find_person']}.gq"
    assert desk.blob("policy").read_text() == "version: 1\n"
    assert {address: entry["digest"] for address, entry in desk.resources.items()} == digests
    assert desk.resources["policy.base"]["applies_to"] == ["graph.knowledge"]
    assert not desk.lock_file.exists()
    assert desk.sidecars() == []


@case(25)
def test_applying_again_changes_no_byte(applied: Desk, case: str) -> None:
    before = applied.state_file.read_bytes()
    report = applied.apply()
    assert (report["changes"], report["converged"], report["state_written"]) == ([], True, False)
    assert applied.state_file.read_bytes() == before


@case(26)
def test_an_edited_query_is_a_new_blob_beside_the_old(applied: Desk, case: str) -> None:
    old = applied.blob("query")
    applied.write("find.gq", "// edited\n" + FIND)
    report = applied.apply()
    assert dispositions(report) == {"graph.knowledge": "derived", "query.knowledge.find_person": "applied"}
    assert report["converged"]
    assert old.read_text() == FIND
    assert len(list(old.parent.iterdir())) == 2


@case(27)
def test_a_schema_and_a_query_that_needs_it_arrive_together(applied: Desk, case: str) -> None:
    applied.write("people.pg", WIDER)
    applied.write("find.gq", FIND.replace("$p.age", "$p.city"))
    plan = applied.plan()
    (schema,) = (change for change in plan["changes"] if change["resource"] == "schema.knowledge")
    assert schema["migration"]["supported"] is True
    assert len(schema["migration"]["steps"]) == 1
    affected = next(item["affected"] for item in plan["blast_radius"] if item["resource"] == "schema.knowledge")
    assert affected == ["query.knowledge.find_person"]
    report = applied.apply()
    assert report["converged"], report
    assert applied.sidecars() == []
    with applied.graph() as graph:
        assert graph.schema.source == WIDER
        assert graph.commits.list()[0].actor_id == "act-ops"


@case(28)
def test_an_unsupported_change_leaves_everything_as_it_was(applied: Desk, case: str) -> None:
    applied.write("people.pg", SCHEMA.replace("I32?", "String?"))
    applied.write("cluster.yaml", CONFIG.replace("    queries", ALLOW + "    queries"))
    recorded = applied.resources
    report = applied.apply()
    assert codes(report, "error") == ["schema_apply_failed"]
    assert applied.sidecars() == []
    assert applied.resources == recorded
    assert dispositions(report)["schema.knowledge"] == "blocked: schema_apply_failed"
    assert not report["converged"]


@case(29)
def test_a_second_branch_keeps_its_schema(applied: Desk, case: str) -> None:
    """The contract refuses the change; schema changes and branches live together now (decision 19)."""
    with applied.graph() as graph:
        graph.branches.create("feature")
        before = graph.schema.source
    applied.write("people.pg", WIDER)
    assert applied.apply()["ok"]
    with applied.graph() as graph:
        assert (graph.schema.source, graph.branch("feature").schema.source) == (WIDER, before)


@case(30)
def test_a_graph_is_never_created_over_something_else(desk: Desk, case: str) -> None:
    assert desk.import_state()["ok"]
    junk = desk.write("graphs/knowledge.omni/junk", "mine")
    report = desk.apply()
    assert codes(report, "error") == ["graph_create_failed"]
    assert dispositions(report) == {
        "graph.knowledge": "blocked: graph_create_failed",
        "schema.knowledge": "blocked: dependency_not_applied",
        "query.knowledge.find_person": "blocked: dependency_not_applied",
        "policy.base": "blocked: dependency_not_applied",
    }
    assert len(desk.sidecars()) == 1
    assert junk.read_text() == "mine"
    assert desk.state["resource_statuses"]["graph.knowledge"]["status"] == "blocked"


@case(31)
def test_a_graph_is_not_deleted_without_an_approval(two_graphs: Desk, case: str) -> None:
    two_graphs.write("cluster.yaml", CONFIG)
    assert two_graphs.plan()["approvals_required"] == [
        {"resource": "graph.old", "reason": "deletes the graph and everything stored in it", "satisfied": False}
    ]
    report = two_graphs.apply()
    assert report["ok"]
    assert dispositions(report) == dict.fromkeys(
        ("graph.old", "query.old.find_person", "schema.old"), "blocked: approval_required"
    )
    assert report["deferred_count"] == 3
    assert not report["converged"]
    assert two_graphs.root("old").is_dir()
    assert "graph.old" in two_graphs.resources
    assert two_graphs.state["resource_statuses"]["graph.old"]["conditions"] == ["approval_required"]


@case(32)
def test_an_approval_is_bound_to_what_was_shown(two_graphs: Desk, case: str) -> None:
    before = two_graphs.resources["graph.old"]["digest"]
    two_graphs.write("cluster.yaml", CONFIG)
    report = two_graphs.approve("graph.old")
    assert report["ok"]
    assert (report["operation"], report["approved_by"]) == ("delete", "act-boss")
    (artifact,) = two_graphs.approvals()
    assert artifact["approval_id"] == report["approval_id"]
    assert artifact["bound_before_digest"] == before
    assert artifact["bound_after_digest"] is None
    assert artifact["bound_config_digest"] == two_graphs.plan()["desired_revision"]["config_digest"]
    assert codes(two_graphs.approve("query.old.find_person")) == ["approval_not_required"]
    assert len(two_graphs.approvals()) == 1
    assert two_graphs.plan()["approvals_required"][0]["satisfied"] is True


@case(33)
def test_an_approval_of_something_else_is_stale(two_graphs: Desk, case: str) -> None:
    two_graphs.write("cluster.yaml", CONFIG)
    assert two_graphs.approve("graph.old")["ok"]
    two_graphs.write("base.yaml", "# edited\nversion: 1\n")
    report = two_graphs.apply()
    assert "approval_stale" in codes(report, "warning")
    assert dispositions(report)["graph.old"] == "blocked: approval_required"
    assert two_graphs.root("old").is_dir()


@case(34)
def test_an_approved_graph_is_deleted_and_leaves_a_tombstone(two_graphs: Desk, case: str) -> None:
    two_graphs.write("cluster.yaml", CONFIG)
    approval = two_graphs.approve("graph.old")["approval_id"]
    report = two_graphs.apply()
    assert report["converged"], report
    assert not two_graphs.root("old").exists()
    assert not [address for address in two_graphs.resources if ".old" in address]
    tombstone = two_graphs.state["observations"]["graph.old"]
    assert (tombstone["kind"], tombstone["approval_id"], tombstone["actor"]) == ("tombstone", approval, "act-ops")
    record = two_graphs.state["approval_records"][approval]
    (artifact,) = two_graphs.approvals()
    assert artifact["consumed_at"] == record["consumed_at"]
    assert artifact["consumed_by_operation"] == record["consumed_by_operation"]
    assert two_graphs.sidecars() == []
    before = two_graphs.state_file.read_bytes()
    assert two_graphs.apply()["state_written"] is False
    assert two_graphs.state_file.read_bytes() == before


@case(35)
def test_a_graph_that_is_being_exported_is_not_deleted(two_graphs: Desk, case: str) -> None:
    two_graphs.write("cluster.yaml", CONFIG)
    assert two_graphs.approve("graph.old")["ok"]
    reports = []

    class Sink:
        def write(self, data: bytes) -> int:
            reports.append(two_graphs.apply())
            return len(data)

    with two_graphs.graph("old") as graph:
        graph.load([{"type": "Person", "data": {"name": "Ada"}}])
        graph.export(Sink())
    assert codes(reports[0], "error") == ["graph_delete_export_in_progress"]
    assert two_graphs.root("old").is_dir()
    assert "graph.old" in two_graphs.resources
    assert two_graphs.apply()["converged"]
    assert not two_graphs.root("old").exists()


@case(36)
def test_a_changed_binding_is_an_update_of_its_own(two_graphs: Desk, case: str) -> None:
    config = (two_graphs.place / "cluster.yaml").read_text()
    two_graphs.write("cluster.yaml", config.replace("[knowledge]", "[knowledge, old]"))
    (change,) = two_graphs.plan()["changes"]
    assert change["before_digest"] == change["after_digest"]
    assert (change["binding_change"], change["metadata_change"]) == (True, "policy_bindings")
    assert two_graphs.apply()["converged"]
    assert two_graphs.resources["policy.base"]["applies_to"] == ["graph.knowledge", "graph.old"]
    assert two_graphs.apply()["changes"] == []


@case(37)
def test_bindings_missing_from_the_ledger_are_filled_in(applied: Desk, case: str) -> None:
    applied.edit_state(lambda state: state["applied_revision"]["resources"]["policy.base"].pop("applies_to"))
    (change,) = applied.plan()["changes"]
    assert (change["resource"], change["binding_change"]) == ("policy.base", True)
    assert boot_codes(applied) == ["policy_bindings_missing"]
    assert applied.apply()["converged"]
    assert read_applied(str(applied.place), {}).graphs[0].policy is not None


@case(38)
def test_a_lost_blob_is_noticed_and_stored_again(applied: Desk, case: str) -> None:
    applied.blob("query").unlink()
    report = applied.status()
    assert report["ok"]
    assert codes(report) == ["catalog_payload_missing"]
    assert applied.refresh()["ok"]
    assert "query.knowledge.find_person" not in applied.resources
    drift = applied.state["resource_statuses"]["query.knowledge.find_person"]
    assert (drift["status"], drift["conditions"]) == ("drifted", ["payload_missing"])
    assert applied.apply()["converged"]
    assert applied.blob("query").read_text() == FIND
    assert codes(applied.status()) == []


@case(39)
def test_a_damaged_blob_is_never_served_and_heals(applied: Desk, case: str) -> None:
    applied.blob("policy").write_bytes(b"\xff\xfe")
    applied.blob("query").write_text(FIND + " ")
    assert sorted(codes(applied.status())) == ["catalog_payload_mismatch"] * 2
    assert boot_codes(applied) == ["catalog_payload_digest_mismatch"] * 2
    assert applied.refresh()["ok"]
    assert applied.apply()["converged"]
    assert applied.blob("query").read_text() == FIND
    assert read_applied(str(applied.place), {}).graphs[0].queries == {"find_person": FIND}


@case(40)
def test_a_lost_graph_is_created_again_empty(applied: Desk, case: str) -> None:
    with applied.graph() as graph:
        graph.load([{"type": "Person", "data": {"name": "Ada"}}])
    assert applied.apply()["changes"] == []
    import shutil

    shutil.rmtree(applied.root())
    assert applied.refresh()["ok"]
    status = applied.state["resource_statuses"]["graph.knowledge"]
    assert (status["status"], status["conditions"]) == ("drifted", ["graph_missing"])
    assert dispositions(applied.plan())["graph.knowledge"] == "applied"
    assert applied.apply()["converged"]
    with applied.graph() as graph:
        assert graph.get("Person", "Ada") is None


@case(41)
def test_a_schema_changed_by_others_is_migrated_back(applied: Desk, case: str) -> None:
    with applied.graph() as graph:
        graph.schema.apply(WIDER)
    assert applied.refresh()["ok"]
    status = applied.state["resource_statuses"]["schema.knowledge"]
    assert (status["status"], status["conditions"]) == ("drifted", ["schema_mismatch"])
    (schema,) = (change for change in applied.plan()["changes"] if change["resource"] == "schema.knowledge")
    assert schema["operation"] == "update"
    assert schema["migration"]["steps"]
    assert applied.apply()["converged"]
    with applied.graph() as graph:
        assert graph.schema.source == SCHEMA


def test_a_comment_in_a_schema_is_no_drift(applied: Desk) -> None:
    applied.write("people.pg", "// the people\n" + SCHEMA)
    assert applied.apply()["converged"]
    assert applied.refresh()["ok"]
    assert applied.state["resource_statuses"]["schema.knowledge"] == {"status": "applied"}
    assert applied.plan()["changes"] == []


@case(47)
def test_a_ledger_edited_by_hand_is_not_signed_again(applied: Desk, case: str) -> None:
    policy = {"mode": "allow", "bases": [{"uri": "s3://elsewhere/x/", "scope": "server_safe"}]}

    def forge(state: object) -> None:
        state["applied_revision"]["resources"]["graph.knowledge"]["external_blob_policy"] = policy  # type: ignore[index]

    applied.edit_state(forge)
    before = applied.state_file.read_bytes()
    assert codes(applied.apply()) == ["external_blob_policy_digest_mismatch"]
    assert codes(applied.refresh()) == ["external_blob_policy_digest_mismatch"]
    assert boot_codes(applied) == ["external_blob_policy_digest_mismatch"]
    assert applied.state_file.read_bytes() == before


@case(48)
def test_an_allow_list_comes_and_goes_without_moving_the_graph(applied: Desk, case: str) -> None:
    def version() -> int:
        with applied.graph() as graph:
            return graph.view().version

    before, moved = applied.resources["graph.knowledge"], version()
    applied.write("cluster.yaml", CONFIG.replace("    queries", ALLOW + "    queries"))
    assert applied.apply()["converged"]
    allowed = applied.resources["graph.knowledge"]
    assert allowed["external_blob_policy"]["bases"] == [{"uri": "s3://bucket/docs/", "scope": "server_safe"}]
    assert allowed["digest"] != before["digest"]
    applied.write("cluster.yaml", CONFIG)
    assert applied.apply()["converged"]
    assert applied.resources["graph.knowledge"] == before
    assert version() == moved


def test_a_source_that_changes_under_the_command_is_not_applied(applied: Desk) -> None:
    from omnigraph.storage.base import failpoints

    applied.write("people.pg", WIDER)
    applied.write("find.gq", "// one\n" + FIND)

    def edit() -> None:
        applied.write("find.gq", "// two\n" + FIND)

    before = applied.state_file.read_bytes()
    with failpoints.armed({"cluster.after_schema_apply": edit}):
        report = applied.apply()
    assert codes(report, "error") == ["resource_content_changed"]
    assert applied.state_file.read_bytes() == before
    report = applied.apply()
    assert "cluster_recovery_rolled_forward" in codes(report)
    assert report["converged"]


def test_a_failure_stops_other_graph_work_but_not_catalog_work(two_graphs: Desk) -> None:
    config = (two_graphs.place / "cluster.yaml").read_text()
    two_graphs.write(
        "cluster.yaml",
        config.replace("schema: people.pg", "schema: bad.pg", 1).replace(
            "old:\n    schema: people.pg", "old:\n    schema: wide.pg"
        ),
    )
    two_graphs.write("bad.pg", SCHEMA.replace("I32?", "String?"))
    two_graphs.write("wide.pg", WIDER)
    two_graphs.write("find.gq", "// edited\n" + FIND)
    report = two_graphs.apply()
    assert codes(report, "error") == ["schema_apply_failed"]
    assert "schema_apply_skipped" in codes(report, "warning")
    assert dispositions(report)["query.knowledge.find_person"] == "blocked: dependency_not_applied"
    with two_graphs.graph("old") as graph:
        assert graph.schema.source == SCHEMA


def test_a_provider_is_recorded_with_its_profile(applied: Desk) -> None:
    config = CONFIG.replace("    queries", "    embedding_provider: default\n    queries")
    applied.write("cluster.yaml", config + "providers: {embedding: {default: {kind: mock, model: m}}}\n")
    report = applied.apply()
    assert report["converged"], report
    entry = applied.resources["provider.embedding.default"]
    assert entry["embedding_profile"] == {"kind": "mock", "model": "m"}
    assert applied.resources["graph.knowledge"]["embedding_provider"] == "provider.embedding.default"
    assert read_applied(str(applied.place), {}).graphs[0].embedding == {"kind": "mock", "model": "m"}
    applied.edit_state(
        lambda s: s["applied_revision"]["resources"]["provider.embedding.default"].pop("embedding_profile")
    )
    assert boot_codes(applied) == ["embedding_provider_profile_missing"]
    (change,) = applied.plan()["changes"]
    assert change["metadata_change"] == "embedding_profile"
    assert applied.apply()["converged"]


def test_opaque_members_of_the_ledger_survive(applied: Desk) -> None:
    applied.edit_state(lambda state: state["observations"].update(other={"anything": [1, {"a": None}]}))
    applied.write("base.yaml", "# edited\nversion: 1\n")
    assert applied.apply()["converged"]
    assert applied.state["observations"]["other"] == {"anything": [1, {"a": None}]}
    assert json.loads(applied.state_file.read_text()) == applied.state


def test_graphs_of_a_cluster_are_plain_graphs(applied: Desk) -> None:
    with og.open(applied.root(), actor="act-ada") as graph:
        graph.load([{"type": "Person", "data": {"name": "Ada"}}])
    assert applied.refresh()["ok"]
    assert applied.plan()["changes"] == []
