"""Whether a directory of a disk and one of its files are still what they were: two questions to the system."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

# Times of files come from a clock that may stand still for some milliseconds, on some file systems for two seconds:
# what changed so recently may change again without showing it.
_SETTLED_NS = 2_500_000_000


@dataclass(frozen=True, slots=True)
class Watch:
    """What a directory and a file in it looked like."""

    directory: str
    file: str
    was: tuple[int, ...]

    def is_unchanged(self) -> bool:
        """Whether since then nothing came into the directory, left it or took another name there, nor the file changed.

        The time of the last status change cannot be set by a program, so a copy that restores times shows as well.
        """
        try:
            here, there = os.stat(self.directory), os.stat(self.file)
        except OSError:
            return False
        return self.was == (here.st_ctime_ns, here.st_ino, there.st_ctime_ns, there.st_ino, here.st_dev)


def watch(directory: str, file: str) -> Watch | None:
    """Look at both now; None when one is absent, or changed so recently that another change might not show."""
    now = time.time_ns()  # of the clock that the times of files come from
    try:
        here, there = os.stat(directory), os.stat(file)
    except OSError:
        return None
    if not 0 <= max(here.st_ctime_ns, there.st_ctime_ns) < now - _SETTLED_NS:
        return None
    return Watch(directory, file, (here.st_ctime_ns, here.st_ino, there.st_ctime_ns, there.st_ino, here.st_dev))
