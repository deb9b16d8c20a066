"""Edit distance from one word to many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Mask


def within(word: str, words: Sequence[str], distance: int) -> Mask:
    """Which words become `word` by at most `distance` insertions, deletions and replacements of one character.

    >>> within("alm", ["alm", "elm", "palms", "hut"], 1).tolist()
    [True, True, False, False]
    """
    found = np.zeros(len(words), np.bool_)
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    places = np.flatnonzero(np.abs(lengths - len(word)) <= distance)
    if distance < 0 or not len(places):
        return found
    if not word:
        found[places] = True
        return found
    # No two words are further apart than the longer one is long.
    most = min(distance, max(len(word), int(lengths.max())))
    found[places] = _distances(word, [words[int(place)] for place in places], lengths[places], most) <= most
    return found


def _distances(word: str, words: list[str], lengths: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int16]:
    """The distances up to `most`, greater ones as anything above it.

    One dynamic-programming table per word, all filled in step; row j is about the first j letters of the words, and
    only rows within `most` of the diagonal matter.
    """
    longest = max(int(lengths.max()), 1)
    letters = np.array(words, f"U{longest}").view(np.uint32).reshape(len(words), longest).T
    far = np.int16(most + 1)
    previous = np.full((longest + 1, len(words)), far, np.int16)
    previous[: most + 1] = np.arange(min(most, longest) + 1, dtype=np.int16)[:, None]
    current = np.full_like(previous, far)
    for row, letter in enumerate(word, start=1):
        first, last = max(1, row - most), min(longest, row + most)
        current[first - 1] = row if first == 1 else far
        for column in range(first, last + 1):
            changed = previous[column - 1] + (letters[column - 1] != ord(letter))
            np.minimum(changed, np.minimum(previous[column], current[column - 1]) + 1, out=current[column])
        if last < longest:
            current[last + 1] = far
        previous, current = current, previous
    result: npt.NDArray[np.int16] = previous[lengths, np.arange(len(words))]
    return result
