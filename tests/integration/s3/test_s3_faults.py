"""A store that throttles, loses answers, is slow or goes away: writes wait it out or say so, and nothing is lost."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

import omnigraph as og
from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of
from omnigraph.testing.services.s3server import S3Server
from omnigraph.testing.services.store_proxy import Fault, StoreProxy, running_proxy

SCHEMA = "node Person { name: String @key } node Pet { name: String @key }"
INSERT = "query q($n: String) { insert Person { name: $n } insert Pet { name: $n } }"
SETTINGS = og.Settings(lease_ttl_ms=2_000, lease_skew_ms=0)
RETRY_SECONDS = 5  # a fifth of it for every request of lance


@dataclass
class Remote:
    """A graph behind a proxy, and the names whose writes were acknowledged."""

    proxy: StoreProxy
    server: S3Server
    place: str
    names: set[str] = field(default_factory=set)

    def open(self) -> og.Graph:
        return og.open(self.place, settings=SETTINGS)

    def write(self, graph: og.Graph, name: str) -> None:
        assert graph.mutate(INSERT, params={"n": name}).commit is not None
        self.names.add(name)

    def check(self, *, maybe: str | None = None) -> None:
        """Without faults: all that was acknowledged is there, in both tables, the graph is sound and takes writes."""
        self.proxy.inject()
        graph = self.open()
        assert violations(graph._core.store) == []
        rows = image_of(graph.view())
        found = set(rows["node:Person"])
        assert found == set(rows["node:Pet"])
        assert self.names <= found <= self.names | ({maybe} - {None})
        self.names = found
        history = graph.commits.list()
        assert [each.parent_commit_id for each in history] == [*(each.graph_commit_id for each in history[1:]), None]
        self.write(graph, f"after-{len(found)}")


@pytest.fixture(scope="module")
def proxy(s3_server: S3Server) -> Iterator[StoreProxy]:
    with running_proxy(s3_server.endpoint) as running:
        yield running


@pytest.fixture
def remote(proxy: StoreProxy, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    environment = s3_server.environment | {"AWS_ENDPOINT_URL_S3": proxy.endpoint}
    for name, value in {**environment, "OMNIGRAPH_STORE_RETRY_SECONDS": str(RETRY_SECONDS)}.items():
        monkeypatch.setenv(name, value)
    proxy.inject()
    yield Remote(proxy, s3_server, s3_server.fresh_root().uri)
    proxy.inject()


@pytest.fixture
def impatient(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a store that does not come back: each of many requests gives up after a second."""
    monkeypatch.setenv("OMNIGRAPH_STORE_RETRY_SECONDS", "1")


@pytest.fixture
def graph(remote: Remote) -> og.Graph:
    made = og.init(remote.place, SCHEMA, settings=SETTINGS)
    remote.write(made, "ana")
    return made


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_throttled_write_goes_through(remote: Remote, graph: og.Graph, status: int) -> None:
    remote.proxy.inject(*(Fault("status", (method,), times=3, status=status) for method in ("GET", "PUT", "HEAD")))
    remote.write(graph, "bo")
    assert sum(seen.status == status for seen in remote.proxy.take_seen()) >= 6
    remote.check()


LOST = {
    "data files": "/nodes/.*/data/",
    "transactions": "/nodes/.*/_transactions/",
    "versions of tables": "/nodes/.*/_versions/",
    "sidecars": "/__recovery/",
    "data files of the manifest": "/__manifest/data/",
    "versions of the manifest": "/__manifest/_versions/",
}


@pytest.mark.parametrize("target", LOST.values(), ids=LOST)
def test_a_lost_acknowledgement_neither_loses_nor_repeats_a_write(remote: Remote, graph: og.Graph, target: str) -> None:
    before = len(graph.commits.list())
    remote.proxy.take_seen()
    remote.proxy.inject(Fault("lose_answer", ("PUT",), target, times=1))
    remote.write(graph, "bo")
    assert [seen.status for seen in remote.proxy.take_seen()].count(0) == 1
    assert len(graph.commits.list()) == before + 1
    remote.check()


def test_branches_and_merges_survive_lost_acknowledgements(remote: Remote, graph: og.Graph) -> None:
    remote.proxy.inject(
        Fault("lose_answer", ("PUT",), "/_refs/", times=2), Fault("lose_answer", ("PUT",), "/tree/", times=2)
    )
    graph.branches.create("review")
    remote.write(graph.branch("review"), "bo")
    graph.branches.merge("review")
    remote.check()
    assert set(remote.open().branches.list()) == {"main", "review"}


def test_a_graph_is_made_although_its_claim_was_not_acknowledged(remote: Remote) -> None:
    remote.proxy.inject(Fault("lose_answer", ("PUT",), "__init_claim|_schema", times=2))
    og.init(remote.place, SCHEMA, settings=SETTINGS)
    remote.check()


def test_guarded_writes_know_their_own_objects(remote: Remote) -> None:
    objects = open_objects(normalize_root(remote.place))
    remote.proxy.inject(Fault("lose_answer", ("PUT",), times=1))
    assert objects.write_if_absent("claim", "same text")
    assert not objects.write_if_absent("claim", "same text")
    found = objects.read_tagged("claim")
    assert found is not None
    remote.proxy.inject(Fault("lose_answer", ("PUT",), times=1))
    assert objects.write_if_match("claim", "next", found[1])
    assert not objects.write_if_match("claim", "next", found[1])
    assert objects.read("claim") == "next"


def test_a_store_that_is_away_for_a_moment_is_waited_for(remote: Remote, graph: og.Graph) -> None:
    remote.proxy.inject(Fault("drop"))
    healing = threading.Timer(0.5, remote.proxy.inject)
    healing.start()
    remote.write(graph, "bo")
    healing.join()
    remote.check()


def test_slow_answers_are_waited_for(remote: Remote, graph: og.Graph) -> None:
    remote.proxy.inject(Fault("delay", seconds=0.2, times=40))
    remote.write(graph, "bo")
    remote.check()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("requests", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in (6, 14, 30))])
def test_a_store_that_goes_away_in_the_middle_of_a_write_loses_nothing(
    remote: Remote, graph: og.Graph, requests: int
) -> None:
    remote.proxy.take_seen()
    remote.write(graph, "bo")
    whole = len(remote.proxy.take_seen())
    remote.proxy.inject(Fault("drop", after=requests))
    started = time.monotonic()
    try:
        remote.write(graph, "cy")
        assert whole <= requests + 4  # what follows the commit is not missed
    except OmnigraphError as error:
        assert_clear(error)
    assert time.monotonic() - started < 120
    remote.check(maybe="cy")


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_store_that_is_gone_is_named_by_reads_and_openings(remote: Remote, graph: og.Graph) -> None:
    remote.proxy.inject(Fault("drop"))
    objects: Objects = open_objects(normalize_root(remote.place))
    for attempt in (
        lambda: objects.read("_schema.pg"),
        lambda: graph.query("query q() { match { $p: Person } return { $p.name } }"),
    ):
        with pytest.raises(StorageError) as caught:
            attempt()
        assert_clear(caught.value)
    remote.check()


def assert_clear(error: OmnigraphError) -> None:
    """One line that names the request and says how often it was tried; no source positions, no debug text."""
    text = str(error)
    assert "\n" not in text
    assert "RetryError" not in text
    assert "/rustc/" not in text
    if isinstance(error, StorageError):
        assert error.kind == "Transient"
        assert re.search(r"(GET|PUT|HEAD) http://\S+ failed after \d+ retries", text), text
