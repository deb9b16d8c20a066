"""The built wheel works in an empty environment, and the container's entry point does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).with_name("uv")
SCHEMA = "node Person { name: String @key }"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the console scripts of a fresh environment that holds the wheel and what it asks for."""
    home = tmp_path_factory.mktemp("wheel")
    run([str(UV), "build", "--wheel", "--quiet", "--out-dir", str(home), str(REPOSITORY)])
    run([str(UV), "venv", "--quiet", "--python", sys.executable, str(home / "env")])
    wheel = next(home.glob("omnigraph-*.whl"))
    run([str(UV), "pip", "install", "--quiet", "--python", str(home / "env"), f"omnigraph[server] @ file://{wheel}"])
    return home / "env" / "bin"


def run(command: list[str], **more: object) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=clean, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.mark.slow
def test_the_wheel_gives_a_working_command_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "schema.pg").write_text(SCHEMA)
    (tmp_path / "people.jsonl").write_text('{"type":"Person","data":{"name":"Ada"}}\n')
    omnigraph = str(installed / "omnigraph")
    assert run([omnigraph, "version"]).startswith("omnigraph ")
    run([omnigraph, "init", "--schema", "schema.pg", "graph.omni"], cwd=tmp_path)
    run([omnigraph, "load", "--store", "graph.omni", "--data", "people.jsonl", "--mode", "append"], cwd=tmp_path)
    query = "query all() { match { $p: Person } return { $p.name } }"
    assert "Ada" in run([omnigraph, "query", "--store", "graph.omni", "-e", query], cwd=tmp_path)


@pytest.mark.slow
def test_the_wheel_gives_a_server(installed: Path) -> None:
    assert "--cluster" in run([str(installed / "omnigraph-server"), "--help"])


def test_the_container_refuses_to_start_without_a_cluster() -> None:
    clean = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["sh", str(REPOSITORY / "deploy" / "entrypoint.sh")], capture_output=True, text=True, env=clean, check=False
    )
    assert done.returncode == 64
    assert "OMNIGRAPH_CLUSTER" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "variables", "started"),
    [
        pytest.param(
            [], {"OMNIGRAPH_CLUSTER": "/c"}, ["--cluster", "/c", "--bind", "0.0.0.0:8080"], id="default-address"
        ),
        pytest.param(
            [],
            {"OMNIGRAPH_CLUSTER": "s3://b/c", "OMNIGRAPH_BIND": "127.0.0.1:0"},
            ["--cluster", "s3://b/c", "--bind", "127.0.0.1:0"],
            id="chosen-address",
        ),
        pytest.param(["--help"], {"OMNIGRAPH_CLUSTER": "/c"}, ["--help"], id="arguments-win"),
    ],
)
def test_the_container_passes_its_settings_on(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], started: list[str]
) -> None:
    server = tmp_path / "omnigraph-server"
    server.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    server.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = subprocess.run(
        ["sh", str(REPOSITORY / "deploy" / "entrypoint.sh"), *arguments],
        capture_output=True,
        text=True,
        env={"PATH": path, **variables},
        check=True,
    )
    assert said.stdout.split() == started
