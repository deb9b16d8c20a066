"""`analyze`, `infer`, `import`, `export --format` and `pipeline …` as a user types them."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli_runner import Desk

CLUSTER = """\
version: 1
graphs: {people: {schema: F.pg}}
pipelines:
  nightly: {graph: people, mapping: people.yaml, branch: "in/{run}", checks: checks.gq, merge_into: main, mode: merge}
"""


@pytest.fixture
def cluster(desk: Desk) -> Desk:
    desk.write("cluster.yaml", CLUSTER)
    desk.write("people.yaml", "sources: {p: {path: p.csv}}\nnodes: {Person: {from: p}}\n")
    desk.write("p.csv", "name,age\nEve,44\n")
    desk.write("checks.gq", 'query nobody() { match { $p: Person { name: "Nobody" } } return { $p.name } }\n')
    (desk.place / "graphs").mkdir()
    desk.graph("graphs/people.omni")
    return desk


def test_analyze_prints_the_largest_values(desk: Desk) -> None:
    desk.graph()
    done = desk.run("analyze", "degree", "g", "--edge", "Knows", "--top", "2", "--format", "csv")
    assert (done.code, done.stdout) == (0, "type,id,degree\nPerson,Alice,2\nPerson,Bob,2\n")
    far = desk.run("analyze", "distances", "--store", "g", "--edge", "Knows", "--source", "Alice", "--json").json
    assert far["rows"][0] == {"type": "Person", "id": "Diana", "distance": 2}
    assert (far["node_count"], far["runner"]) == (4, "inline")


def test_analyze_writes_values_as_a_commit(desk: Desk) -> None:
    desk.graph()
    done = desk.run(
        "analyze", "components", "g", "--edge", "Knows", "--write-to", "Person.age", "--as", "ann", "--json"
    )
    assert done.json["commit"]["actor_id"] == "ann"
    assert json.loads(desk.run("get", "Person", "Diana", "--uri", "g").stdout)["age"] == 0


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("degree", "g"), "--edge"),
        (("fame", "g", "--edge", "Knows"), "invalid value 'fame'"),
        (("degree", "g", "--edge", "Knows", "--weight", "w"), "--weight does not apply to degree"),
        (("degree", "g", "--edge", "Knows", "--source", "x"), "--source does not apply to degree"),
        (("distances", "g", "--edge", "Knows"), "pass --source"),
        (("pagerank", "g", "--edge", "Knows", "--damping", "much"), "takes a number"),
        (("pagerank", "g", "--edge", "Likes"), "no edge type 'Likes'"),
    ],
)
def test_analyze_says_what_is_wrong(desk: Desk, args: tuple[str, ...], told: str) -> None:
    desk.graph()
    done = desk.run("analyze", *args)
    assert done.code != 0
    assert told in done.stderr


def test_infer_writes_what_init_and_load_take(desk: Desk) -> None:
    desk.write("raw/people.csv", "id,name,boss_id\n1,Ada,\n2,Bob,1\n")
    done = desk.run("infer", "raw/people.csv", "--out", "made")
    assert (done.code, done.stdout.splitlines()[0]) == (0, "wrote made/schema.pg and made/mapping.yaml")
    assert done.stdout.splitlines()[1] == "next: omnigraph init --schema made/schema.pg made/graph.omni"
    assert desk.run("init", "--schema", "made/schema.pg", "n").code == 0
    loaded = desk.run("load", "n", "--mapping", "made/mapping.yaml", "--mode", "append", "--json").json
    assert loaded["total_entities"] == 3
    again = desk.run("infer", "raw/people.csv", "--out", "made")
    assert (again.code, "does not overwrite" in again.stderr) == (1, True)
    shown = desk.run("infer", "raw/people.csv")
    assert shown.stdout.startswith(
        "node Person {\n  name: String\n}\n\nedge Boss: Person -> Person {\n  @unique(src, dst)\n}\n\n# mapping.yaml\n"
    )


def test_a_mapping_can_be_tried_with_a_preview(cluster: Desk) -> None:
    done = cluster.run("load", "graphs/people.omni", "--mapping", "people.yaml", "--mode", "merge", "--dry-run")
    assert done.stdout.splitlines()[1:] == ["Person from p.csv:", '  {"name":"Eve","age":44}']
    neither = cluster.run("load", "graphs/people.omni", "--mode", "merge")
    assert (neither.code, "--data <FILE> or --mapping <YAML>" in neither.stderr) == (2, True)
    both = cluster.run("load", "g", "--mode", "merge", "--data", "x", "--mapping", "y")
    assert (both.code, "cannot be used with" in both.stderr) == (2, True)


def test_an_export_becomes_a_graph_again(desk: Desk) -> None:
    desk.graph()
    assert desk.run("export", "g", "--format", "graphml", "--out", "g.graphml").code == 0
    needed = desk.run("import", "g.graphml", "--from", "graphml", "--schema-only")
    assert "edge WorksAt: Person -> Company" in needed.stdout
    done = desk.run("import", "g.graphml", "--from", "graphml", "--into", "copy", "--as", "ann", "--json")
    assert (done.json["total_entities"], done.json["commit"]["actor_id"]) == (11, "ann")
    text = desk.run("import", "g.graphml", "--from", "graphml", "--into", "copy", "--mode", "merge")
    assert text.stdout == "imported 6 nodes and 5 edges of 2 node types and 2 edge types into copy\n"
    nowhere = desk.run("export", "g", "--format", "csv")
    assert (nowhere.code, "name one with --out" in nowhere.stderr) == (1, True)
    assert desk.run("import", "g.graphml", "--from", "graphml").code == 2


def test_a_pipeline_is_listed_run_and_remembered(cluster: Desk) -> None:
    listed = cluster.run("pipeline", "list")
    assert listed.stdout == "nightly: merge people.yaml → people via in/{run} into main\n"
    assert cluster.run("pipeline", "validate").stdout == "1 pipeline is fine: nightly\n"
    assert cluster.run("pipeline", "run", "nightly", "--dry-run", "--json").json["status"] == "dry_run"
    done = cluster.run("pipeline", "run", "nightly", "--as", "cron", "--json")
    assert (done.code, done.json["status"], done.json["actor_id"]) == (0, "merged", "cron")
    assert "unchanged" in cluster.run("pipeline", "run", "nightly").stdout
    runs = cluster.run("pipeline", "history", "--json").json["runs"]
    assert [each["run_id"] for each in runs] == [done.json["run_id"]]
    assert "nightly merged, 1 entity, into main" in cluster.run("pipeline", "history", "nightly").stdout


def test_a_check_that_finds_something_is_exit_one(cluster: Desk) -> None:
    cluster.write("p.csv", "name,age\nNobody,1\n")
    done = cluster.run("pipeline", "run", "nightly")
    assert (done.code, "nobody returned 1 row" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("gates", "told"),
    [
        ("{nulls: {Person.nope: 99%}}", "gates.nulls Person.nope: 'Person' has no property 'nope' (it has age, name)"),
        ("{nulls: {Nobody.name: 1%}}", "gates.nulls Nobody.name: the schema has no type 'Nobody'"),
        ("{rows: {Nobody: {min: 1}}}", "gates.rows Nobody: the schema has no type 'Nobody'"),
        (
            "{freshness: {Person.name: 2d}}",
            "gates.freshness Person.name: 'Person.name' is neither a Date nor a DateTime",
        ),
    ],
)
def test_gates_that_nothing_can_pass_are_refused_before_a_run(cluster: Desk, gates: str, told: str) -> None:
    cluster.write("cluster.yaml", CLUSTER.replace("mode: merge", f"mode: merge, gates: {gates}"))
    done = cluster.run("pipeline", "validate")
    assert (done.code, f"pipelines.nightly.{told}" in done.stderr) == (1, True)
    run = cluster.run("pipeline", "run", "nightly")
    assert (run.code, told in run.stderr) == (1, True)


def test_gates_of_a_graph_that_cannot_be_read_are_said_not_to_be_checked(cluster: Desk) -> None:
    cluster.write("cluster.yaml", CLUSTER.replace("mode: merge", "mode: merge, gates: {rejected: 1%}"))
    assert cluster.run("pipeline", "validate", "--json").json["gates_not_checked"] == {}
    (cluster.place / "graphs/people.omni").rename(cluster.place / "elsewhere")
    done = cluster.run("pipeline", "validate")
    assert (done.code, done.stdout.splitlines()[0]) == (0, "1 pipeline is fine: nightly")
    assert done.stdout.splitlines()[1].startswith("the gates of nightly could not be checked: ")
    assert list(cluster.run("pipeline", "validate", "--json").json["gates_not_checked"]) == ["nightly"]


def test_a_target_branch_that_is_not_there_is_refused_before_a_run(cluster: Desk) -> None:
    cluster.write("cluster.yaml", CLUSTER.replace("merge_into: main", "merge_into: mian"))
    done = cluster.run("pipeline", "validate")
    told = "pipelines.nightly.merge_into: graph 'people' has no branch 'mian' (there are: main)"
    assert (done.code, told in done.stderr) == (1, True)
    cluster.run("branch", "create", "mian", "--uri", "graphs/people.omni")
    assert cluster.run("pipeline", "validate").stdout == "1 pipeline is fine: nightly\n"
    (cluster.place / "graphs/people.omni").rename(cluster.place / "elsewhere")
    done = cluster.run("pipeline", "validate")
    assert (done.code, done.stdout.splitlines()[0]) == (0, "1 pipeline is fine: nightly")
    assert done.stdout.splitlines()[1].startswith("the target branch of nightly could not be checked: ")
    found = cluster.run("pipeline", "validate", "--json").json
    assert (found["gates_not_checked"], list(found["targets_not_checked"])) == ({}, ["nightly"])


def test_everything_that_is_wrong_is_told_at_once(cluster: Desk) -> None:
    cluster.write("queries/checks.gq", "query q() {\n  match { $p Person } return { $p.name } }")
    line = CLUSTER.splitlines()[-1]
    others = [
        line.replace("nightly", "lost").replace("merge_into: main", "merge_into: mian"),
        line.replace("nightly", "odd").replace("checks.gq", "queries/checks.gq"),
        line.replace("nightly", "far").replace("graph: people", "graph: nowhere"),
    ]
    cluster.write("cluster.yaml", "\n".join([CLUSTER.rstrip("\n"), *others]))
    done = cluster.run("pipeline", "validate")
    assert done.code == 1
    assert "pipelines.lost.merge_into: graph 'people' has no branch 'mian'" in done.stderr
    assert "pipelines.odd.checks: " in done.stderr
    assert " --> queries/checks.gq:2:14" in done.stderr
    assert "pipelines.far.graph: no graph 'nowhere' is declared" in done.stderr
    assert "pipelines.nightly" not in done.stderr


def test_before_a_cluster_is_applied_that_is_the_advice(cluster: Desk) -> None:
    (cluster.place / "graphs/people.omni").rename(cluster.place / "elsewhere")
    cluster.write("cluster.yaml", CLUSTER.replace("mode: merge", "mode: merge, gates: {rejected: 1%}"))
    told = "people.omni' is not a graph; run `omnigraph cluster apply` first"
    assert told in cluster.run("pipeline", "validate").stdout
    for args in (("run", "nightly"), ("history",)):
        done = cluster.run("pipeline", *args)
        assert (done.code != 0, told in done.stderr, "init" in done.stderr) == (True, True, False)


def test_a_schedule_names_the_program_so_that_any_path_finds_it(cluster: Desk) -> None:
    cluster.write("cluster.yaml", CLUSTER.replace("mode: merge", 'mode: merge, schedule: "0 2 * * *"'))
    for line in (
        cluster.run("pipeline", "schedule").stdout.splitlines()[1].removeprefix("0 2 * * * "),
        cluster.run("pipeline", "schedule", "--format", "airflow")
        .stdout.partition("bash_command='")[2]
        .partition("'")[0],
    ):
        words = shlex.split(line)
        program = words[: words.index("pipeline")]
        done = subprocess.run(
            [*program, "pipeline", "list", *words[-4:-2]],
            env={"PATH": "/usr/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.startswith("nightly: ")


def test_what_is_wrong_with_a_declaration_is_told(cluster: Desk) -> None:
    assert "no pipeline 'x' (declared: nightly)" in cluster.run("pipeline", "run", "x").stderr
    assert "config_dir_not_found" in cluster.run("pipeline", "list", "--config", "nowhere").stderr
    Path(cluster.place / "people.yaml").unlink()
    done = cluster.run("pipeline", "validate")
    assert (done.code, "pipelines.nightly.mapping: there is no mapping" in done.stderr) == (1, True)


def test_a_preview_shows_cells_that_json_has_no_form_for(desk: Desk) -> None:
    desk.write("raw/stays.csv", "id,arrived,price\n1,2024-01-01 05:00:00,1.5\n2,2024-01-02 06:00:00,2.5\n")
    assert desk.run("infer", "raw/stays.csv", "--out", "made").code == 0
    assert desk.run("init", "--schema", "made/schema.pg", "n").code == 0
    done = desk.run("load", "n", "--mapping", "made/mapping.yaml", "--mode", "append", "--dry-run")
    assert done.code == 0
    assert '"arrived":"2024-01-01T05:00:00.000Z"' in done.stdout


def test_a_preview_shows_what_the_rows_become(desk: Desk) -> None:
    """Values instead of cells, every type that a source fills, and no row that is left out."""
    desk.write(
        "s.pg",
        """
