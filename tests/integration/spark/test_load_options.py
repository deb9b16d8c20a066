"""What a load can be told: to skip, to check only, to report, to keep what it refused; and what happens around it."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from load_cases import BAD_LINES, MANY, PEOPLE, SCHEMA, edge, lines, person
from outcomes import inline

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.intake import sources
from omnigraph.engine.values.load_profile import Progress
from omnigraph.errors import BadRequest, KeyConflict, NotFound, OmnigraphError, ValueViolation
from omnigraph.pipeline.tasks import load as load_tasks
from omnigraph.pipeline.tasks import unpack
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.storage.base import failpoints
from omnigraph.storage.intent.writeset import ReplaceParts
from omnigraph.storage.maintenance.strays import discard_with_strays
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.testing.graphs.loads import export_text
from omnigraph.testing.one_commit.proof import stray_files

TINY = Tuning(split_bytes=700, split_rows=9, bucket_rows=7, keyed_rows=0)
run = partial(load, tasks=LocalTasks(), tuning=TINY)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA, actor="tester")


def request(data: Any, mode: Any = "append", **options: Any) -> LoadRequest:
    return LoadRequest(data=data, mode=mode, **options)


def exported(graph: og.Graph) -> str:
    return export_text(graph._core)


def left_behind(graph: og.Graph) -> list[str]:
    return [str(path) for path in (Path(graph.uri) / "__loads").glob("*")]


def read_rejects(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "rejects.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("runner", ["inline", "spark"])
def test_a_branch_with_a_schema_of_its_own_takes_loads(tmp_path: Path, spark: Any, runner: Any) -> None:
    plain = "node P { k: String @key n: I32? }\nedge K: P -> P"
    grown = plain.replace("n: I32?", "n: I64? tag: String?") + "\nnode Q { k: String @key }"
    graph = og.init(tmp_path / "own", plain)
    graph.load(b'{"type": "P", "data": {"k": "a", "n": 1}}')
    graph.branches.create("side")
    side = graph.branch("side")
    side.schema.apply(grown)
    rows = [{"type": "P", "data": {"k": "a", "n": 1 << 40, "tag": "x"}}, {"type": "Q", "data": {"k": "q"}}]
    rows += [{"edge": "K", "from": "a", "to": "a"}]
    text = "\n".join(json.dumps(row) for row in rows).encode()
    done = side.load(text, mode="merge", runner=runner)
    assert (done.runner, done.nodes, done.edges) == (runner, {"P": 1, "Q": 1}, {"K": 1})
    with pytest.raises(OmnigraphError):
        graph.load(text, mode="merge", runner=runner)  # main does not know what the branch does
    graph.branches.merge("side")
    assert (graph.get("P", "a")["n"], graph.get("P", "a")["tag"], graph.get("Q", "q")["k"]) == (1 << 40, "x", "q")


MESSY = lines(
    *(line for line in BAD_LINES.values()),
    PEOPLE,
    person("p3", age=5),
    person("twin", email="p4@x"),
    edge("Knows", "twin", "p1", id="to-a-refused-node"),
    edge("Knows", "p1", "nobody", id="to-nobody"),
    edge("Knows", "nobody", "nowhere", id="both-ends"),
    *(edge("WorksAt", "p7", "acme", id=f"many{at}") for at in range(4)),
)
# A row counts once whatever is wrong with it; of the edges of a source that has too many, the first stays.
SET_REFUSALS = {"W012": 2, "W013": 3, "W014": 3}
KEPT = lines(PEOPLE, edge("WorksAt", "p7", "acme", id="many0"))


def test_a_load_that_skips_writes_the_good_rows_and_counts_the_rest(graph: og.Graph, tmp_path: Path) -> None:
    clean = og.init(tmp_path / "clean", SCHEMA)
    clean.load(KEPT, runner="inline")
    done = run(access(graph), request(MESSY, on_error="skip"))
    assert exported(graph) == exported(clean)
    assert sum(done.rejected.values()) == len(BAD_LINES) + sum(SET_REFUSALS.values())
    assert {code: done.rejected[code] for code in SET_REFUSALS} == SET_REFUSALS
    assert done.total_entities == len(KEPT.splitlines())
    assert left_behind(graph) == []


def test_skipping_works_inline_without_spark(graph: og.Graph) -> None:
    done = graph.load(lines(person("a"), BAD_LINES["enum"]), on_error="skip", runner="inline")
    assert (done.runner, dict(done.nodes), dict(done.rejected)) == ("inline", {"Person": 1}, {"W006": 1})


def test_each_refused_row_is_one_entry_with_its_place_its_content_and_all_its_reasons(
    graph: og.Graph, tmp_path: Path
) -> None:
    file = tmp_path / "input.jsonl"
    file.write_bytes(lines(MESSY, person("z", age=200, code="9"), edge("Knows", "nobody", "p1")))
    done = run(access(graph), request(str(file), on_error="skip", rejects=str(tmp_path / "rejects")))
    kept = read_rejects(tmp_path / "rejects")
    texts = file.read_text(errors="replace").splitlines()
    assert Counter(each["code"] for each in kept) == done.rejected
    assert [each["line"] for each in kept] == sorted({each["line"] for each in kept})
    assert {each["file"] for each in kept} == {str(file)}
    assert [each["content"] for each in kept] == [texts[each["line"] - 1] for each in kept]
    found = {each["content"]: [(why["code"], why["property"]) for why in each["reasons"]] for each in kept}
    assert found[json.dumps(person("z", age=200, code="9"))] == [("W010", "age"), ("W011", "code")]
    assert found[json.dumps(edge("Knows", "nobody", "nowhere", id="both-ends"))] == [("W013", "src"), ("W013", "dst")]
    surplus = [json.dumps(edge("WorksAt", "p7", "acme", id=f"many{at}")) for at in range(4)]
    assert [found.get(text) for text in surplus] == [None, *([[("W014", "src")]] * 3)]
    assert kept[-1]["reasons"][0]["message"] == "edge Knows '(generated)': src 'nobody' not found in Person"


def test_the_file_of_refused_rows_is_the_same_however_the_work_is_split(graph: og.Graph, tmp_path: Path) -> None:
    file = tmp_path / "input.jsonl"
    file.write_bytes(lines(MESSY, edge("Knows", "nobody", "p1")))
    written = []
    for name, tuning, on_error in (("a", TINY, "skip"), ("b", Tuning(), "skip"), ("c", TINY, "stop")):
        other = og.init(tmp_path / name, SCHEMA)
        asked = request(str(file), on_error=on_error, rejects=str(tmp_path / "rejects"))
        with contextlib.suppress(ValueViolation):
            load(access(other), asked, LocalTasks(), tuning)
        written.append((tmp_path / "rejects" / "rejects.jsonl").read_bytes())
        assert [path.name for path in (tmp_path / "rejects").iterdir()] == ["rejects.jsonl"]
    assert written[0] == written[1] == written[2]
    run(access(graph), request(PEOPLE, rejects=str(tmp_path / "rejects")))
    assert read_rejects(tmp_path / "rejects") == [], "a load that refuses nothing leaves no entries of an earlier one"


def test_refused_rows_of_tables_can_be_loaded_again_once_mended(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("login,mail,years\na,a@x,1\n\nb,b@x,old\nc,a@x,3\n")
    asked = request(str(path), type="Person", columns=COLUMNS, on_error="skip", rejects=str(tmp_path / "r"))
    done = run(access(graph), asked)
    kept = read_rejects(tmp_path / "r")
    assert [(each["line"], each["code"]) for each in kept] == [(4, "W002"), (5, "W012")]
    assert dict(done.rejected) == {"W002": 1, "W012": 1}
    again = tmp_path / "again.jsonl"
    again.write_text("\n".join(each["content"] for each in kept).replace('"old"', "2").replace("a@x", "c@x"))
    mapping = {
        "sources": {"p": {"path": str(again), "format": "json"}},
        "nodes": {"Person": {"from": "p", "columns": COLUMNS}},
    }
    graph.load(mapping=mapping, runner="inline")
    assert [graph.get("Person", name)["age"] for name in "abc"] == [1, 2, 3]  # type: ignore[index]


def test_a_load_that_stops_counts_every_kind_of_problem(graph: og.Graph) -> None:
    with pytest.raises(OmnigraphError) as refused:
        run(access(graph), request(MESSY))
    skipped = og.init(Path(graph.uri).parent / "other", SCHEMA).load(MESSY, on_error="skip", runner="inline").rejected
    counts = ", ".join(f"{count} x {code}" for code, count in sorted(skipped.items()))
    assert f"refused: {counts}" in refused.value.__notes__
    assert exported(graph) == ""


def test_a_small_load_from_a_file_counts_every_kind_of_problem_too(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines(BAD_LINES["enum"], PEOPLE, edge("Knows", "p1", "nobody")))
    with pytest.raises(ValueViolation, match="invalid enum value") as refused:
        graph.load(tmp_path / "in.jsonl", runner="inline")
    assert refused.value.__notes__[0] == "refused: 1 x W006, 1 x W013"


def test_committed_edges_count_before_those_of_the_input(graph: og.Graph) -> None:
    graph.load(PEOPLE)
    more = lines(
        *(edge("WorksAt", "p0", "globex", id=f"new{at}") for at in range(2)),
        *(edge("WorksAt", "p9", "globex", id=f"nine{at}") for at in range(3)),
    )
    done = run(access(graph), request(more, on_error="skip"))
    assert (dict(done.edges), dict(done.rejected)) == ({"WorksAt": 1}, {"W014": 4})
    moved = lines(edge("WorksAt", "p0", "globex", id="w1"), edge("WorksAt", "p0", "globex", id="extra"))
    assert dict(run(access(graph), request(moved, "merge", on_error="skip")).rejected) == {"W014": 1}
    assert '"from":"p0","to":"globex","data":{"id":"w1"}' in exported(graph)


def test_without_skipping_everything_refused_is_kept_and_nothing_is_loaded(graph: og.Graph, tmp_path: Path) -> None:
    head = graph.commits.head()
    with pytest.raises(ValueViolation) as refused:
        run(access(graph), request(lines(MANY, BAD_LINES["enum"], BAD_LINES["range"]), rejects=str(tmp_path / "r")))
    assert refused.value.code in ("W006", "W010")
    assert "refused: 1 x W006, 1 x W010" in refused.value.__notes__
    assert len(read_rejects(tmp_path / "r")) == 2
    assert graph.commits.head() == head


def test_too_many_errors_end_a_load_that_skips(graph: og.Graph) -> None:
    with pytest.raises(ValueViolation) as refused:
        run(access(graph), request(lines(MANY, *BAD_LINES.values()), on_error="skip", max_errors=3))
    assert refused.value.__notes__[-1] == "gave up with more than 3 refused rows (max_errors); there may be others"
    assert exported(graph) == ""


@pytest.mark.parametrize("runner", ["inline", "tasks"])
def test_a_dry_run_checks_everything_and_writes_nothing(graph: og.Graph, runner: str) -> None:
    head = graph.commits.head()
    done = (run if runner == "tasks" else inline)(access(graph), request(MANY, dry_run=True))
    assert (done.commit, done.dry_run, done.nodes["Person"]) == (None, True, 60)
    assert (graph.commits.head(), exported(graph), left_behind(graph)) == (head, "", [])
    with pytest.raises(ValueViolation, match="W013"):
        run(access(graph), request(lines(edge("Knows", "a", "b")), dry_run=True))


def test_a_dry_run_does_not_create_the_branch(graph: og.Graph) -> None:
    for start in (partial(graph.load, runner="inline"), partial(graph.load, on_error="skip", runner="inline")):
        assert start(PEOPLE, branch="new", from_="main", dry_run=True).branch_created is False
        assert [branch for branch in graph.branches.list() if str(branch) != "main"] == []


def test_progress_names_its_stages_and_counts_rows(graph: og.Graph) -> None:
    seen: list[Progress] = []
    run(access(graph), request(MANY, progress=seen.append))
    assert list(dict.fromkeys(progress.stage for progress in seen)) == ["stage", "check", "commit"]
    last = {progress.stage: progress for progress in seen}
    assert all(progress.done == progress.total for progress in last.values()), "each stage is done at last"
    assert (seen[-1].stage, seen[-1].done, seen[-2].stage, seen[-2].done) == ("commit", 1, "commit", 0)
    assert max(progress.rows for progress in seen) == len(MANY.splitlines())
    assert max(progress.bytes for progress in seen) == len(MANY)


def test_a_load_in_tasks_says_what_it_changed(graph: og.Graph) -> None:
    first = run(access(graph), request(PEOPLE, message="people"))
    assert first.commit is not None
    assert (first.commit.kind, first.commit.message) == ("load", "people")
    assert {name: each.inserted for name, each in first.commit.counts.items()} == {**first.nodes, **first.edges}
    again = run(access(graph), request(lines(person("p1", age=9), person("fresh")), "merge"))
    assert again.commit is not None
    assert again.commit.counts == {"Person": RowCounts(inserted=1, updated=1)}


def test_a_load_onto_a_new_branch_is_seen_only_there(graph: og.Graph) -> None:
    run(access(graph), request(PEOPLE))
    done = run(access(graph), request(MANY, "merge", branch="side", base="main"))
    assert (done.branch, done.branch_created) == ("side", True)
    assert "m001" not in exported(graph)
    assert len(export_text(graph._core, "side").splitlines()) == len(PEOPLE.splitlines()) + len(MANY.splitlines())


# --- the world moves while a load is on its way ------------------------------------------------------------


def test_a_commit_in_between_is_checked_again_and_both_are_kept(graph: og.Graph) -> None:
    once = threading.Event()

    def interfere() -> None:
        if not once.is_set():
            once.set()
            graph.load(lines(person("rival")), runner="inline")

    staged: list[Progress] = []
    with failpoints.armed({"load.post_checks": interfere}):
        run(access(graph), request(MANY, progress=staged.append))
    assert "rival" in exported(graph)
    assert "m001" in exported(graph)
    finished = [progress for progress in staged if progress.stage == "stage" and progress.rows]
    assert len(finished) == 1, "staged rows are used again"


def test_a_clash_that_appears_in_between_is_found(graph: og.Graph) -> None:
    with (
        failpoints.armed({"load.post_checks": lambda: graph.load(lines(person("m007")), "merge", runner="inline")}),
        pytest.raises(KeyConflict, match="m007"),
    ):
        run(access(graph), request(MANY))
    assert exported(graph).count("\n") == 1
    assert left_behind(graph) == []


def test_an_overwrite_is_prepared_again_when_the_branch_moves(graph: og.Graph) -> None:
    """Decision 12 of the contract: it lands as if it had run after the other writer, whose row it replaces."""
    others = [lines(person("x"))]

    def write_once() -> None:
        if others:
            graph.load(others.pop(), "merge", runner="inline")

    with failpoints.armed({"load.post_checks": write_once}):
        done = run(access(graph), request(MANY, "overwrite"))
    assert done.total_entities == len(MANY.splitlines())
    assert exported(graph).count("\n") == len(MANY.splitlines())
    assert '"x"' not in exported(graph)
    assert (left_behind(graph), stray_files(graph)) == ([], [])


def test_a_load_that_was_taken_for_dead_gives_up_instead_of_committing_what_is_gone(graph: og.Graph) -> None:
    def tidy_up() -> None:
        for place in (Path(graph.uri) / "__loads").glob("*"):
            assert discard_with_strays(graph._core.store, place.name)

    with (
        failpoints.armed({"recovery.sidecar_write": tidy_up}),
        pytest.raises(og.errors.StorageError, match="were removed while it stood still"),
    ):
        run(access(graph), request(MANY))
    assert (exported(graph), left_behind(graph), stray_files(graph)) == ("", [], [])
    assert run(access(graph), request(MANY)).total_entities == len(MANY.splitlines())


@pytest.mark.parametrize("moved", [False, True], ids=["the same version", "a later version"])
def test_a_merge_replaces_rows_in_one_version_and_keeps_their_row_ids(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    """Tasks find the places of replaced rows; a table that has moved on since is asked again for each id."""
    if moved:
        monkeypatch.setattr(load_tasks, "ReplaceParts", lambda *given: ReplaceParts(*given[:-1], version=0))

    def places() -> tuple[int, dict[str, int]]:
        table = graph.view().table(graph.view().catalog.nodes["Person"])
        rows = table.scan(["id", "_rowid"])
        return table.version, dict(zip(rows["id"].to_pylist(), rows["_rowid"].to_pylist(), strict=True))

    in_order = [person(f"p{at}", email=f"p{at}@x", age=at) for at in range(40)]
    run(access(graph), request(lines(*in_order)))
    version, before = places()
    changed = [person("p3", age=3), person("fresh"), person("p7", age=70)]
    for number, given in enumerate((changed, in_order, in_order[::-1], in_order[1::2] + in_order[::2]), 1):
        load(access(graph), request(lines(*given), "merge"), LocalTasks())
        later, after = places()
        assert later == version + number
        assert {name: after[name] for name in before} == before
        assert after["fresh"] not in before.values()
        if number == 1:
            assert [graph.get("Person", name)["age"] for name in ("p3", "p7")] == [3, 70]  # type: ignore[index]
    assert len(after) == len(before) + 1
    assert graph.check().ok


def test_one_load_is_one_commit(graph: og.Graph) -> None:
    for mode in ("append", "merge", "overwrite"):
        before = len(graph.commits.list())
        run(access(graph), request(PEOPLE, mode))
        assert len(graph.commits.list()) == before + 1


# --- columnar input ----------------------------------------------------------------------------------------

TABLE = pa.table(
    {
        "login": [f"u{at}" for at in range(20)],
        "mail": [f"u{at}@x" if at % 3 else None for at in range(20)],
        "years": pa.array(range(20), pa.int16()),
        "unused": [1.5] * 20,
    }
)
LINKS = pa.table(
    {"a": [f"u{at}" for at in range(19)], "b": [f"u{at + 1}" for at in range(19)], "ts": ["2024-01-05"] * 19}
)
COLUMNS = {"name": "login", "email": "mail", "age": "years"}


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    pq.write_table(TABLE, tmp_path / "people.parquet", row_group_size=4)
    pcsv.write_csv(LINKS, tmp_path / "links.csv")
    path = tmp_path / "map.yaml"
    path.write_text(
        """
        sources:
          people: {format: parquet, path: people.parquet}
          links: {path: links.csv}
        nodes:
          Person: {from: people, columns: {name: login, email: mail, age: years}}
        edges:
          Knows: {from: links, src: a, dst: b, columns: {since: ts}}
        """
    )
    return path


def test_a_mapping_loads_nodes_and_edges_in_one_commit_whatever_runs_it(
    graph: og.Graph, tmp_path: Path, mapping: Path
) -> None:
    done = run(access(graph), LoadRequest(data=None, mapping=mapping, mode="append"))
    assert (dict(done.nodes), dict(done.edges)) == ({"Person": 20}, {"Knows": 19})
    other = og.init(tmp_path / "other", SCHEMA)
    other.load(mapping=mapping, runner="inline")
    strip = [json.loads(line) for line in exported(graph).splitlines()]
    same = [json.loads(line) for line in exported(other).splitlines()]
    for record in (*strip, *same):
        if "edge" in record:
            record["data"].pop("id")
    assert strip == same
    assert graph.get("Person", "u7") == {
        "id": "u7",
        "age": 7,
        "code": None,
        "email": "u7@x",
        "name": "u7",
        "role": None,
        "score": None,
    }


@pytest.mark.parametrize("runner", ["inline", "tasks"])
def test_a_bad_cell_is_named_with_its_file_and_the_line_of_an_editor(
    graph: og.Graph, tmp_path: Path, runner: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,age\n" + "".join(f"u{at},{at}\n" for at in range(30)) + '"two\nlines",1\nbad,old\nlast,3\n')
    start = run if runner == "tasks" else inline
    with pytest.raises(ValueViolation, match="strict property 'age' expects") as refused:
        start(access(graph), request(str(path), type="Person"))
    assert (refused.value.file, refused.value.line, refused.value.code) == (str(path), 34, "W002")


@pytest.mark.parametrize("runner", ["inline", "tasks"])
def test_a_repeated_key_in_parquet_is_named_with_its_row(graph: og.Graph, tmp_path: Path, runner: str) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(pa.concat_tables([TABLE, TABLE.slice(5, 1)]), path, row_group_size=3)
    start = run if runner == "tasks" else inline
    with pytest.raises(ValueViolation, match="W012") as refused:
        start(access(graph), request(str(path), type="Person", columns=COLUMNS))
    assert (refused.value.file, refused.value.line) == (str(path), 21)


def test_a_frame_in_memory_goes_through_tasks_too(graph: og.Graph) -> None:
    done = run(access(graph), request(TABLE, type="Person", columns=COLUMNS))
    assert dict(done.nodes) == {"Person": 20}


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"nodes": {"Person": {"from": "x"}}}, "no source 'x'"),
        ({"sources": {"x": {}}, "nodes": {"Person": {"from": "x"}}}, "has a path"),
        ({"sources": {"x": {"path": "a", "format": "xml"}}, "nodes": {"Person": {"from": "x"}}}, "unknown format"),
        ({"nodes": {"Person": {}}}, "where its rows come from"),
        ({"nodes": {"Person": {"from": "x", "src": "y"}}}, "unknown member 'src'"),
        ({"nodes": {"Person": {"frm": "x"}}}, r"unknown member 'frm' \(known: columns, from, id, where\)"),
        ({"tables": {}}, "a mapping has the members edges, nodes, sources, and no 'tables'"),
        ({}, "neither nodes nor edges"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused(graph: og.Graph, described: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        graph.load(mapping=described)


def test_a_mistake_in_a_mapping_is_told_with_its_file_and_entry(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name,age\na,1\n")
    mapping = tmp_path / "m.yaml"
    mapping.write_text("sources: {p: {path: people.csv}}\nnodes: {Person: {from: p, columns: {name: nam}}}\n")
    with pytest.raises(BadRequest) as refused:
        graph.load(mapping=mapping, runner="inline")
    assert str(refused.value) == (
        f"{tmp_path}/people.csv has no column 'nam', which the mapping of 'Person' in {mapping} names for 'name'"
        " (it has name, age)"
    )
    mapping.write_text("sources: {p: {path: people.csv}}\nnodes: {Persn: {from: p}}\n")
    with pytest.raises(ValueViolation, match=r"unknown node type 'Persn' in .*m\.yaml; did you mean 'Person'\?"):
        graph.load(mapping=mapping, runner="inline")


@pytest.mark.parametrize("runner", ["inline", "tasks"])
@pytest.mark.parametrize(("header", "lines"), [(True, "lines 2 and 4"), (False, "lines 1 and 3")])
def test_a_repeated_key_in_text_is_named_with_its_lines(
    graph: og.Graph, tmp_path: Path, runner: str, header: bool, lines: str
) -> None:
    (tmp_path / "p.tsv").write_text(("name\tage\n" if header else "") + "a\t1\nb\t2\na\t3\n")
    source = {"path": str(tmp_path / "p.tsv")} | ({} if header else {"header": False, "names": ["name", "age"]})
    start = run if runner == "tasks" else inline
    with pytest.raises(ValueViolation, match=lines):
        start(access(graph), request(None, mapping={"sources": {"p": source}, "nodes": {"Person": {"from": "p"}}}))


class Elsewhere(LocalTasks):
    """Tasks whose directory is not that of the driver, as on a cluster."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self.place = place

    def run(self, work: Any, items: Any, **options: Any) -> list[Any]:
        with contextlib.chdir(self.place):
            return super().run(work, items, **options)


