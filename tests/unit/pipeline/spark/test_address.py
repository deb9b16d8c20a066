"""What may be an address of Spark, and whether anybody is there."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from omnigraph.errors import BadRequest, StorageError
from omnigraph.pipeline.spark import address, session

VALID = (
    "local",
    "local[2]",
    "local[*]",
    "local[2,4]",
    "local[*, 4]",
    "local-cluster[2,1,1024]",
    "spark://host:7077",
    "spark://one:7077,two:7078",
    "spark://[::1]:7077",
    "yarn",
    "k8s://https://10.0.0.1:6443",
    "sc://host",
    "sc://host/",
    "sc://host:15002",
    "sc://host:15002/;token=abc;use_ssl=true",
)
INVALID = (
    "foo",
    "http://localhost:7077",
    "local[x]",
    "local[0]",
    "local[]",
    "local[2,4,6]",
    "local-cluster[2]",
    "spark://",
    "spark://host",
    "spark://host:port",
    "spark://host:70777",
    "spark://one:7077,",
    "k8s://",
    "sc://",
    "sc://host:x",
    "sc://host/path",
    " local",
    "local\n",
)


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("grpc_proxy", "https_proxy", "http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def listening() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("given", VALID)
def test_what_spark_understands_is_an_address(given: str) -> None:
    address.require_form(given, "spark=")


@pytest.mark.parametrize("given", INVALID)
def test_anything_else_is_refused_with_the_forms_there_are(given: str) -> None:
    with pytest.raises(
        BadRequest, match=r"spark= names .* is not an address of Spark.*local\[N\].*spark://host:port.*sc://host"
    ):
        address.require_form(given, "spark=")


def test_a_refusal_does_not_tell_a_token() -> None:
    with pytest.raises(BadRequest) as caught:
        address.require_form("sc://host:x/;token=secret", "spark=")
    assert "secret" not in str(caught.value)


def test_a_session_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadRequest, match=r"spark= names 'local\[x\]', which is not an address"):
        session.spark_session("local[x]")
    monkeypatch.setenv(session.MASTER, "foo")
    with pytest.raises(
        BadRequest, match="the environment variable OMNIGRAPH_SPARK_MASTER names 'foo', which is not an address"
    ):
        session.spark_session()
    with pytest.raises(BadRequest, match="OMNIGRAPH_SPARK_MASTER names 'foo'"):
        session.require_place(None)


@pytest.mark.parametrize("given", ["spark://127.0.0.1:1", "sc://127.0.0.1:1", "sc://127.0.0.1:1/;token=secret"])
def test_a_place_where_nobody_answers_is_told_at_once(given: str) -> None:
    begin = time.monotonic()
    with pytest.raises(
        StorageError, match=r"^nothing answers at 127\.0\.0\.1:1 \(Connection refused\); check "
    ) as caught:
        address.require_answer(given)
    assert time.monotonic() - begin < 10
    assert caught.value.kind == "Configuration"
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    with pytest.raises(StorageError, match="nothing answers"):
        session.require_place(given)  # whatever session this process has


def test_one_of_several_masters_is_enough(listening: str) -> None:
    address.require_answer(f"spark://127.0.0.1:1,{listening}")
    address.require_answer(f"sc://{listening}")
    with pytest.raises(StorageError, match=r"nothing answers at 127\.0\.0\.1:1, 127\.0\.0\.1:2 "):
        address.require_answer("spark://127.0.0.1:1,127.0.0.1:2")


def test_what_has_no_single_host_is_not_tried() -> None:
    for given in ("local[2]", "yarn", "k8s://https://127.0.0.1:1"):
        address.require_answer(given)


def test_a_connect_server_behind_a_proxy_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    address.require_answer("sc://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(StorageError, match="nothing answers"):
        address.require_answer("sc://127.0.0.1:1")
