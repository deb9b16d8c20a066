"""The comparison with other engines: peers are their newest releases, and everybody answers the same questions equally."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bench import search, social
from bench.peers.engine import QUESTIONS, params_of
from bench.peers.registry import ENGINES, engine_class
from bench.search_data import write_data
from bench.search_engines import VECTOR
from bench.search_page import page
from omnigraph.engine.maintenance import topology_builds
from omnigraph.engine.read.match import leading
from omnigraph.engine.read.plan import statistics
from omnigraph.engine.read.topology import files, store

ROOT = Path(__file__).parent.parent
_AGE = timedelta(days=183)
# Older than that, but the newest there was on the day that is named, which may not be longer ago either.
_NEWEST_ON = {"igraph": ("1.0.0", "2026-11-17"), "networkx": ("3.6.1", "2026-11-17")}


def test_the_peers_that_are_compared_with_are_recent_releases() -> None:
    locked = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    names = {"duckdb", *(_name(each) for each in _bench_group())}
    assert {package for _, _, package in ENGINES.values()} <= names | {"omnigraph"}
    stale = {
        f"{package['name']} {package['version']}"
        for package in locked
        if package["name"] in names and datetime.now(UTC) - _known_since(package) > _AGE
    }
    assert not stale, "renew the lock (uv lock -P NAME), or say in _NEWEST_ON that there is nothing newer"


def _bench_group() -> list[str]:
    groups: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"][
        "bench"
    ]
    return groups


def _name(requirement: str) -> str:
    return requirement.partition(">")[0].strip()


def _known_since(package: dict[str, Any]) -> datetime:
    """When the release was uploaded, or when somebody last looked for a newer one."""
    version, looked = _NEWEST_ON.get(package["name"], ("", ""))
    if version == package["version"]:
        return datetime.fromisoformat(looked).replace(tzinfo=UTC)
    times = [str(file["upload-time"]) for file in (*package.get("wheels", ()), package.get("sdist")) if file]
    return max(datetime.fromisoformat(time) for time in times)


def test_every_question_gets_the_same_answer_from_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(social, "HOME", tmp_path / "data")
    monkeypatch.setattr(statistics, "WORTH_KEEPING", 10)  # small tables have statistics of what is in memory only
    monkeypatch.setattr(files, "WORTH_KEEPING", 10)
    monkeypatch.setattr(topology_builds, "WORTH_KEEPING", 10)
    monkeypatch.setattr(store, "WORTH_KEEPING", 10)
    monkeypatch.setattr(leading, "_MANY_EDGES", 10)
    monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", "auto")  # the engine of the comparison sets it; put back afterwards
    size = replace(social.SIZES["tiny"], people=300, knows=2_400, companies=20)
    data = social.write_graph(size)
    seeds = social.seeds(size)
    ours, peer = (engine_class(name)(tmp_path / name) for name in ("omnigraph", "duckdb"))
    for engine in (ours, peer):
        engine.build(data)
        engine.open()
        assert {question.name for question in QUESTIONS} == set(engine.texts)
    for question in QUESTIONS:
        for number in range(3):
            params = params_of(question, seeds, number)
            assert _plain(ours.ask(question, params)) == _plain(peer.ask(question, params)), question.name
    ours._graph.ensure_indices()
    for question in QUESTIONS:
        _is_estimated(ours, question, params_of(question, seeds, 0))
    for engine in (ours, peer):
        engine.insert(0)
        engine.close()


def _is_estimated(ours: Any, question: Any, params: dict[str, Any]) -> None:
    """Every operator yields between a tenth and ten times the rows that `explain` expects of it."""
    plan = ours._graph.query(ours.texts[question.name], params=params).explanation.to_dict()["operators"]
    assert plan
    for each in plan:
        rows, expected = each["rows"] + 1, each["expected_rows"] + 1
        assert expected / 10 <= rows <= expected * 10, f"{question.name}: {each}"


def _plain(answer: Any) -> list[tuple[Any, ...]]:
    rows = answer if isinstance(answer, list) else [(value,) for value in answer.column(0).to_pylist()]
    return sorted(tuple(round(value, 9) if isinstance(value, float) else value for value in row) for row in rows)


def test_a_search_run_has_the_recall_it_promises_and_says_what_was_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "DIM", 8)
    folders = {3_000: tmp_path / "more", 2_000: tmp_path / "fewer"}
    write_data(folders, 8)
    ours = search._in_a_process("omnigraph", folders[3_000])
    assert "late" not in ours
    assert min(ours["recall"].values()) >= 0.95
    assert {"load", "build", "MB"} <= ours.keys()
    monkeypatch.setattr(search, "_SECONDS", 0.0)  # nothing is that fast, so it is tried with fewer rows
    late = search._sittings(["omnigraph", "lancedb"], folders)
    assert {count: [*found] for count, found in late.items()} == {
        3_000: ["omnigraph", "lancedb"],
        2_000: ["omnigraph", "lancedb"],
    }
    peer = {
        "ms": {"bm25 top-10": ours["ms"]["bm25 top-10"] / 4},
        "recall": {},
        "MB": 1.0,
        **late[2_000]["lancedb"]["late"],
    }
    written = page(
        {3_000: {"omnigraph": ours, "lancedb": {**peer, "late": {"after": "loading", "failed": False}}}}, 8, 75, "then"
    )
    assert "(**0.25×**)" in written
    assert "LanceDB 0.40 with 3,000 rows: what comes after loading did not end within 75 s." in written


def test_a_time_that_another_engine_takes_for_fewer_neighbours_says_so() -> None:
    def engine(milliseconds: float, recall: float) -> dict[str, dict[str, float]]:
        return {"ms": {VECTOR: milliseconds}, "recall": {VECTOR: recall}}

    sitting = {"omnigraph": engine(4.0, 0.99), "lancedb": engine(3.0, 0.03), "kuzu": engine(2.0, 0.96)}
    (row,) = (line for line in page({1_000: sitting}, 8, 75, "now").splitlines() if "as the engine comes" in line)
    assert "3.0 (0.75×, but finds less), recall 0.030" in row
    assert "2.0 (**0.50×**), recall 0.960" in row
