"""The company brain as a deployment in a bucket: applied, served, filled over HTTP, and evolved while people ask."""

from __future__ import annotations

import itertools
import json
import runpy
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from omnigraph.cluster.apply import apply
from omnigraph.cluster.plan import plan
from omnigraph.cluster.refresh import import_state
from omnigraph.testing.services.s3server import S3Server
from server_process import ServerProcess, running

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "company-brain"
TOKENS = {actor: f"{actor}-token" for actor in ("reader", "editor", "maintainer")}
MORE = """
query urgent($level: I32 = 1) @description("Decisions that cannot wait") {
  match { $x: Decision  $x.urgency >= $level }
  return { $x.slug, $x.urgency }
  order { $x.slug }
}

query teams() {
  match { $t: Team }
  return { $t.slug }
}

query set_urgency($slug: String, $urgency: I32) {
  update Decision set { urgency: $urgency } where slug = $slug
}
"""


@pytest.fixture
def brain(s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example whose storage is a bucket, applied once."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "brain"
    shutil.copytree(EXAMPLE, folder)
    declared = folder / "cluster.yaml"
    declared.write_text(declared.read_text() + f"storage: {s3_server.fresh_root('brain').uri}/\n")
    assert import_state(folder)["ok"]
    assert apply(folder, "ops")["converged"]
    return folder


@pytest.fixture
def server(brain: Path) -> Iterator[ServerProcess]:
    environ = {
        "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(TOKENS),
        "OMNIGRAPH_RELOAD_MS": "200",
        "OMNIGRAPH_WRITER_WAIT_MS": "120000",  # however slow the machine is, nobody is to fail
    }
    root = (brain / "cluster.yaml").read_text().partition("storage: ")[2].strip()
    with running(["-m", "omnigraph.server", "--bind", "127.0.0.1:0", "--cluster", root], environ) as found:
        yield found


@pytest.mark.slow
def test_the_company_brain_evolves_while_people_ask(brain: Path, server: ServerProcess) -> None:
    with server.client(TOKENS["maintainer"], timeout=240) as maintainer:
        loaded = _load(maintainer)
        assert loaded["total_entities"] > 100
        with _busy(server) as answers:
            _evolve(brain)
            _until(lambda: _is_known(server, "urgent"))
            before = dict(answers)
            _until(lambda: all(answers[who] > before[who] + 3 for who in before))
        assert {status for _, status in answers} == {200}, answers
        teams = _invoke(maintainer, "teams").json()["rows"]
        written = answers["mutation", 200] + answers["load", 200]
        assert len([row for row in teams if row["t.slug"].startswith("new-")]) == written, (
            "every write that was answered"
        )
        assert _invoke(maintainer, "set_urgency", slug="data-0", urgency=3).json()["affected_nodes"] == 1
        assert _invoke(maintainer, "urgent").json()["rows"] == [{"x.slug": "data-0", "x.urgency": 3}]
        assert "urgency" in maintainer.get("/graphs/brain/schema").json()["schema_source"]
    assert plan(brain)["changes"] == []


def _load(client: httpx.Client) -> dict[str, Any]:
    records = runpy.run_path(str(EXAMPLE / "generate.py"))["records"]()
    body = "".join(json.dumps(record) + "\n" for record in records)
    kind = {"Content-Type": "application/x-ndjson"}
    answer = client.post("/graphs/brain/load/ndjson?mode=append", content=body, headers=kind)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@contextmanager
def _busy(server: ServerProcess) -> Iterator[Counter[tuple[str, int]]]:
    """Two readers and two writers who go on until the block ends; how often each of them was answered what."""
    answers: Counter[tuple[str, int]] = Counter()
    over = threading.Event()

    def read(client: httpx.Client, _: int, query: str, **params: Any) -> int:
        answer = _invoke(client, query, **params)
        return answer.status_code if answer.json().get("rows") else -1

    def mutate(client: httpx.Client, number: int) -> int:
        found = "query found($slug: String) { insert Team { slug: $slug, name: $slug } }"
        body = {"query": found, "params": {"slug": f"new-mutation-{number}"}}
        return client.post("/graphs/brain/mutate", json=body).status_code

    def load(client: httpx.Client, number: int) -> int:
        line = {"type": "Team", "data": {"slug": f"new-load-{number}", "name": "x"}}
        kind = {"Content-Type": "application/x-ndjson"}
        url = "/graphs/brain/load/ndjson?mode=merge"
        return client.post(url, content=json.dumps(line), headers=kind).status_code

    def go_on(who: str, act: Callable[[httpx.Client, int], int], actor: str) -> None:
        with server.client(TOKENS[actor], timeout=240) as client:
            for number in itertools.count():
                if over.is_set():
                    return
                answers[who, act(client, number)] += 1

    people = [
        ("in_force", partial(read, query="in_force", team="platform"), "reader"),
        ("why", partial(read, query="why", decision="data-1"), "reader"),
        ("mutation", mutate, "maintainer"),
        ("load", load, "maintainer"),
    ]
    with ThreadPoolExecutor(len(people)) as pool:
        running = [pool.submit(go_on, *each) for each in people]
        try:
            _until(lambda: len(answers) >= len(people))
            yield answers
        finally:
            over.set()
        for each in running:
            each.result()


def _evolve(brain: Path) -> None:
    """A property and two queries more: first looked at, then applied."""
    schema, queries = brain / "schema.pg", brain / "queries.gq"
    before = schema.read_text()
    schema.write_text(before.replace("  decided: Date\n", "  decided: Date\n  urgency: I32?\n"))
    assert schema.read_text() != before
    queries.write_text(queries.read_text() + MORE)
    planned = plan(brain)
    assert planned["ok"], planned
    assert {change["resource"] for change in planned["changes"]} >= {"schema.brain", "query.brain.urgent"}
    report = apply(brain, "ops")
    assert report["converged"], report["diagnostics"]


def _invoke(client: httpx.Client, name: str, **params: Any) -> httpx.Response:
    return client.post(f"/graphs/brain/queries/{name}", json={"params": params})


def _is_known(server: ServerProcess, name: str) -> bool:
    """Asked through a connection of its own: one that was idle may be closed by the server just now."""
    with server.client(TOKENS["maintainer"], timeout=240) as client:
        return _invoke(client, name).status_code == 200


def _until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.1)
