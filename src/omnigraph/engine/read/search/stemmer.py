"""English stemming after Porter (1980): suffixes are stripped in five steps while enough of the word remains."""

from __future__ import annotations

_SHAPES = {code: "v" if chr(code) in "aeiou" else "c" for code in range(ord("a"), ord("z") + 1)}
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("abli", "able"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip

# One look tells that a word has none of the endings of a step, as most words do.
_ENDINGS_2, _ENDINGS_3 = (tuple(suffix for suffix, _ in table) for table in (_STEP_2, _STEP_3))


def stem(word: str) -> str:
    """The stem of a lower-case word; words of one or two letters and words outside a–z stay as they are.

    >>> [stem(word) for word in ("resting", "ponies", "relational", "hopping")]
    ['rest', 'poni', 'relat', 'hop']
    """
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    if word.endswith(_ENDINGS_2):
        word = _replace(word, _STEP_2)
    if word.endswith(_ENDINGS_3):
        word = _replace(word, _STEP_3)
    if word.endswith(_STEP_4):
        word = _drop(word)
    return _tidy(word)


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            return _mend(word[: -len(suffix)]) if _has_vowel(word[: -len(suffix)]) else word
    return word


def _mend(base: str) -> str:
    """Restore what a removed -ed or -ing had changed: conflat(e), hop(p), fil(e)."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _double(base) and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _short(base) else base


def _replace(word: str, table: tuple[tuple[str, str], ...]) -> str:
    suffix, replacement = max((pair for pair in table if word.endswith(pair[0])), key=lambda pair: len(pair[0]))
    base = word[: -len(suffix)]
    return base + replacement if _measure(base) > 0 else word


def _drop(word: str) -> str:
    suffix = max((suffix for suffix in _STEP_4 if word.endswith(suffix)), key=len)
    base = word[: -len(suffix)]
    if _measure(base) < 2 or (suffix == "ion" and not base.endswith(("s", "t"))):
        return word
    return base


def _tidy(word: str) -> str:
    base = word[:-1]
    if word.endswith("e") and (_measure(base) > 1 or (_measure(base) == 1 and not _short(base))):
        word = base
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _consonant(word: str, place: int) -> bool:
    letter = word[place]
    if letter == "y":
        return place == 0 or not _consonant(word, place - 1)
    return letter not in "aeiou"


def _measure(word: str) -> int:
    """How many vowel runs are followed by a consonant run."""
    if "y" in word:
        shape = "".join("c" if _consonant(word, place) else "v" for place in range(len(word)))
    else:
        shape = word.translate(_SHAPES)
    return shape.count("vc")


def _has_vowel(word: str) -> bool:
    return any(not _consonant(word, place) for place in range(len(word)))


def _double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonant(word, len(word) - 1)


def _short(word: str) -> bool:
    """Consonant, vowel, consonant at the end, the last not w, x or y."""
    end = len(word) - 1
    return (
        end >= 2
        and _consonant(word, end)
        and not _consonant(word, end - 1)
        and _consonant(word, end - 2)
        and word[end] not in "wxy"
    )