def test_relative_paths_mean_the_directory_of_the_driver(
    graph: og.Graph, tmp_path: Path, mapping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "worker").mkdir()
    (tmp_path / "in.jsonl").write_bytes(MANY)
    monkeypatch.chdir(tmp_path)
    tasks = Elsewhere(tmp_path / "worker")
    assert load(access(graph), request("in.jsonl"), tasks).total_entities == len(MANY.splitlines())
    done = load(access(graph), LoadRequest(data=None, mapping=Path(mapping.name), mode="append"), tasks)
    assert dict(done.nodes) == {"Person": 20}


def test_a_file_that_only_the_driver_has_is_told_with_the_machine_that_looked(graph: og.Graph, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(MANY)

    class Remote(LocalTasks):
        def run(self, work: Any, items: Any, **options: Any) -> list[Any]:
            file.unlink(missing_ok=True)
            return super().run(work, items, **options)

    with pytest.raises(BadRequest, match=r"is not on .*, where a task looked for .*in\.jsonl: workers of a cluster"):
        load(access(graph), request(str(file)), Remote())


def test_missing_input_is_told(graph: og.Graph, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        run(access(graph), request(str(tmp_path / "nothing.jsonl")))
    with pytest.raises(NotFound, match="contains no record files"):
        run(access(graph), request(str(tmp_path / "*.jsonl")))
    with pytest.raises(BadRequest, match="either data or a mapping"):
        graph.load()
    with pytest.raises(BadRequest, match="unknown runner 'flink'"):
        graph.load(PEOPLE, runner="flink")


# --- on Spark itself ---------------------------------------------------------------------------------------


def test_the_facade_loads_on_spark_and_says_so(graph: og.Graph, tmp_path: Path, spark: Any) -> None:
    pq.write_table(TABLE, tmp_path / "people.parquet", row_group_size=4)
    done = graph.load(tmp_path / "people.parquet", type="Person", columns=COLUMNS, runner="spark")
    assert (done.runner, done.actor_id, dict(done.nodes)) == ("spark", "tester", {"Person": 20})
    assert graph.get("Person", "u19") is not None


@pytest.mark.parametrize("action", ["raise", "kill"])
def test_a_task_that_fails_after_writing_is_repeated_and_nothing_is_doubled(
    graph: og.Graph, spark: Any, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setenv(failpoints.ENVIRONMENT, f"load.split_staged_at_first={action}")
    done = load(access(graph), request(PEOPLE), SparkTasks(spark), Tuning(split_bytes=900))
    assert done.total_entities == len(PEOPLE.splitlines()) == exported(graph).count("\n")
    assert left_behind(graph) == []


def test_a_job_that_keeps_failing_is_told_in_one_line_and_leaves_nothing(
    graph: og.Graph, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = graph.commits.head()

    def fail(split: Any) -> None:
        raise RuntimeError("no space left on device")

    with pytest.raises(
        og.errors.StorageError, match="the Spark job 'probe' failed: RuntimeError: no space left on device"
    ):
        SparkTasks(spark).run(fail, [1], stage="probe", report=None)
    assert (graph.commits.head(), left_behind(graph)) == (head, [])


def test_skipping_on_spark_gives_the_same_counts(graph: og.Graph, spark: Any) -> None:
    done = load(access(graph), request(MESSY, on_error="skip"), SparkTasks(spark), Tuning(split_bytes=1500))
    assert {code: done.rejected[code] for code in SET_REFUSALS} == SET_REFUSALS
    assert done.total_entities == len(KEPT.splitlines())


def test_a_spark_frame_loads_and_its_rows_are_numbered_through(graph: og.Graph, spark: Any) -> None:
    frame = spark.createDataFrame([(f"u{at}", at) for at in range(40)], "login string, years int").repartition(3)
    done = graph.load(frame, type="Person", columns={"name": "login", "age": "years"})
    assert (done.runner, dict(done.nodes)) == ("spark", {"Person": 40})
    assert graph.get("Person", "u39")["age"] == 39  # type: ignore[index]
    ordered = spark.range(0, 30, 1, 3).selectExpr("concat('v', id) AS name", "int(id * 10) AS age")
    with pytest.raises(ValueViolation, match="@range violation") as refused:
        graph.load(ordered, type="Person")
    assert (refused.value.line, refused.value.file) == (17, None)
    empty = spark.createDataFrame([], "name string")
    assert graph.load(empty, type="Person").total_entities == 0


def test_a_spark_frame_without_columns_is_refused_instead_of_losing_its_rows(tmp_path: Path, spark: Any) -> None:
    with og.init(tmp_path / "g", SCHEMA) as graph, pytest.raises(BadRequest, match="the frame has no columns"):
        graph.load(spark.range(3).select(), type="Person", spark=spark)


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_files_that_tasks_have_written_have_checksums(graph: og.Graph, mode: str) -> None:
    graph.load(PEOPLE)
    more = lines(*(person(f"later{number}", age=number) for number in range(40)), person("later3b", age=1))
    run(access(graph), request(PEOPLE + b"\n" + more if mode == "overwrite" else more, mode))
    report = graph.check()
    assert report.findings == ()
    assert (report.counts.unverified_files, report.counts.rows > 40) == (0, True)


def test_files_that_executors_have_written_have_checksums(graph: og.Graph, spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "people.jsonl"
    source.write_bytes(MANY)
    assert graph.load(source, runner="spark", spark=spark).runner == "spark"
    report = graph.check()
    assert report.findings == ()
    assert (report.counts.unverified_files, report.counts.verified_files > 1) == (0, True)


@pytest.mark.parametrize("packed", [False, True])
def test_a_large_csv_file_is_shared_by_many_tasks_and_keeps_its_lines(
    graph: og.Graph, tmp_path: Path, packed: bool
) -> None:
    """Cells hold line breaks and quotes, so that where a row ends depends on everything before it."""
    rows = [f'p{at},"{at}@x","{"a" if at % 40 else "B"}",{at % 200}' for at in range(300)]
    rows = [row if at % 7 else row.replace("@x", '""\n@x') + "\n" for at, row in enumerate(rows)]
    data = ("name,email,code,age\n" + "\n".join(rows) + "\n").encode()
    path = tmp_path / ("people.csv.gz" if packed else "people.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    whole, cut = (
        request(str(path), type="Person", on_error="skip", rejects=str(tmp_path / name)) for name in ("whole", "cut")
    )
    with og.init(tmp_path / "other", SCHEMA) as other:
        expected = load(access(other), whole, LocalTasks())
        found = load(access(graph), cut, LocalTasks(), TINY)
        assert exported(graph) == exported(other)
    assert (found.nodes, found.rejected) == (expected.nodes, expected.rejected)
    assert set(found.rejected) == {"W010", "W011"}
    assert (tmp_path / "cut/rejects.jsonl").read_text() == (tmp_path / "whole/rejects.jsonl").read_text()
    stages = {stage.name: stage.tasks for stage in cut.clock.profile(0).stages}
    assert (stages["unpack"], stages["stage"] > 5) == (1, True)
    assert "unpack" not in {stage.name for stage in whole.clock.profile(0).stages}


# --- files that change, and files that are named twice ------------------------------------------------------------


CHANGES = {
    "cut off": lambda path: path.write_bytes(lines(person("z"))),
    "written again": lambda path: path.write_text(path.read_text().replace("n1", "m1")),
    "longer": lambda path: path.write_bytes(path.read_bytes() + lines(person("z"))),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_that_changes_while_tasks_read_it_is_refused(graph: og.Graph, tmp_path: Path, change: Any) -> None:
    path = tmp_path / "people.jsonl"
    path.write_bytes(lines(*[person(f"n{at}", role="admin") for at in range(60)]))
    before = exported(graph)
    done: list[Progress] = []

    def watched(progress: Progress) -> None:
        if progress.stage == "stage" and progress.done == 2 and not done:
            done.append(progress)
            change(path)

    told = "was changed while it was loaded" if change is not CHANGES["gone"] else "there is no file|is not on|changed"
    with pytest.raises((BadRequest, NotFound), match=told):
        run(access(graph), request(str(path), progress=watched))
    assert done
    assert exported(graph) == before


def test_a_compressed_file_that_changes_while_it_is_taken_apart_is_refused(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.jsonl.gz"
    path.write_bytes(gzip.compress(lines(*[person(f"n{at}") for at in range(2_000)])))
    real = unpack.open_output

    def changing(place: str) -> Any:
        path.write_bytes(gzip.compress(lines(*[person(f"m{at}") for at in range(2_000)])))
        return real(place)

    monkeypatch.setattr(unpack, "open_output", changing)
    with pytest.raises(BadRequest, match="was changed while it was loaded"):
        run(access(graph), request(str(path)))
    assert graph.query("query q() { match { $p: Person } return { count($p) as n } }").rows() == [{"n": 0}]


@pytest.mark.parametrize("kind", ["records", "table"])
def test_a_file_that_changes_while_this_process_reads_it_is_refused(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / ("people.jsonl" if kind == "records" else "people.csv")
    path.write_bytes(lines(person("a")) if kind == "records" else b"name\na\n")
    name = "decode_ndjson" if kind == "records" else "decode_table_file"
    real = getattr(sources, name)

    def decoded(*given: Any, **more: Any) -> Any:
        with path.open("a") as file:
            file.write("\n")
        return real(*given, **more)

    monkeypatch.setattr(sources, name, decoded)
    with pytest.raises(BadRequest, match="was changed while it was loaded"):
        graph.load(path, runner="inline", **({} if kind == "records" else {"type": "Person"}))


@pytest.mark.parametrize("runner", ["inline", "tasks"])
def test_a_file_that_two_patterns_name_is_read_once(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.jsonl").write_bytes(lines(person("a"), person("b")))
    (tmp_path / "knows.jsonl").write_bytes(lines(edge("Knows", "a", "b")))
    given = ["people.jsonl", "*.jsonl", str(tmp_path / "knows.jsonl"), "./people.jsonl"]
    done = run(access(graph), request(given)) if runner == "tasks" else graph.load(given, runner="inline")
    assert (done.nodes, done.edges) == ({"Person": 2}, {"Knows": 1})
