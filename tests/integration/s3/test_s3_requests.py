"""How many requests reads and commits of a graph in a bucket take, and that a second process has what the first fetched.

`docs/storage.md` states these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.storage.base import derived_remote
from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.base.objects import open_objects
from omnigraph.storage.lance.reclaim import existing_versions
from omnigraph.storage.manifest import manifest, tips
from omnigraph.storage.protocol.trim import trim_manifest
from omnigraph.testing.services.s3server import S3Server
from omnigraph.testing.services.store_proxy import Seen, StoreProxy, running_proxy

SCHEMA = "node Person { name: String @key bio: String age: I32 }\nnode Pet { name: String @key }\nedge Knows: Person -> Person"
PEOPLE = 21_000  # enough for key indexes, corpora and pages
POINT = "query q($n: String) { match { $a: Person { name: $n } } return { $a.name, $a.bio } }"
TWO_HOP = "query q($n: String) { match { $a: Person { name: $n } $a knows $b $b knows $c } return { $c.name } order { $c.name } }"
TEXT = (
    "query q($n: String) { match { $p: Person } return { $p.name } order { bm25($p.bio, $n) desc, $p.name } limit 3 }"
)
PETS = "query q() { match { $p: Pet } return { $p.name } }"
QUERIES = {"point": (POINT, "p17"), "two hops": (TWO_HOP, "p17"), "text": (TEXT, "w17 w23")}
INSERT = "query q($n: String) { insert Person { name: $n bio: $n age: 3 } insert Pet { name: $n } }"
COMMIT = 30  # of two tables, right after the manifest was compacted
PER_FRAGMENT = 2  # and for each commit since then


@pytest.fixture(scope="module")
def proxy(s3_server: S3Server) -> Iterator[StoreProxy]:
    with running_proxy(s3_server.endpoint) as running:
        yield running


@pytest.fixture(scope="module")
def made(proxy: StoreProxy, s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A graph that is only read; its indexes and derived state lie beside it."""
    place = s3_server.fresh_root().uri
    with pytest.MonkeyPatch.context() as patch:
        _reach(patch, s3_server, proxy, tmp_path_factory.mktemp("maker"))
        with og.init(place, SCHEMA) as graph:
            people = (
                {"type": "Person", "data": {"name": f"p{n}", "bio": f"w{n % 97} w{n % 89}", "age": n % 90}}
                for n in range(PEOPLE)
            )
            edges = ({"edge": "Knows", "from": f"p{n}", "to": f"p{n * 7 % PEOPLE}"} for n in range(PEOPLE))
            graph.load([*people, *edges])
            graph.optimize()
    return place


