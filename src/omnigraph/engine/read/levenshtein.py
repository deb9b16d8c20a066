"""Edit distance from one word to many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnigraph.engine.read.adjacency import Mask


def within(word: str, words: Sequence[str], distance: int) -> Mask:
    """Which words become `word` by at most `distance` insertions, deletions and replacements of one character.

    >>> within("alm", ["alm", "elm", "palms", "hut"], 1).tolist()
    [True, True, False, False]
    """
    near = np.array([abs(len(other) - len(word)) <= distance for other in words], np.bool_)
    places = np.flatnonzero(near)
    if distance < 0 or not len(places):
        return np.zeros(len(words), np.bool_)
    found = np.zeros(len(words), np.bool_)
    found[places] = _distances(word, [words[int(place)] for place in places]) <= distance
    return found


def _distances(word: str, words: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """One dynamic-programming table per word, all filled in step; column j is about the first j letters."""
    lengths = np.array([len(other) for other in words])
    longest = int(lengths.max())
    letters = np.zeros((len(words), longest + 1), np.int32)
    for place, other in enumerate(words):
        letters[place, 1 : len(other) + 1] = [ord(letter) for letter in other]
    previous = np.tile(np.arange(longest + 1), (len(words), 1))
    for row, letter in enumerate(word, start=1):
        current = np.empty_like(previous)
        current[:, 0] = row
        changed = previous[:, :-1] + (letters[:, 1:] != ord(letter))
        best = np.minimum(changed, previous[:, 1:] + 1)
        for column in range(1, longest + 1):
            current[:, column] = np.minimum(best[:, column - 1], current[:, column - 1] + 1)
        previous = current
    result: np.ndarray[tuple[int], np.dtype[np.int64]] = previous[np.arange(len(words)), lengths]
    return result
