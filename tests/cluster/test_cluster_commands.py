"""`cluster …` and `policy …` on the command line: what they print and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cluster_desk import CONFIG, TWO_GRAPHS, Desk

from omnigraph.cluster.state.lock import new_lock, take_lock
from omnigraph.cluster.state.stored import open_stored
from tests.cli_runner import Desk as Shell

P1 = """
version: 1
groups: {team: [ada, bob, root], admins: [root]}
protected_branches: [main]
rules:
  - {id: team-read, allow: {actors: {group: team}, actions: [read], branch_scope: any}}
  - {id: team-write, allow: {actors: {group: team}, actions: [change], branch_scope: unprotected}}
  - {id: admins-merge, allow: {actors: {group: admins}, actions: [branch_delete, branch_merge], target_branch_scope: protected}}
"""
SERVER = "version: 1\ngroups: {admins: [root]}\nrules: [{id: list, allow: {actors: {group: admins}, actions: [graph_list]}}]\n"
CASES = """
version: 1
cases:
  - {id: bob-cannot-touch-main, actor: bob, action: change, branch: main, expect: deny}
  - {id: admin-merges, actor: root, action: branch_merge, branch: feature, target_branch: main, expect: allow}
"""


def case(number: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(f"auth-{number}", id=f"auth-{number}")])


@pytest.fixture
def shell(tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    return Shell(tmp_path, tmp_path, request)


@pytest.fixture(scope="module")
def governed_template(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("governed")).declare(CONFIG)
    desk.write("base.yaml", P1)
    return desk.applied()


@pytest.fixture
def governed(governed_template: Desk, tmp_path: Path) -> Desk:
    """The fixture of the cases under the policy P1, as the directory `config`."""
    return governed_template.copy(tmp_path / "config")


def test_a_whole_deployment_by_hand(desk: Desk, shell: Shell) -> None:
    def run(*args: str) -> tuple[int, list[str]]:
        outcome = shell.run("cluster", *args, "--config", "config")
        assert outcome.stderr == ""
        return outcome.code, outcome.stdout.splitlines()

    code, lines = run("validate")
    assert (code, lines[0]) == (0, "cluster config valid: 4 resource(s), 4 dependency edge(s)")
    assert lines[1].startswith("WARN  external_blob_ingress_default_deny graph.knowledge: ")
    assert run("status")[1][0] == "cluster state missing"
    assert run("import") == (0, ["cluster import: revision 1, 0 resource(s)"])
    assert run("plan")[1] == [
        "cluster plan: 4 change(s), 0 approval gate(s)",
        "Create graph.knowledge [Applied]",
        "Create policy.base [Applied]",
        "Create query.knowledge.find_person [Applied]",
        "Create schema.knowledge [Applied]",
    ]
    assert run("apply")[1][0] == "cluster apply: 4 applied, 0 deferred/blocked"
    assert run("apply") == (0, ["cluster apply: 0 applied, 0 deferred/blocked"])
    assert run("status") == (0, ["cluster state: revision 2, 4 resource(s)"])
    assert run("refresh") == (0, ["cluster refresh: revision 3, 4 resource(s)"])


@pytest.mark.parametrize("case", [pytest.param(64, id="cli-64")])
def test_json_is_the_report_itself(desk: Desk, shell: Shell, case: int) -> None:
    outcome = shell.run("cluster", "status", "--config", "config", "--json")
    assert outcome.code == 0
    assert outcome.json["ok"] is True
    assert outcome.json["state_observations"]["state_found"] is False
    assert [item["code"] for item in outcome.json["diagnostics"]] == ["state_missing"]
    assert outcome.stdout.startswith('{\n  "ok"')


@pytest.mark.parametrize("case", [pytest.param(64, id="cli-64-held-lock")])
def test_a_held_lock_fails_the_plan_and_can_be_forced_open(desk: Desk, shell: Shell, case: int) -> None:
    lock = new_lock("apply")
    assert take_lock(open_stored(str(desk.place)), lock)
    outcome = shell.run("cluster", "plan", "--config", "config", "--json")
    assert (outcome.code, outcome.json["ok"]) == (1, False)
    outcome = shell.run("cluster", "force-unlock", "wrong", "--config", "config")
    assert (outcome.code, outcome.stdout.splitlines()[0]) == (1, "cluster force-unlock: no lock removed")
    outcome = shell.run("cluster", "force-unlock", lock.lock_id, "--config", "config")
    assert (outcome.code, outcome.stdout) == (0, f"cluster force-unlock: removed lock ({lock.lock_id})\n")


def test_an_approval_needs_a_name(two_graphs: Desk, shell: Shell) -> None:
    two_graphs.write("cluster.yaml", CONFIG)
    outcome = shell.run("cluster", "approve", "graph.old", "--config", "config")
    assert outcome.code == 1
    assert all(word in outcome.stderr for word in ("--as", "operator.actor", "config.yaml"))
    shell.config("operator: {actor: act-boss}\n")
    outcome = shell.run("cluster", "approve", "graph.old", "--config", "config")
    assert outcome.stdout.startswith("cluster approve: delete graph.old approved by act-boss (approval 01")
    outcome = shell.run("cluster", "apply", "--config", "config", "--as", "act-ops", "--json")
    assert outcome.json["actor"] == "act-ops"
    assert outcome.json["converged"] is True


@pytest.mark.parametrize(
    ("args", "remedy"),
    [
        (("cluster", "plan", "--store", "x"), "--config <dir>"),
        (("cluster", "plan", "--as", "me"), "--config <dir>"),
        (("policy", "validate", "--server", "x"), "pass --cluster <dir|uri>"),
    ],
)
def test_addressing_that_a_control_command_cannot_use_is_refused(
    shell: Shell, args: tuple[str, ...], remedy: str
) -> None:
    outcome = shell.run(*args)
    assert outcome.code == 1
    assert "is a cluster control command" in outcome.stderr
    assert "does not apply." in outcome.stderr
    assert remedy in outcome.stderr


def test_policy_needs_a_cluster_that_can_be_read(desk: Desk, shell: Shell) -> None:
    assert "needs a cluster" in shell.run("policy", "validate").stderr
    outcome = shell.run("policy", "validate", "--cluster", "config")
    assert outcome.code == 1
    assert "is not servable" in outcome.stderr


def test_policy_validate_compiles_the_applied_bundle(governed: Desk, shell: Shell) -> None:
    governed.write("base.yaml", "this is not applied")
    outcome = shell.run("policy", "validate", "--cluster", "config")
    assert (outcome.code, outcome.stdout) == (0, "policy valid: bundle 'base' [3 actors]\n")
    shell.config(f"profiles: {{c: {{cluster: {governed.place}}}}}\n")
    assert shell.run("policy", "validate", "--profile", "c").stdout == outcome.stdout


@case(46)
def test_policy_test_names_the_case_that_fails(governed: Desk, shell: Shell, case: str) -> None:
    shell.write("cases.yaml", CASES)
    outcome = shell.run("policy", "test", "--cluster", "config", "--tests", "cases.yaml")
    assert (outcome.code, outcome.stdout) == (0, "policy tests passed: 2 cases\n")
    shell.write("cases.yaml", CASES.replace("expect: deny", "expect: allow"))
    outcome = shell.run("policy", "test", "--cluster", "config", "--tests", "cases.yaml")
    assert outcome.code == 1
    assert "bob-cannot-touch-main: expected allow but got deny" in outcome.stderr
    assert "admin-merges" not in outcome.stderr


@pytest.mark.parametrize(
    "text",
    ["version: 2\ncases: []", "version: 1\ncases: [{id: a, actor: b, action: fly, expect: deny}]",
     "version: 1\ncases: [{id: a, actor: b, action: read, expect: maybe}]",
     "version: 1\ncases: [{id: a, actor: ' ', action: read, expect: deny}]",
     "version: 1\ncases: [{id: a, actor: b, action: read, expects: deny}]",
     "version: 1\ncases: [{id: a, actor: b, action: read, expect: deny}, {id: a, actor: b, action: read, expect: deny}]"],
)  # fmt: skip
def test_a_test_file_is_read_strictly(governed: Desk, shell: Shell, text: str) -> None:
    shell.write("cases.yaml", text)
    outcome = shell.run("policy", "test", "--cluster", "config", "--tests", "cases.yaml")
    assert outcome.code == 1
    assert outcome.stdout == ""
    assert "cases.yaml" in outcome.stderr or "none of the actions" in outcome.stderr


@case(47)
def test_policy_explain_names_the_rule(governed: Desk, shell: Shell, case: str) -> None:
    ask = ("policy", "explain", "--cluster", "config", "--actor", "bob", "--action", "change", "--branch")
    assert shell.run(*ask, "feature").stdout.splitlines() == [
        "decision: allow",
        "actor: bob",
        "action: change",
        "branch: feature",
        "matched_rule: team-write",
        "message: policy allowed action 'change' for actor 'bob'",
    ]
    denied = shell.run(*ask, "main", "--graph", "knowledge")
    assert denied.code == 0
    assert denied.stdout.splitlines()[0] == "decision: deny"
    assert "matched_rule" not in denied.stdout


def test_the_bundle_is_chosen_by_graph_or_by_scope(tmp_path: Path, shell: Shell) -> None:
    desk = Desk(tmp_path / "config").declare(TWO_GRAPHS + "  gate: {file: gate.yaml, applies_to: [cluster]}\n")
    desk.write("gate.yaml", SERVER)
    desk.write("base.yaml", P1)
    desk.applied()
    run = ("policy", "validate", "--cluster", "config")
    assert shell.run(*run, "--graph", "knowledge").stdout == "policy valid: bundle 'base' [3 actors]\n"
    assert shell.run(*run, "--scope", "cluster").stdout == "policy valid: bundle 'gate' [1 actors]\n"
    several = shell.run(*run)
    assert several.code == 1
    assert "base (graph.knowledge), gate (cluster)" in several.stderr
    assert "graph.old" in shell.run(*run, "--graph", "old").stderr
    assert shell.run(*run, "--graph", "old", "--scope", "cluster").code == 1


def test_stored_queries_are_listed_and_checked(applied: Desk, shell: Shell) -> None:
    listed = shell.run("queries", "list", "--cluster", "config")
    assert listed.stdout == "read  find_person($name: String) [mcp: find_person]\n"
    (query,) = shell.run("queries", "list", "--cluster", "config", "--json").json["queries"]
    assert query == {
        "name": "find_person",
        "mcp_expose": True,
        "tool_name": None,
        "mutation": False,
        "params": [{"name": "name", "type": "String", "nullable": False}],
    }
    checked = shell.run("queries", "validate", "--cluster", "config", "--graph", "knowledge")
    assert (checked.code, checked.stdout) == (0, "OK  1 stored query type-check against the schema\n")
    with applied.graph() as graph:
        graph.schema.apply("node Person {\n  name: String @key\n}\n")
    broken = shell.run("queries", "validate", "--cluster", "config", "--json")
    assert broken.code == 1
    assert broken.json["ok"] is False
    assert [found["query"] for found in broken.json["breakages"]] == ["find_person"]
    assert "is not applied in cluster" in shell.run("queries", "list", "--cluster", "config", "--graph", "x").stderr
    assert "needs a cluster" in shell.run("queries", "list").stderr


def test_maintenance_addresses_a_graph_through_its_cluster(applied: Desk, shell: Shell) -> None:
    outcome = shell.run("optimize", "--cluster", "config", "--json")
    assert outcome.code == 0, outcome.stderr
    outcome = shell.run("optimize", "--cluster", "config", "--graph", "other")
    assert outcome.code == 1
    assert "is not applied in cluster" in outcome.stderr
    assert "cluster apply" in outcome.stderr
    report = json.loads(shell.run("cluster", "plan", "--config", "config", "--json").stdout)
    assert report["changes"] == []


def test_graphs_of_a_cluster_are_not_changed_directly(applied: Desk, shell: Shell) -> None:
    shell.write("w.pg", "node Person { name: String @key }")
    for args in (("schema", "apply"), ("init",)):
        outcome = shell.run(*args, "config/graphs/knowledge.omni", "--schema", "w.pg")
        assert outcome.code == 1
        assert "cluster apply" in outcome.stderr
