"""Large arrays from memory that is at hand: the C library is told once that they come and go."""

from __future__ import annotations

import numpy as np

# The most that glibc lets itself be taught, less what it adds to every piece.
_LARGEST_REUSED = (32 << 20) - (64 << 10)


def reuse_freed_arrays() -> None:
    """Give back one large piece of memory, untouched.

    glibc asks the system for every piece above a threshold, and the system clears it page by page: traversals with
    frontiers of some hundred thousand nodes took twice as long for it. The threshold rises to the size of the largest
    such piece that was freed, which otherwise happens by chance. Other C libraries take no notice.
    """
    np.empty(_LARGEST_REUSED, np.uint8)
