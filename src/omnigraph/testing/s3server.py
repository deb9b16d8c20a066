"""A real S3 server for tests: SeaweedFS on free local ports, in its own directory, stopped when done."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from omnigraph.errors import StorageError
from omnigraph.ids import new_ulid

ACCESS_KEY = "omnigraph"
SECRET_KEY = "omnigraph-secret"
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server; `environment` is what a client needs to reach it."""

    endpoint: str
    directory: Path

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

    def create_bucket(self) -> str:
        """A fresh bucket's name; the server creates it on the first signed put of an empty path."""
        from obstore.store import S3Store

        name = f"b{new_ulid().lower()}"
        _put_bucket(self.endpoint, name)
        S3Store(name, config=_client_config(self.endpoint), client_options={"allow_http": True})
        return name


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """Start a server, wait until it answers, and stop it and remove its directory at the end."""
    directory = Path(tempfile.mkdtemp(prefix="omnigraph-s3-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        ports = _free_ports(6)
        log = (directory / "server.log").open("wb")
        with log:
            process = subprocess.Popen(_command(directory, ports), stdout=log, stderr=log, cwd=directory)
        endpoint = f"http://127.0.0.1:{ports[0]}"
        _wait_ready(endpoint, process, directory)
        yield S3Server(endpoint, directory)
    finally:
        if process is not None:
            _stop(process)
        shutil.rmtree(directory, ignore_errors=True)
