"""The Spark session of this process: the user's active one, a named master or Connect server, else a local one."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omnigraph.errors import BadRequest, StorageError
from omnigraph.pipeline.spark.address import is_connect_address, plain_address, require_answer, require_form
from omnigraph.pipeline.spark.java import cache_directory, java_home, java_version

_log = logging.getLogger(__name__)

MASTER = "OMNIGRAPH_SPARK_MASTER"
_LOOPBACK = "127.0.0.1"
# A failed task is tried again in local mode too; Spark's own default there is one try.
_LOCAL_TRIES = 4
# So long a Connect server may take to say that it is one; a request would be repeated for minutes.
_GREETING_SECONDS = 10.0
# How Spark tells that it has given up on a master; from then on it says nothing else.
_STOPPED = "stopped SparkContext"
_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
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
    wanted = _wanted(master)
    active = SparkSession.getActiveSession()
    if active is None and (active := _instantiated(sys.modules["pyspark.sql"])) is not None:
        activated(active)  # another thread has started it
    if active is not None:
        _require_same(active, wanted, _named_by(master))
        return active
    if wanted is not None:
        require_answer(wanted)
    if wanted is not None and is_connect_address(wanted):
        return _connected(wanted)
    return _started(SparkSession, wanted or default_master(), quiet=quiet)


def require_place(master: str | None) -> None:
    """Refuse at once an address where no session can be started, before other work begins beside the start."""
    wanted = _wanted(master)
    if wanted is not None:
        require_answer(wanted)


def _wanted(master: str | None) -> str | None:
    """The address that is asked for, if any."""
    wanted = master or os.environ.get(MASTER) or None
    if wanted is not None:
        require_form(wanted, _named_by(master))
    return wanted


def _named_by(master: str | None) -> str:
    return "spark=" if master else f"the environment variable {MASTER}"


def _require_same(active: Any, wanted: str | None, named_by: str) -> None:
    """A process has one session: one that runs elsewhere than the caller wants is not the one that was meant."""
    here = address_of(active)
    if wanted is not None and here is not None and (named := plain_address(wanted)) != here:
        raise BadRequest(
            f"{named_by} names {named}, but the active Spark session of this process runs on {here}; stop that session"
            " first, or pass it as spark=session"
        )


def address_of(spark: Any) -> str | None:
    """Where a session runs: its master URL, or `sc://host:port`; None when it does not tell."""
    if not is_connect(spark):
        return str(spark.sparkContext.master)
    endpoint = getattr(getattr(spark.client, "_builder", None), "endpoint", None)
    return None if endpoint is None else f"sc://{endpoint}"


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

    mode = os.environ.get(_CONNECT_MODE)
    try:
        session = SparkSession.builder.remote(url).getOrCreate()
        _require_greeting(session, url)
    except Exception as error:
        _forget_connected(mode)
        if isinstance(error, StorageError):
            raise
        told = f"no Spark Connect session at {plain_address(url)}: {_reason(error)}"
        raise StorageError(told, kind="Configuration") from error
    return session


def _require_greeting(session: Any, url: str) -> None:
    """Wait for the other side to speak gRPC; the session was made without a word from it."""
    ready = threading.Event()

    def heard(state: Any) -> None:
        if state.name == "READY":
            ready.set()

    channel = session.client._channel
    channel.subscribe(heard, try_to_connect=True)
    greeted = ready.wait(_GREETING_SECONDS)
    channel.unsubscribe(heard)
    if not greeted:
        told = f"no Spark Connect server answers at {plain_address(url)} within {_GREETING_SECONDS:.0f} s; check its"
        raise StorageError(f"{told} port, and use_ssl and token of the address", kind="Configuration")


def _forget_connected(mode: str | None) -> None:
    """Take back what pyspark keeps of a server that did not answer: all later sessions would be of that kind."""
    if mode is None:
        os.environ.pop(_CONNECT_MODE, None)
    connected = sys.modules.get("pyspark.sql.connect.session")
    broken = None if connected is None else connected.SparkSession._get_default_session()
    if broken is not None:
        broken.release_session_on_close = False  # there is no server to be told
        broken.stop()


def _started(sessions: Any, master: str, *, quiet: bool) -> Any:
    announce = sys.stderr.isatty() and not quiet
    if announce:
        print(f"starting Spark ({master}) …", end="", file=sys.stderr, flush=True)
    begin = time.monotonic()
    home = java_home()
    before = _context()
    _set_environment(home, local=master.startswith("local"))
    builder = sessions.builder.master(master)
    for name, value in _settings(home, local=master.startswith("local")).items():
        builder = builder.config(name, value)
    try:
        with without_warnings():
            spark = builder.getOrCreate()
            # A master that gives up does so beside the start.
            if not is_connect(spark) and spark.sparkContext._jsc.sc().isStopped():
                raise RuntimeError(_STOPPED)
    except Exception as error:
        told = f"Spark did not start on {master}: {_reason(error)}; see {log_file()}"
        _forget_started(before)
        raise StorageError(told, kind="Configuration") from error
    _log.info("Spark %s on %s started in %.1f s", spark.version, master, time.monotonic() - begin)
    if announce:
        print(f" ready after {time.monotonic() - begin:.1f} s", file=sys.stderr)
    return spark


def _context() -> Any:
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def _forget_started(before: Any) -> None:
    """Take back what pyspark keeps of a failed start: it would hand the broken context to all who ask for a session."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    broken = _context()
    if broken is not None and broken is not before:
        broken.stop()
        SparkSession._instantiatedSession = SparkSession._activeSession = None
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None and process.poll() is not None:  # the JVM is gone; the next start has one of its own
        SparkContext._gateway = SparkContext._jvm = None


def _reason(error: Exception) -> str:
    """What a failure says in its first line, without the stack of the JVM that follows; py4j puts a line before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    told = next((line.removeprefix(": ") for line in lines if line.startswith(": ")), lines[0])
    return "it gave up while it started" if _STOPPED in told else told.removesuffix(".")


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
