"""What a server boots from: cases 49, 51 and 53, and what must never be served."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cluster_desk import CONFIG, FIND, Desk, case

from omnigraph.cluster.boot import AppliedCluster, applied_graph_uri, read_applied
from omnigraph.errors import BadRequest, BootRefused


def boot(desk: Desk, **environ: str) -> AppliedCluster:
    return read_applied(str(desk.place), environ)


def refused(desk: Desk) -> list[str]:
    with pytest.raises(BootRefused) as caught:
        boot(desk)
    return [item.code for item in caught.value.diagnostics]


def leave_sidecar(desk: Desk, graph: str) -> None:
    document = {
        "schema_version": 1, "operation_id": "01J00000000000000000000000", "started_at": "2026-01-01T00:00:00Z",
        "actor": None, "kind": "schema_apply", "graph_id": graph, "graph_uri": str(desk.root(graph)),
        "observed_manifest_version": 1, "expected_manifest_version": None, "desired_schema_digest": "x",
        "state_cas_base": None, "approval_id": None,
    }  # fmt: skip
    desk.write("__cluster/recoveries/01J00000000000000000000000.json", json.dumps(document))


@case(49)
def test_only_healthy_applied_graphs_are_served(
    case: str, tmp_path: Path, desk: Desk, two_graphs_template: Desk, applied_template: Desk
) -> None:
    with pytest.raises(BootRefused, match="cluster_state_missing"):
        read_applied(str(tmp_path), {})
    assert desk.import_state()["ok"]
    assert refused(desk) == ["cluster_empty"]
    two = two_graphs_template.copy(tmp_path / "two")
    leave_sidecar(two, "old")
    served = boot(two)
    assert [(graph.id, graph.quarantined is None) for graph in served.graphs] == [("knowledge", True), ("old", False)]
    assert [(item.code, item.path) for item in served.diagnostics] == [("cluster_recovery_pending", "graph.old")]
    only = applied_template.copy(tmp_path / "only")
    leave_sidecar(only, "knowledge")
    assert refused(only) == ["cluster_recovery_pending", "cluster_no_healthy_graphs"]


@case(51)
def test_a_missing_secret_names_the_graph_and_the_variable(desk: Desk, case: str) -> None:
    graph = CONFIG.replace("    queries", "    embedding_provider: default\n    queries")
    provider = "providers: {embedding: {default: {kind: openai, api_key: '${MY_KEY}'}}}\n"
    desk.write("cluster.yaml", graph + provider)
    desk.applied()
    with pytest.raises(BootRefused) as caught:
        boot(desk)
    assert "MY_KEY" in str(caught.value)
    assert "knowledge" in str(caught.value)
    profile = boot(desk, MY_KEY="sk-1").graphs[0].embedding
    assert profile == {"kind": "openai", "api_key": "sk-1"}


@case(53)
def test_a_held_lock_does_not_keep_a_server_from_booting(applied: Desk, case: str) -> None:
    applied.write("__cluster/lock.json", '{"version": 1, "lock_id": "x"}')
    (graph,) = boot(applied).graphs
    assert (graph.id, graph.queries, graph.uri) == ("knowledge", {"find_person": FIND}, str(applied.root()))
    assert applied.lock_file.exists()


def test_booting_reads_the_ledger_and_never_the_sources(applied: Desk) -> None:
    applied.write("find.gq", "this is not applied")
    applied.write("people.pg", "neither is this")
    assert boot(applied).graphs[0].queries == {"find_person": FIND}
    for name in ("cluster.yaml", "find.gq", "people.pg", "base.yaml"):
        (applied.place / name).unlink()
    assert boot(applied).revision == 2


def test_a_broken_declaration_is_not_taken_for_a_root(applied: Desk) -> None:
    applied.write("cluster.yaml", "version: 1\nwat: 1\n")
    assert refused(applied) == ["invalid_cluster_yaml"]


def test_the_tag_changes_exactly_when_the_ledger_does(applied: Desk) -> None:
    before = boot(applied).tag
    assert applied.apply()["state_written"] is False
    assert boot(applied).tag == before
    assert applied.refresh()["ok"]
    assert boot(applied).tag != before


def test_a_policy_of_a_quarantined_graph_is_not_even_read(two_graphs: Desk) -> None:
    leave_sidecar(two_graphs, "knowledge")
    shutil.rmtree(two_graphs.place / "__cluster" / "resources" / "policy")
    served = boot(two_graphs)
    assert [graph.id for graph in served.graphs if graph.quarantined is None] == ["old"]


def test_a_graph_whose_policy_does_not_compile_is_quarantined(two_graphs: Desk) -> None:
    from omnigraph.cluster.state.digests import content_digest

    text = "version: 1\nfuture: 1\n"
    digest = content_digest(text.encode())
    two_graphs.write(f"__cluster/resources/policy/base/{digest}.yaml", text)
    two_graphs.edit_state(lambda s: s["applied_revision"]["resources"]["policy.base"].update(digest=digest))
    served = boot(two_graphs)
    knowledge = next(graph for graph in served.graphs if graph.id == "knowledge")
    assert knowledge.quarantined is not None
    assert "future" in knowledge.quarantined
    assert served.has_policy


def test_an_id_without_a_place_in_a_url_is_quarantined(desk: Desk) -> None:
    desk.write("cluster.yaml", "version: 1\ngraphs: {my_graph: {schema: people.pg}, fine: {schema: people.pg}}\n")
    desk.applied()
    assert {graph.id: graph.quarantined is None for graph in boot(desk).graphs} == {"my_graph": False, "fine": True}


def test_maintenance_finds_a_graph_by_the_ledger_alone(two_graphs: Desk) -> None:
    root = str(two_graphs.place)
    shutil.rmtree(two_graphs.place / "__cluster" / "resources")
    assert applied_graph_uri(root, "old") == str(two_graphs.root("old"))
    with pytest.raises(BadRequest, match=r"2 graphs \(knowledge, old\); pass --graph"):
        applied_graph_uri(root)
    with pytest.raises(BadRequest, match=r"is not applied in cluster .*knowledge, old.*cluster apply") as caught:
        applied_graph_uri(root, "new")
    assert caught.value.code == "graph_not_applied"


def test_an_empty_ledger_has_no_applied_graphs(desk: Desk) -> None:
    assert desk.import_state()["ok"]
    with pytest.raises(BadRequest, match="no applied graphs"):
        applied_graph_uri(str(desk.place))
