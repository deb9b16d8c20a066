"""Azure, Google Cloud Storage and S3 for tests, on free local ports."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

from omnigraph.ids import new_ulid
from omnigraph.storage.base.layout import Root, normalize_root
from omnigraph.testing.services.emulator_install import EmulatorUnavailable, azurite_command
from omnigraph.testing.services.s3server import running_s3
from omnigraph.testing.services.store_proxy import running_proxy

# The account that every Azurite has; its key is printed in Microsoft's documentation.
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_CONTAINER = "tests"
_START_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class CloudServer:
    """A running emulator; `environment` is what a client needs to reach it."""

    scheme: str
    environment: dict[str, str]

    def fresh_root(self, name: str = "graph") -> Root:
        """An unused root; all share one bucket."""
        return normalize_root(f"{self.scheme}://{_CONTAINER}/{new_ulid().lower()}/{name}", env=self.environment)


@contextmanager
def running_azure() -> Iterator[CloudServer]:
    """Azurite with an empty container."""
    port = _free_port()
    command = [*azurite_command(), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--silent", "--location"]
    with _running(command, lambda directory: [str(directory)], lambda: _create_container(port)):
        environment = {
            "AZURE_STORAGE_ACCOUNT_NAME": AZURE_ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY,
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}",
            "AZURE_ALLOW_HTTP": "true",
        }
        yield CloudServer("az", environment)


@contextmanager
def running_google() -> Iterator[CloudServer]:
    """An S3 server behind a proxy that speaks Google's XML interface; no emulator of it checks preconditions."""
    with running_s3(public=True) as server, running_proxy(server.endpoint, google=True) as proxy:
        key = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        environment = {
            "GOOGLE_BASE_URL": proxy.endpoint,
            # Leaving signatures out is for reading only; an account whose key says so writes without them.
            "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps({**key, "gcs_base_url": proxy.endpoint, "disable_oauth": True}),
            "GOOGLE_ALLOW_HTTP": "true",
        }
        yield CloudServer("gs", environment)


@contextmanager
def running_amazon() -> Iterator[CloudServer]:
    """The same of an S3 server."""
    with running_s3() as server:
        yield CloudServer("s3", server.environment)


@contextmanager
def _running(command: list[str], places: Callable[[Path], list[str]], prepare: Callable[[], bool]) -> Iterator[None]:
    directory = Path(tempfile.mkdtemp(prefix="omnigraph-cloud-"))
    with ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, directory, ignore_errors=True)
        log = cleanup.enter_context((directory / "server.log").open("ab"))
        data = directory / "data"
        data.mkdir()
        process = subprocess.Popen([*command, *places(data)], stdout=log, stderr=log, cwd=directory)
        cleanup.callback(process.wait)
        cleanup.callback(process.kill)
        deadline = time.monotonic() + _START_SECONDS
        while not _tried(prepare):
            if time.monotonic() > deadline or process.poll() is not None:
                tail = (directory / "server.log").read_text(errors="replace")[-2000:]
                raise EmulatorUnavailable(f"{Path(command[0]).name} did not start; its log ends with:\n{tail}")
            time.sleep(0.2)
        yield


def _tried(prepare: Callable[[], bool]) -> bool:
    try:
        return prepare()
    except OSError:
        return False  # not listening yet


def _create_container(port: int) -> bool:
    path = f"/{AZURE_ACCOUNT}/{_CONTAINER}"
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
    text = "PUT" + "\n" * 12 + f"{signed}/{AZURE_ACCOUNT}{path}\nrestype:container"
    signature = hmac.new(base64.b64decode(AZURE_KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {AZURE_ACCOUNT}:{base64.b64encode(signature).decode()}"
    return _sent(port, "PUT", f"{path}?restype=container", "", headers)


def _sent(port: int, method: str, path: str, body: str, headers: dict[str, str]) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, body, {**headers, "Content-Length": str(len(body))})
        return connection.getresponse().status < 300
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])
