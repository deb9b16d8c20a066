"""A real Spark cluster for tests: a master, workers and a Connect server, each a process of its own on loopback."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from omnigraph.errors import StorageError
from omnigraph.pipeline.spark.java import java_home

_HOST = "127.0.0.1"
_START_SECONDS = 180.0
_EXECUTORS = {"spark.executor.memory": "512m", "spark.executor.cores": "2"}
# A task that takes much longer than others is started a second time soon, on the other worker.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "1s",
    # Where a stage has too few tasks to compare them.
    "spark.speculation.task.duration.threshold": "2s",
}
# Executors of one core each come when tasks wait for them, and go when they have nothing to do, shuffled rows or not.
DYNAMIC_ALLOCATION = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "1s",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.timeout": "2s",
    "spark.executor.cores": "1",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where a running cluster listens."""

    master: str
    connect: str


@contextmanager
def running_cluster(
    workers: int = 2, environment: Mapping[str, str] | None = None, *, connect_server: bool = True
) -> Iterator[Cluster]:
    """Start a standalone cluster, and a Connect server that takes half of it; all are gone at the end.

    Each worker has an address and a scratch directory of its own: Spark starts a second attempt of a task on another
    host only.
    """
    directory = Path(tempfile.mkdtemp(prefix="omnigraph-spark-"))
    with ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, directory, ignore_errors=True)
        processes = _Processes(directory, {**os.environ, **(environment or {}), **_settings(directory)})
        cleanup.callback(processes.stop)
        port, connect = _free_ports(2)
        master = f"spark://{_HOST}:{port}"
        pages = ["--webui-port", "0"]
        listening = ["--host", _HOST, *pages, "--port", str(port)]
        processes.start("master", ["org.apache.spark.deploy.master.Master", *listening], port)
        for number in range(workers):
            place = directory / f"worker-{number}"
            share = ["--cores", "2", "--memory", "2g", "--work-dir", str(place)]
            host = f"127.0.0.{number + 1}"
            own = {"SPARK_LOCAL_IP": host, "SPARK_LOCAL_DIRS": str(directory / f"scratch-{number}")}
            command = ["org.apache.spark.deploy.worker.Worker", "--host", host, *pages, *share, master]
            processes.start(place.name, command, own=own)
        if connect_server:
            processes.start("connect", _connect_command(master, connect, workers), connect)
        yield Cluster(master, f"sc://{_HOST}:{connect}")


def driver_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The variables of a driver on this machine that is to run in a cluster, with settings of its own for Spark."""
    return {
        "SPARK_LOCAL_IP": _HOST,
        "PYSPARK_SUBMIT_ARGS": shlex.join([*_as_arguments({**_EXECUTORS, **settings}), "pyspark-shell"]),
    }


class _Processes:
    """Processes in groups of their own, so that what they start ends with them."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._environment = environment
        self._running: list[subprocess.Popen[bytes]] = []

    def start(
        self, name: str, arguments: list[str], port: int | None = None, own: Mapping[str, str] | None = None
    ) -> None:
        """Start one, and return when it listens on its port."""
        import pyspark

        launcher = Path(pyspark.__file__).parent / "bin" / "spark-class"
        with (self._directory / f"{name}.log").open("wb") as log:
            self._running.append(
                subprocess.Popen(
                    [str(launcher), *arguments],
                    env={**self._environment, **(own or {})},
                    stdout=log,
                    stderr=log,
                    cwd=self._directory,
                    start_new_session=True,
                )
            )
        if port is not None:
            _wait_for(port, self._running[-1], self._directory / f"{name}.log")

    def stop(self) -> None:
        for process in reversed(self._running):
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()


def _settings(directory: Path) -> dict[str, str]:
    return {
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": _HOST,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": str(directory / "scratch"),
        "SPARK_DAEMON_MEMORY": "600m",
        # For launchers, drivers and executors as well: none of them runs long enough to be worth compiling twice.
        "JDK_JAVA_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }


def _connect_command(master: str, port: int, workers: int) -> list[str]:
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": _HOST,
        "spark.driver.host": _HOST,
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.cores.max": str(workers),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    return [
        "org.apache.spark.deploy.SparkSubmit",
        "--master",
        master,
        "--class",
        server,
        *_as_arguments(settings),
        "spark-internal",
    ]


def _as_arguments(settings: Mapping[str, str]) -> list[str]:
    return [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for bound in sockets:
            bound.bind((_HOST, 0))
        return [bound.getsockname()[1] for bound in sockets]


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection((_HOST, port), timeout=1):
                return
        except OSError:
            time.sleep(0.25)
    tail = log.read_text(errors="replace")[-2000:]
    raise StorageError(f"the Spark {log.stem} did not start; its log ends with:\n{tail}", kind="Transient")
