"""What a load says about the rows that it refuses: the same from every run and runner, down to the bytes of the file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from load_cases import BAD_LINES, MANY, PEOPLE, SCHEMA, edge, lines, node, person
from outcomes import inline, plain

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.values.result import LoadMode, LoadResult
from omnigraph.errors import KeyConflict, ValueViolation
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.testing.graphs.loads import export_text

Load = Callable[[Any, LoadRequest], LoadResult]
# So small that every input has many splits, and every check many partitions.
TINY = Tuning(split_bytes=400, split_rows=3, bucket_rows=5, partition_rows=5, keyed_rows=0)
SMALL = Tuning(split_bytes=2_500, split_rows=6, bucket_rows=50)
MIXED = lines(
    BAD_LINES["enum"],
    BAD_LINES["not-json"],
    PEOPLE,
    person("p3", age=5),
    edge("Knows", "p1", "nobody"),
    edge("Knows", "nobody", "nowhere", id="both-ends"),
    *(edge("WorksAt", "p7", "acme", id=f"many{at}") for at in range(4)),
)
COUNTS = {"W006": 1, "W012": 1, "W013": 2, "W014": 3, "W019": 1}


def request(data: Any, mode: LoadMode = "append", **options: Any) -> LoadRequest:
    return LoadRequest(data=data, mode=mode, **options)


def refusal(place: Path, run: Load, asked: LoadRequest, before: bytes = b"") -> dict[str, Any]:
    """How a load is refused, on a graph of its own."""
    graph = og.init(place, SCHEMA)
    if before:
        graph.load(before)
    with pytest.raises((ValueViolation, KeyConflict)) as refused:
        run(access(graph), asked)
    error = refused.value
    told = [str(error), *getattr(error, "__notes__", ())]
    return {
        "class": type(error),
        "text": [plain(line, place) for line in told],
        "counts": dict(error.refused),
        "others": [plain(other, place) for other in error.others],
        "details": plain(str(error.details()), place),
    }


def given(form: str, place: Path) -> LoadRequest:
    """One input in several forms."""
    if form == "frame":
        return request(pa.table({"name": ["a", "b", "a", None], "age": [1, 200, 2, 3]}), type="Person")
    if form == "file":
        (place / "in.jsonl").write_bytes(MIXED)
        return request(str(place / "in.jsonl"))
    return request([line.decode() for line in MIXED.splitlines()] if form == "lines" else MIXED)


@pytest.mark.parametrize("form", ["bytes", "lines", "frame", "file"])
def test_a_load_that_stops_counts_every_kind_of_problem_whatever_it_is_given(tmp_path: Path, form: str) -> None:
    asked = given(form, tmp_path)
    at_once = refusal(tmp_path / "inline", inline, asked)
    assert at_once["counts"] == ({"W001": 1, "W010": 1, "W012": 1} if form == "frame" else COUNTS)
    assert at_once["text"][1] == "refused: " + ", ".join(f"{n} x {code}" for code, n in at_once["counts"].items())
    assert [line.strip() for line in at_once["text"][2:]] == at_once["others"]
    assert all(code in at_once["details"] for code in at_once["counts"])
    assert refusal(tmp_path / "tasks", partial(load, tasks=LocalTasks()), asked) == at_once
    assert refusal(tmp_path / "split", partial(load, tasks=LocalTasks(), tuning=TINY), asked) == at_once


def test_spark_says_the_same_of_a_load_that_stops(tmp_path: Path, spark: Any) -> None:
    asked = given("bytes", tmp_path)
    at_once = refusal(tmp_path / "inline", inline, asked)
    on_spark = partial(load, tasks=SparkTasks(spark), tuning=Tuning(split_bytes=700, bucket_rows=50))
    assert refusal(tmp_path / "spark", on_spark, asked) == at_once


def test_one_refused_row_is_counted_and_says_no_more(tmp_path: Path) -> None:
    found = refusal(tmp_path / "one", inline, request(lines(person("p1"))), PEOPLE)
    assert (found["class"], found["counts"], found["others"], len(found["text"])) == (KeyConflict, {"W015": 1}, [], 1)


def test_a_load_inside_a_transaction_counts_them_too(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", SCHEMA)
    with pytest.raises(ValueViolation) as refused, graph.transaction() as writes:
        writes.load(MIXED)
    assert refused.value.refused == COUNTS


# --- a load whose every row is left out -------------------------------------------------------------


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_load_whose_every_row_is_refused_makes_no_commit(tmp_path: Path, mode: LoadMode) -> None:
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load(PEOPLE)
    head = graph.refresh()
    for number, tasks in enumerate((LocalTasks(), LocalTasks())):
        tuning = (Tuning(), TINY)[number]
        asked = request(lines(BAD_LINES["enum"], edge("Knows", "no", "p1")), mode, on_error="skip")
        done = load(access(graph), asked, tasks, tuning)
        assert (done.commit, dict(done.rejected), done.total_entities) == (None, {"W006": 1, "W013": 1}, 0)
    assert graph.load(BAD_LINES["enum"], mode, on_error="skip", runner="inline").commit is None
    assert graph.refresh() == head
    assert list((tmp_path / "g").glob("__loads/*")) == []
    assert graph.load(b"", mode).commit is not None, "input without rows is a load of nothing, as the contract has it"


def test_a_load_on_spark_whose_every_row_is_refused_makes_no_commit(tmp_path: Path, spark: Any) -> None:
    graph = og.init(tmp_path / "g", SCHEMA)
    head = graph.refresh()
    done = graph.load(BAD_LINES["enum"], on_error="skip", spark=spark)
    assert (done.runner, done.commit, dict(done.rejected)) == ("spark", None, {"W006": 1})
    assert graph.refresh() == head


# --- the file of refused rows -------------------------------------------------------------------------


def records() -> bytes:
    """Every way to be wrong, among good rows; some rows are wrong in several ways."""
    return lines(
        *BAD_LINES.values(),
        MANY,
        b"\n",
        person("m003", age=5),
        person("m003", age=7, email="m004@x"),
        person("twin", email="m004@x"),
        person("both", age=200, code="9"),
        node("Slot", tenant="t", number=1, kind="k"),
        node("Slot", tenant="t", number=2, kind="k"),
        node("Slot", tenant="t", number=1, kind="other"),
        node("Note", id="same", text="one"),
        node("Note", id="same", text="two"),
        edge("Knows", "nobody", "nowhere", id="both-ends"),
        edge("Knows", "nobody", "nowhere"),
        edge("Knows", "twin", "m001", id="to-a-refused-node"),
        edge("Knows", "m001", "m002", id="again"),
        edge("Knows", "m002", "m003", id="again"),
        node("Company", name="acme"),
        *(edge("WorksAt", f"m00{at}", "acme", id=f"w{at}{number}") for number in range(4) for at in range(3)),
        edge("WorksAt", "p0", "globex", id="committed"),
        *(edge("Owns", "m005", "same", id=f"own{number}") for number in range(4)),
        b'{"type":"Person","data":{"name":"last"}',
    )


PEOPLE_TABLE = pa.table(
    {
        "name": [*(f"t{at}" for at in range(24)), None, "t3", "ok", "t5", "p2", "p5"],
        "age": [*map(str, range(24)), "1", "old", "999", "2.5", "7", "8"],
        "role": [*["admin"] * 24, "user", "king", "user", "admin", "king", "user"],
        "email": [*(f"t{at}@x" if at % 2 else None for at in range(24)), "t3@x", "t5@x", "p3@x", "q@x", None, None],
    }
)
LINKS_TABLE = pa.table(
    {
        "id": [*(f"l{at}" for at in range(12)), "l1", None, None, "l20", "l21"],
        "from": [*(f"p{at}" for at in range(12)), "p1", "nobody", None, "nobody", "p1"],
        "to": [*(f"p{(at * 5) % 12}" for at in range(12)), "p2", "nowhere", "p1", "p3", "nowhere"],
        "since": [*["2024-01-01"] * 12, "2024-01-01", "soon", "2024-01-01", "2024-13-01", "2024-02-02"],
    }
)
JOBS_TABLE = pa.table(
    {
        "id": [f"j{at}" for at in range(14)],
        "src": [*["p0"] * 3, *["p1"] * 5, *["p2"] * 2, "p3", "nobody", "p4", "p4"],
        "dst": [*["acme", "globex"] * 5, "nowhere", "nowhere", "acme", "globex"],
    }
)


def inputs(form: str, place: Path) -> list[dict[str, Any]]:
    """Loads of one kind of file, as options of a request."""
    if form == "ndjson":
        (place / "in.jsonl").write_bytes(records())
        return [{"data": str(place / "in.jsonl")}]
    found = []
    for name, table in (("Person", PEOPLE_TABLE), ("Knows", LINKS_TABLE), ("WorksAt", JOBS_TABLE)):
        path = place / f"{name}.{form}"
        if form == "parquet":
            if name == "Person":  # cells of Parquet have a type: these are too large instead
                ages = [None if text in ("old", "2.5") else int(text) for text in table["age"].to_pylist()]
                table = table.set_column(1, "age", pa.array([1 << 40 if age is None else age for age in ages]))
            pq.write_table(table, path, row_group_size=3)
        else:
            pcsv.write_csv(table, path)
            header, *rows = path.read_text().splitlines(keepends=True)
            ragged = ["alone\n", '"two\nlines"\n\n', "1,2,3,4,5,6\n"]
            path.write_text("".join([header, ragged[0], *rows[:7], ragged[1], *rows[7:], ragged[2]]))
        found.append({"data": str(path), "type" if name == "Person" else "edge": name})
    return found


def outcomes(place: Path, runs: list[Load], asked: dict[str, Any], mode: LoadMode) -> list[tuple[Any, ...]]:
    """What each run of one load leaves: counts, the bytes of the file of refused rows, and the graph."""
    found = []
    for number, run in enumerate(runs):
        graph = og.init(place / f"g{number}", SCHEMA)
        graph.load(PEOPLE, runner="inline")
        kept = place / f"r{number}.jsonl"
        done = run(access(graph), request(mode=mode, on_error="skip", rejects=str(kept), **asked))
        assert sum(done.rejected.values()) == len(kept.read_bytes().splitlines()), "one row, one entry"
        found.append((dict(done.rejected), kept.read_text(), dict(done.nodes), dict(done.edges), exported(graph)))
    return found


def exported(graph: og.Graph) -> str:
    return plain(export_text(graph._core), Path("/nowhere"))


@pytest.mark.parametrize(
    ("form", "mode"),
    [
        *((form, mode) for form in ("ndjson", "csv", "parquet") for mode in ("append", "merge")),
        ("ndjson", "overwrite"),  # tables bring one type, and without its nodes the edges of others would dangle
    ],
)
def test_refused_rows_are_the_same_bytes_however_the_work_is_split(tmp_path: Path, form: str, mode: LoadMode) -> None:
    runs = [inline, partial(load, tasks=LocalTasks()), partial(load, tasks=LocalTasks(), tuning=TINY)]
    for number, asked in enumerate(inputs(form, tmp_path)):
        place = tmp_path / str(number)
        place.mkdir()
        first, *others = outcomes(place, runs, asked, mode)
        assert first[0], "something is refused"
        assert all(other == first for other in others)
        for at, run in enumerate(runs):
            graph, kept = og.init(place / f"stops{at}", SCHEMA), place / f"stops{at}.jsonl"
            graph.load(PEOPLE, runner="inline")
            with pytest.raises((ValueViolation, KeyConflict)) as refused:
                run(access(graph), request(mode=mode, rejects=str(kept), **asked))
            assert kept.read_text() == first[1], "a load that stops lists what one that skips leaves out"
            assert dict(refused.value.refused) == first[0]


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_refused_rows_are_the_same_bytes_on_spark(tmp_path: Path, form: str, spark: Any) -> None:
    """With one split, and with many that are small."""
    on_spark = [partial(load, tasks=SparkTasks(spark)), partial(load, tasks=SparkTasks(spark), tuning=SMALL)]
    for number, asked in enumerate(inputs(form, tmp_path)):
        place = tmp_path / str(number)
        place.mkdir()
        first, *others = outcomes(place, [inline, *on_spark], asked, "append")
        assert all(other == first for other in others)


def test_all_kinds_of_problems_are_among_the_refused_rows(tmp_path: Path) -> None:
    """The inputs that are compared have what they should have: else equal files would prove little."""
    codes: dict[str, set[str]] = {}
    for form in ("ndjson", "csv", "parquet"):
        place = tmp_path / form
        place.mkdir()
        for number, asked in enumerate(inputs(form, place)):
            at = place / str(number)
            at.mkdir()
            codes.setdefault(form, set()).update(outcomes(at, [inline], asked, "append")[0][0])
    assert codes["ndjson"] >= {"W001", "W002", "W006", "W010", "W011", "W012", "W013", "W014", "W017", "W018", "W019"}
    for form in ("csv", "parquet"):
        assert codes[form] >= {"W001", "W002", "W006", "W012", "W013", "W014", "W015"}
