"""Runs the images as containers, as the manifests of deploy/ start them, and checks what they do: `make image-session`.

The commands, variables, volumes, users and limits are read from the manifests. Kubernetes itself is not here: names of
services are lines of /etc/hosts, and nothing restarts a pod or filters its connections.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import omnigraph as og
from omnigraph.engine.intake.inputs.files import open_output
from omnigraph.testing.services.s3server import S3Server, running_s3
from tools.images.manifests import KUBERNETES, ROOT, Pod, Volume, composed, documents, pods, services
from tools.images.pods import FailedError, Network, Running, image, started

PEOPLE, FOLLOWS = 20_000, 60_000
SCHEMA = "node Person { name: String @key  age: I64 } edge Knows: Person -> Person"
COUNTS = """
query q() {
  match { $a: Person  $a knows $b }
  return { count(*) as edges, count(distinct $a) as people, sum($b.age) as ages }
}
"""
_INSIDE = "--inside"
_BUILD_TOOLS = ("gcc", "cc", "g++", "make", "uv", "git")
_LOOK = """
import getpass, importlib.util, json, os, shutil, sys
import omnigraph
cached = importlib.util.cache_from_source(omnigraph.__file__)
print(json.dumps({"uid": os.getuid(), "gid": os.getgid(), "python": sys.prefix, "compiled": os.path.exists(cached),
                  "writable": os.access(omnigraph.__file__, os.W_OK),
                  "tools": [name for name in sys.argv[1:] if shutil.which(name)]}))
