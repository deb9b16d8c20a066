"""Where a run of the tests keeps its files: in memory where that has room, unless TMPDIR names a place.

Tests make thousands of small graphs and none has to last. On ext4 the same tests took a third more processor time, not
counting what its journal does beside them (51 cases of writes: 5.7 s beside 4.2).
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
_PREFIX = "omnigraph-tests-"
_ENOUGH = 4 << 30  # all tests together leave less than half of it behind


class Scratch:
    """A directory that `tempfile`, pytest and every process of this run use; gone with the run, unless it is kept."""

    def __init__(self, memory: Path) -> None:
        self.place = memory / f"{_PREFIX}{os.getpid()}"
        self.kept = False
        self._owner = os.getpid()
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(mode=0o700)

    def end(self) -> None:
        """Remove it; a process that was forked from this one does not."""
        if not self.kept and os.getpid() == self._owner:
            shutil.rmtree(self.place, ignore_errors=True)


def scratch_in_memory(memory: Path = MEMORY) -> Scratch | None:
    """The directory of this run; None where TMPDIR names one, as it does for the workers of a run, or memory is short."""
    if "TMPDIR" in os.environ or not has_room(memory):
        return None
    remove_leftovers(memory)
    found = Scratch(memory)
    os.environ["TMPDIR"] = str(found.place)
    tempfile.tempdir = None
    atexit.register(found.end)
    return found


def has_room(memory: Path, enough: int = _ENOUGH) -> bool:
    """Whether there is a writable place with room for the files of all tests; that of a container often has 64 MiB."""
    try:
        space = os.statvfs(memory)
        known = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        available = int(known["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError):
        return False
    return os.access(memory, os.W_OK) and min(space.f_bavail * space.f_frsize, available // 2) >= enough


def remove_leftovers(memory: Path) -> None:
    """Remove what runs of this user have left that were killed, or in which a test failed."""
    for place in memory.glob(f"{_PREFIX}*"):
        pid = place.name.removeprefix(_PREFIX)
        if pid.isdigit() and not Path(f"/proc/{pid}").exists() and place.stat().st_uid == os.getuid():
            shutil.rmtree(place, ignore_errors=True)