node City { @key(state, name) name: String  state: String }
node Person { login: String @key  age: I32?  born: Date?  source: String  active: Bool? }
edge LivesIn: Person -> City
""",
    )
    desk.write(
        "p.csv", 'Login,Age,Born,On,City,State\nANN,NA,03/04/1990,yes,Rome,IT\nbob,"1,041",null,no,,\nCAT,7,,,Bern,CH\n'
    )
    desk.write(
        "m.yaml",
        """
sources: {p: {path: p.csv, nulls: [NA, null, ""], thousands: ",", dates: {Born: "%d/%m/%Y"}, true_words: [yes], false_words: [no]}}
nodes:
  City: {from: p, where: $row.city is not null, columns: {name: City, state: State}}
  Person:
    from: p
    where: $row.login != "CAT"
    columns: {login: {expr: "lower($row.login)"}, age: Age, born: Born, active: On, source: {value: hr}}
edges:
  LivesIn: {from: p, src: {expr: "lower($row.login)"}, dst: [State, City], optional: true, where: $row.login != "CAT"}
""",
    )
    assert desk.run("init", "--schema", "s.pg", "n").code == 0
    run = ("load", "n", "--mapping", "m.yaml", "--mode", "append")
    done = desk.run(*run, "--dry-run")
    assert done.stdout.splitlines()[1:] == [
        "City from p.csv:",
        '  {"state":"IT","name":"Rome"}',
        '  {"state":"CH","name":"Bern"}',
        "Person from p.csv:",
        '  {"login":"ann","active":true,"age":null,"born":"1990-04-03","source":"hr"}',
        '  {"login":"bob","active":false,"age":1041,"born":null,"source":"hr"}',
        "LivesIn from p.csv:",
        '  {"src":"ann","dst":"[\\"Rome\\",\\"IT\\"]"}',
    ]
    assert desk.run(*run).code == 0
    desk.write("ages.csv", "login,age\nbob,42\n")
    desk.write("ages.yaml", "sources: {p: {path: ages.csv}}\nnodes: {Person: {from: p}}\n")
    patched = desk.run("load", "n", "--mapping", "ages.yaml", "--mode", "patch", "--dry-run")
    assert patched.stdout.splitlines()[1:] == ["Person from ages.csv:", '  {"login":"bob","age":42}']
