"""The colours that every renderer shares."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

_FILLS = ("#dbeafe", "#dcfce7", "#fef9c3", "#fce7f3", "#ede9fe", "#ffedd5", "#cffafe", "#e5e7eb")
INK, LINE, QUIET = "#1f2937", "#64748b", "#475569"


def fills(kinds: Iterable[str]) -> dict[str, str]:
    """A colour for each kind: as long as there are colours, no two kinds share one.

    A kind asks for the same colour in every picture, and gets the next free one where another was first.
    """
    found: dict[str, str] = {}
    for kind in sorted(set(kinds)):
        wanted = zlib.crc32(kind.encode()) % len(_FILLS)
        choices = [_FILLS[(wanted + place) % len(_FILLS)] for place in range(len(_FILLS))]
        found[kind] = next((fill for fill in choices if fill not in found.values()), choices[0])
    return found