"""


def main() -> None:
    """Enter namespaces of our own, and run everything there."""
    if _INSIDE not in sys.argv:
        needed = [name for name in ("buildah", "runc", "ip", "unshare") if not shutil.which(name)]
        if needed or os.geteuid():
            raise SystemExit(f"the session needs root, and these commands: {', '.join(needed) or 'all are there'}")
        inside = [sys.executable, "-m", "tools.images.session", _INSIDE]
        os.execvp("unshare", ["unshare", "--net", "--mount", "--propagation=private", *inside])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    cluster = documents(*sorted(KUBERNETES.glob("*.yaml")))
    network = Network(services(cluster))
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="omnigraph-images-") as scratch, running_s3() as server:
        os.environ |= server.environment
        place = Path(scratch)
        place.chmod(0o755)
        session = Session(place, server, network)
        session.images()
        session.composed_server()
        session.read_only_server()
        session.spark(pods(cluster))
    print("all of it worked")


class Session:
    """What is run, in order, with the network that it shares."""

    def __init__(self, place: Path, server: S3Server, network: Network) -> None:
        self.place, self.server, self.network = place, server, network

    def images(self) -> None:
        """Look into both images: the user, what is compiled, and what is not there."""
        for name in ("omnigraph", "omnigraph-spark"):
            pod = Pod(f"look-{name}", name, ("-c", _LOOK, *_BUILD_TOOLS), entrypoint=("python",))
            with started(pod, self.network, self.place / pod.name) as running:
                found = json.loads(_passed(running, 120))
            _check(found["uid"] == 10001 and not found["writable"], f"an ordinary user: {found}")
            _check(found["compiled"], "modules are compiled")
            _check(not found["tools"], f"tools to build with are left: {found['tools']}")
            told(f"image {name}: {json.dumps(found)}")

    def composed_server(self) -> None:
        """The services `apply` and `server` of deploy/compose.yaml, on the S3 server in the place of their storage."""
        address = self.network.publish("storage", 8333, self.server.endpoint.removeprefix("http://"))
        with started(composed("apply"), self.network, self.place / "apply") as applying:
            output = _passed(applying, 300)
        told(f"compose apply, with the cluster on {address}: {output.splitlines()[-1]}")
        server = composed("server")
        tokens = json.loads(server.environment["OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"])
        with started(server, self.network, self.place / "server") as running:
            self._served(running, tokens["maintainer"], "compose server")

    def read_only_server(self) -> None:
        """The server on a mounted directory, with nothing but that and /tmp to write to, and no capability."""
        home = self.place / "deployment"
        shutil.copytree(ROOT / "examples" / "company-brain", home)
        for path in (home, *home.rglob("*")):
            os.chown(path, 10001, 10001)
        volumes = (Volume("/deployment", host=str(home)), Volume("/tmp"))
        told_to = {
            "OMNIGRAPH_CLUSTER": "/deployment",
            "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"maintainer":"a-token"}',
        }
        bare = Pod("bare", "omnigraph", (), environment=told_to, volumes=volumes, memory=1 << 30, read_only=True)
        for command, *more in (("import",), ("apply", "--as", "session")):
            args = ("cluster", command, "--config", "/deployment", *more)
            pod = dataclasses.replace(bare, name=f"bare-{command}", entrypoint=("omnigraph",), args=args)
            with started(pod, self.network, self.place / pod.name) as running:
                _passed(running, 300)
        with started(bare, self.network, self.place / "bare") as running:
            self._served(running, "a-token", "server with a read-only root and a mounted directory")
            _check(running.execute("touch", "/home/omnigraph/x").returncode != 0, "the root can be written to")

    def _served(self, running: Running, token: str, what: str) -> None:
        """Health, a write and a read over HTTP, and a clean end."""
        begin = time.monotonic()
        running.wait_for(8080)
        seconds = time.monotonic() - begin
        health = image("omnigraph")["Healthcheck"]["Test"]
        checked = running.execute(*health[1:])
        _check(health[0] == "CMD" and checked.returncode == 0, f"the health check: {checked.stderr}")
        write = 'query q() { insert Person { handle: "ada", name: "Ada" } }'
        read = 'query q() { match { $p: Person { handle: "ada" } } return { $p.name } }'
        wrote = _post(running, token, "mutate", {"query": write})
        found = _post(running, token, "query", {"query": read})
        _check(found["rows"] == [{"p.name": "Ada"}], f"what was written is read: {found}")
        refused = _post(running, "wrong", "query", {"query": read}, status=401)
        with urllib.request.urlopen(f"http://{running.address}:8080/studio/", timeout=60) as page:
            studio = page.status
        peak, code = _mebibytes(running.memory()), running.stop()
        _check(code == 0, f"SIGTERM ended the server with {code}")
        told(f"{what}: listens after {seconds:.1f} s, `{health[1]} {health[2]} …` exits with 0")
        told(f"  mutate -> {json.dumps(wrote)[:200]}")
        told(
            f"  query -> {json.dumps(found['rows'])}; wrong token -> {json.dumps(refused)[:120]}; /studio/ -> {studio}"
        )
        told(f"  memory at most {peak}; SIGTERM -> exit code 0")

    def spark(self, found: list[Pod]) -> None:
        """The cluster of spark.yaml; the job of load.yaml on it, as it stands and then through the Connect server."""
        self.network.publish("objects", 9000, self.server.endpoint.removeprefix("http://"))
        secret = self.server.environment | {"AWS_ENDPOINT_URL_S3": "http://objects:9000"}
        cluster = [pod for pod in found if pod.args[0] != "run"]
        [job] = [pod for pod in found if pod.args[0] == "run"]
        self.network.reserve([*cluster, job])
        _write_input(job)
        with ExitStack() as held:
            running = []
            for pod in cluster:
                running.append(held.enter_context(started(pod, self.network, self.place / pod.name, secret)))
                running[-1].wait_for(pod.ready_port or 0)
                told(f"{pod.name} ({pod.args[0]}) listens on {running[-1].address}:{pod.ready_port}")
            self._load(job, secret, running)
            through = {"OMNIGRAPH_SPARK_MASTER": "sc://spark-connect:15002"}
            connected = dataclasses.replace(job, name="connect-load", environment={**job.environment, **through})
            self._load(connected, secret, running)
            for each in reversed(running):
                told(f"{each.pod.name}: memory at most {_mebibytes(each.memory())} of {_mebibytes(each.pod.memory)}, "
                     f"SIGTERM -> exit code {each.stop()}")  # fmt: skip

    def _load(self, job: Pod, secret: Mapping[str, str], cluster: list[Running]) -> None:
        """Run the job on an empty graph at its address, and check what it made and where its tasks ran."""
        args = list(job.args)
        args[2] = f"{args[2]}/{job.name}"
        job = dataclasses.replace(job, args=(*args, "--json"))
        with og.init(args[2], SCHEMA) as graph:
            before = [_executors(each) for each in cluster]
            begin = time.monotonic()
            with started(job, self.network, self.place / job.name, secret) as running:
                output = _passed(running, 300)
            seconds = time.monotonic() - begin
            done = json.loads(output[output.index("{") :])
            _check((done["runner"], done["total_entities"]) == ("spark", PEOPLE + FOLLOWS), f"the load: {done}")
        used = [each.pod.name for each, old in zip(cluster, before, strict=True) if _executors(each) - old]
        with og.open(args[2]) as graph:
            rows, commits = graph.query(COUNTS).rows(), len(graph.commits.list())
        expected = {"edges": FOLLOWS, "people": PEOPLE, "ages": sum(_age(_followed(n)) for n in range(FOLLOWS))}
        _check(rows == [expected] and commits == 2, f"what the graph has: {rows}, {commits} commits")
        told(f"{job.name}: {' '.join(job.args)}")
        told(f"  on {job.environment['OMNIGRAPH_SPARK_MASTER']}: {done['total_entities']} entities in {seconds:.0f} s")
        told(f"  read back from {args[2]}: {rows[0]}, {commits} commits")
        told(f"  new executors on: {', '.join(used) or 'none'}")


def _write_input(job: Pod) -> None:
    """Files where the mapping of the job looks for them."""
    [mapping] = [volume.files for volume in job.volumes if volume.files]
    assert "s3://bucket/raw/people/*.parquet" in mapping["map.yaml"]
    people = pa.table({"name": [f"p{n}" for n in range(PEOPLE)], "age": [_age(n) for n in range(PEOPLE)]})
    follows = pa.table({
        "a": [f"p{n % PEOPLE}" for n in range(FOLLOWS)],
        "b": [f"p{_followed(n)}" for n in range(FOLLOWS)],
    })  # fmt: skip
    for name, table in (("people", people), ("follows", follows)):
        for part in range(4):
            rows = table.num_rows // 4
            with open_output(f"s3://bucket/raw/{name}/{part}.parquet") as file:
                pq.write_table(table.slice(part * rows, rows), file)


def _age(number: int) -> int:
    return 18 + number % 80


def _followed(number: int) -> int:
    return (number * 7 + number // PEOPLE + 1) % PEOPLE


def _executors(running: Running) -> set[str]:
    """The executors that a worker has started, by their working directories."""
    work = running.pod.environment.get("SPARK_WORK_DIR")
    if work is None:
        return set()
    [scratch] = running.place.glob("volume-*")
    return {str(path) for path in (scratch / Path(work).name).glob("app-*/*")}


def _post(running: Running, token: str, verb: str, body: Mapping[str, Any], status: int = 200) -> dict[str, Any]:
    request = urllib.request.Request(
        f"http://{running.address}:8080/graphs/brain/{verb}",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            code, found = answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        code, found = error.code, json.load(error)
    _check(code == status, f"{verb} answered {code}: {found}\n{running.log[-2000:]}")
    return dict(found)


def _passed(running: Running, seconds: float) -> str:
    ended = running.end(seconds)
    _check(ended.code == 0, f"{running.pod.name} ended with {ended.code}:\n{ended.output[-2000:]}{ended.log[-4000:]}")
    return ended.output


def _mebibytes(count: int | None) -> str:
    return "not counted" if count is None else f"{count >> 20} MiB"


def _check(good: bool, what: str) -> None:
    if not good:
        raise FailedError(what)


def told(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main()
    except FailedError as error:
        raise SystemExit(f"failed: {error}") from None
