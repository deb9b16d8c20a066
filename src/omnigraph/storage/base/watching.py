"""Whether a directory of a disk and one of its files are still what they were: two questions to the system."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

# Times of files come from a clock that may stand still for some milliseconds, on some file systems for two seconds:
# what changed so recently may change again without showing it.
_SETTLED_NS = 2_500_000_000
# These take them from a clock of the kernel that programs can read as well. What is two of its longest ticks old by
# that clock cannot change again without showing it, even on a machine that was halted in between.
_KERNEL_TIMES = frozenset({"ext4", "f2fs", "overlay", "tmpfs", "xfs"})
_TICKS_NS = 20_000_000
_MOUNTS = Path("/proc/self/mountinfo")
# CLOCK_REALTIME_COARSE, for which Python has no name; 0 where there is none.
_kernel_time = partial(time.clock_gettime_ns, 5) if sys.platform == "linux" else int


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
    now, kernel = time.time_ns(), _kernel_time()  # before looking: a change from here on has to show
    try:
        here, there = os.stat(directory), os.stat(file)
    except OSError:
        return None
    times = (here.st_ctime_ns, there.st_ctime_ns)
    if not 0 <= max(times) < now - _SETTLED_NS and not (
        0 <= max(times) < kernel - _TICKS_NS and all(map(_is_fine, times)) and _has_kernel_times(here.st_dev)
    ):
        return None
    return Watch(directory, file, (here.st_ctime_ns, here.st_ino, there.st_ctime_ns, there.st_ino, here.st_dev))


def _is_fine(time_ns: int) -> bool:
    """Whether a time was kept to the nanosecond; those in whole seconds, or tens of milliseconds, show by their end."""
    return time_ns % 1_000_000 != 0


@lru_cache(maxsize=64)
def _has_kernel_times(device: int) -> bool:
    """Whether the times of files on a device are those of this kernel's clock, as the list of its mounts says."""
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = map(str.split, _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines())
    kinds = [fields[fields.index("-") + 1] for fields in mounts if fields[2] == number]
    return bool(kinds) and _KERNEL_TIMES.issuperset(kinds)
