"""The Spark session of this process: the user's active one, a named master or Connect server, else a local one."""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omnigraph.errors import BadRequest, StorageError
from omnigraph.pipeline.spark.java import cache_directory, java_home, java_version

_log = logging.getLogger(__name__)

MASTER = "OMNIGRAPH_SPARK_MASTER"
_LOOPBACK = "127.0.0.1"
# A failed task is tried again in local mode too; Spark's own default there is one try.
_LOCAL_TRIES = 4
_CONNECT_PORT = 15002
# From this version on the JVM complains on stderr about what Spark and Netty do with memory.
_WARNS_ABOUT_UNSAFE = 24

_LOG_SETTINGS = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""


def spark_session(master: str | None = None, *, quiet: bool = False) -> Any:
    """The session to run jobs in; `master` is a Spark master URL or `sc://host:port` for Spark Connect.

    Starting one takes seconds, so a process keeps it, and on a terminal the start is announced unless `quiet`.
    """
    try:
        with without_warnings():
            from pyspark.sql import SparkSession
    except ImportError:
        raise BadRequest("the Spark runner needs pyspark: install omnigraph[spark]") from None
    wanted = master or os.environ.get(MASTER)
    active = SparkSession.getActiveSession()
    if active is None and (active := _instantiated(sys.modules["pyspark.sql"])) is not None:
        activated(active)  # another thread has started it
    if active is not None:
        _require_same(active, wanted, "spark=" if master else f"the environment variable {MASTER}")
        return active
    if wanted is not None and wanted.startswith("sc://"):
        return _connected(wanted)
    return _started(SparkSession, wanted or default_master(), quiet=quiet)


def _require_same(active: Any, wanted: str | None, named_by: str) -> None:
    """A process has one session: one that runs elsewhere than the caller wants is not the one that was meant."""
    here = address_of(active)
    if wanted is not None and here is not None and _plain_address(wanted) != here:
        raise BadRequest(
            f"{named_by} names {wanted}, but the active Spark session of this process runs on {here}; stop that session"
            " first, or pass it as spark=session"
        )


def address_of(spark: Any) -> str | None:
    """Where a session runs: its master URL, or `sc://host:port`; None when it does not tell."""
    if not is_connect(spark):
        return str(spark.sparkContext.master)
    endpoint = getattr(getattr(spark.client, "_builder", None), "endpoint", None)
    return None if endpoint is None else f"sc://{endpoint}"


def _plain_address(master: str) -> str:
    """An address without what only the first connection needs."""
    if not master.startswith("sc://"):
        return master
    host = master.removeprefix("sc://").partition("/")[0]
    return f"sc://{host}" if ":" in host else f"sc://{host}:{_CONNECT_PORT}"


def default_master() -> str:
    """Every core of this machine, with retries."""
    return f"local[*,{_LOCAL_TRIES}]"


def is_running() -> bool:
    """Whether this process has a session already, or is told which master to use."""
    return bool(os.environ.get(MASTER)) or is_started()


def is_started() -> bool:
    """Whether this process has a session."""
    running = sys.modules.get("pyspark.sql")
    # A session is active in the threads that have used it, but runs for all of them.
    return running is not None and (
        running.SparkSession.getActiveSession() is not None or _instantiated(running) is not None
    )


def is_local(master: str | None) -> bool:
    """Whether tasks of a session that has still to be started would run on this machine."""
    wanted = master or os.environ.get(MASTER)
    return wanted is None or wanted.startswith("local")


def activated(spark: Any) -> None:
    """Make a session that another thread has started the active one of this thread too."""
    if is_connect(spark):
        type(spark)._set_default_and_active_session(spark)
    else:
        spark.sparkContext._jvm.SparkSession.setActiveSession(spark._jsparkSession)


def _instantiated(running: Any) -> Any:
    found = getattr(running.SparkSession, "_instantiatedSession", None)
    if found is not None and found._sc._jsc is not None:
        return found
    connected = sys.modules.get("pyspark.sql.connect.session")
    return None if connected is None else connected.SparkSession._get_default_session()


def log_file() -> Path:
    """Where the JVM writes what it has to say, stack traces included."""
    return cache_directory() / "spark.log"


def parallelism(spark: Any) -> int:
    """How many tasks the session runs at once, as far as it tells."""
    if is_connect(spark):
        return int(spark.conf.get("spark.default.parallelism", None) or 2)
    return int(spark.sparkContext.defaultParallelism)


def is_connect(spark: Any) -> bool:
    """Whether the session talks to a Spark Connect server."""
    return "connect" in type(spark).__module__


@contextmanager
def without_warnings() -> Iterator[None]:
    """Leave out warnings about the versions around PySpark and about how it starts the JVM."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"pyspark\.")
        # The launcher of the JVM forks and executes at once; nothing of lance runs in between.
        warnings.filterwarnings("ignore", message="lance is not fork-safe", category=UserWarning)
        yield


def _connected(url: str) -> Any:
    from pyspark.sql import SparkSession

    try:
        return SparkSession.builder.remote(url).getOrCreate()
    except Exception as error:
        raise StorageError(f"no Spark Connect server answers at {url}: {error}", kind="Configuration") from error


def _started(sessions: Any, master: str, *, quiet: bool) -> Any:
    announce = sys.stderr.isatty() and not quiet
    if announce:
        print(f"starting Spark ({master}) …", end="", file=sys.stderr, flush=True)
    begin = time.monotonic()
    home = java_home()
    _set_environment(home, local=master.startswith("local"))
    builder = sessions.builder.master(master)
    for name, value in _settings(home, local=master.startswith("local")).items():
        builder = builder.config(name, value)
    try:
        with without_warnings():
            spark = builder.getOrCreate()
    except Exception as error:
        told = f"Spark did not start on {master}: {error}; see {log_file()}"
        raise StorageError(told, kind="Configuration") from error
    _log.info("Spark %s on %s started in %.1f s", spark.version, master, time.monotonic() - begin)
    if announce:
        print(f" ready after {time.monotonic() - begin:.1f} s", file=sys.stderr)
    return spark


def _set_environment(home: Path, *, local: bool) -> None:
    os.environ["JAVA_HOME"] = str(home)
    # Workers must run the interpreter that has this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if local:
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)


def _settings(home: Path, *, local: bool) -> dict[str, str]:
    options = [
        f"-Dlog4j2.configurationFile={_log_settings().as_uri()}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
    ]
    if java_version(home) >= _WARNS_ABOUT_UNSAFE:
        options += ["--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"]
    found = {
        "spark.app.name": "omnigraph",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.python.filterPushdown.enabled": "true",
        # Answers of tasks are small, and what is large they leave in files.
        "spark.driver.maxResultSize": "1g",
    }
    if local:
        found |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    return found


def _log_settings() -> Path:
    path = cache_directory() / "log4j2.properties"
    text = _LOG_SETTINGS.format(log=log_file())
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path