@pytest.fixture(autouse=True)
def machine(
    proxy: StoreProxy, s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.MonkeyPatch:
    """A machine with an empty cache."""
    _reach(monkeypatch, s3_server, proxy, tmp_path)
    proxy.take_seen()
    return monkeypatch


def _reach(patch: pytest.MonkeyPatch, server: S3Server, proxy: StoreProxy, cache: Path) -> None:
    for name, value in (server.environment | {"AWS_ENDPOINT_URL_S3": proxy.endpoint}).items():
        patch.setenv(name, value)
    patch.setenv("OMNIGRAPH_CACHE_DIR", str(cache))
    patch.setattr(derived_remote, "_asked", {})


def ask(graph: og.Graph, name: str) -> list[dict[str, Any]]:
    text, given = QUERIES[name]
    return graph.query(text, params={"n": given}).rows()


def warmed(graph: og.Graph) -> dict[str, list[dict[str, Any]]]:
    """The answers, asked for until everything that is worth keeping has been fetched."""
    for _ in range(6):
        answers = {name: ask(graph, name) for name in QUERIES}
    return answers


def test_a_read_that_was_asked_before_takes_one_request(made: str, proxy: StoreProxy) -> None:
    with og.open(made) as graph:
        warmed(graph)
        for name in QUERIES:
            proxy.take_seen()
            ask(graph, name)
            assert len(proxy.take_seen()) == 1, name  # which manifest is the newest


def test_the_next_version_is_asked_for_by_its_name_and_listed_every_two_seconds(
    made: str, proxy: StoreProxy, machine: pytest.MonkeyPatch
) -> None:
    with og.open(made) as graph:
        warmed(graph)
        machine.setattr(tips, "LISTING_SECONDS", 600.0)
        ask(graph, "point")
        proxy.take_seen()
        ask(graph, "point")
        (seen,) = proxy.take_seen()
        assert seen.method == "HEAD"
        assert "/__manifest/_versions/" in seen.target
        machine.setattr(tips, "LISTING_SECONDS", 0.0)
        ask(graph, "point")
        (seen,) = proxy.take_seen()
        assert seen.method == "GET"
        assert "list-type=2" in seen.target


def test_a_commit_of_another_process_is_seen_by_the_next_read(s3_server: S3Server) -> None:
    place = s3_server.fresh_root().uri
    with og.init(place, SCHEMA) as writer, og.open(place, read_only=True) as reader:
        for number in range(6):
            assert len(reader.query(PETS)) == number
            writer.mutate("query q($n: String) { insert Pet { name: $n } }", params={"n": f"p{number}"})
            if number % 2:
                writer.cleanup(keep=1, confirm=True)
            else:
                writer.optimize()
        assert len(reader.query(PETS)) == 6


def test_the_successor_of_what_a_reader_knows_is_not_removed_within_seconds(s3_server: S3Server) -> None:
    with og.init(s3_server.fresh_root().uri, SCHEMA) as graph:
        root = graph._core.store.root
        known = manifest.load(root).handle
        graph.mutate(INSERT, params={"n": "p"})
        assert trim_manifest(root.manifest(), keep=1).versions == 0
        assert known.version + 1 in existing_versions(manifest.load(root).handle)


def test_a_second_process_reads_no_data_again(made: str, proxy: StoreProxy) -> None:
    with og.open(made) as first:
        expected = warmed(first)
    assert expected["two hops"]
    for name in QUERIES:
        with og.open(made, read_only=True) as second:
            proxy.take_seen()
            assert ask(second, name) == expected[name]
            seen = proxy.take_seen()
            assert not [each for each in seen if "/data/" in each.target or "/__derived/" in each.target], name
            # The newest manifest, and of each table it names the version file, asked for and read.
            assert len(seen) <= 1 + 2 * (2 if name == "two hops" else 1), (name, _listed(seen))


def test_a_process_with_no_room_for_a_cache_reads_the_same(made: str, tmp_path: Path) -> None:
    with og.open(made, settings=og.Settings(cache=0)) as graph:
        answers = warmed(graph)
    assert not list(tmp_path.rglob("*.arrow"))
    with og.open(made) as graph:
        assert warmed(graph) == answers
    assert list(tmp_path.rglob("*.arrow"))


def test_the_cache_stays_within_its_bound(made: str, tmp_path: Path, machine: pytest.MonkeyPatch) -> None:
    small = tmp_path / "small"
    machine.setenv("OMNIGRAPH_CACHE_DIR", str(small))
    with og.open(made, settings=og.Settings(cache="1MiB")) as graph:
        warmed(graph)
        for number in range(0, PEOPLE, 1_500):
            graph.query(POINT, params={"n": f"p{number}"})
    files = [path for path in small.rglob("*") if path.is_file()]
    largest = max(
        sum(each.stat().st_size for each in files if each.parent == place) for place in {f.parent for f in files}
    )
    assert sum(path.stat().st_size for path in files) <= (1 << 20) * 17 / 16 + largest


def test_a_graph_that_was_made_again_at_the_same_place_is_not_answered_from_the_cache(s3_server: S3Server) -> None:
    place = s3_server.fresh_root().uri
    answers = []
    for word in ("first", "second"):
        open_objects(normalize_root(place)).delete_prefix("")
        with og.init(place, SCHEMA) as graph:
            graph.load([{"type": "Person", "data": {"name": f"p{n}", "bio": word, "age": 1}} for n in range(5_000)])
        with og.open(place) as graph:
            warmed(graph)
            answers.append(ask(graph, "point"))
    assert answers == [[{"a.name": "p17", "a.bio": "first"}], [{"a.name": "p17", "a.bio": "second"}]]


def test_opening_takes_a_known_number_of_requests(s3_server: S3Server, proxy: StoreProxy) -> None:
    place = s3_server.fresh_root().uri
    og.init(place, SCHEMA).close()
    for read_only, expected in ((True, 9), (False, 20)):
        proxy.take_seen()
        og.open(place, read_only=read_only).close()
        seen = proxy.take_seen()
        assert len(seen) == expected, _listed(seen)


def test_a_commit_of_two_tables_takes_a_known_number_of_requests(s3_server: S3Server, proxy: StoreProxy) -> None:
    with og.init(s3_server.fresh_root().uri, SCHEMA) as graph:
        counts = []
        for number in range(4):
            proxy.take_seen()
            graph.mutate(INSERT, params={"n": f"p{number}"})
            seen = proxy.take_seen()
            counts.append(len(seen))
            assert sum(each.method == "PUT" for each in seen) == 11, _listed(seen)
    assert counts[0] == COMMIT
    # From then on the manifest that the last commit made is opened, and both tables have a file to look through.
    assert counts[1:] == [COMMIT + 2 + PER_FRAGMENT * since for since in (1, 2, 3)]


def _listed(seen: list[Seen]) -> str:
    return "\n".join(f"{each.method} {each.target}" for each in seen)
