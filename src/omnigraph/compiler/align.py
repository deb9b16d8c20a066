"""Which token of a text became which token of the same tree, printed in the one layout."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from omnigraph.compiler.lexer import END, FLOAT, INT, STRING, Tokens, unquote

# Printing may add and drop these without changing the tree.
LOOSE = frozenset({"(", ")", ","})


def firm_tokens(tokens: Tokens) -> list[int]:
    """The tokens that printing keeps, END included."""
    return [at for at, text in enumerate(tokens.texts) if text not in LOOSE or tokens.kinds[at] == STRING]


@dataclass(frozen=True, slots=True)
class Match:
    """Where a firm token went: a token of the printed text, and whether that is the same one or the next one kept."""

    place: int
    same: bool


def align(written: Tokens, printed: Tokens) -> dict[int, Match]:
    """For every firm token as written: the printed token that it, or the next one that was kept, became."""
    ours, theirs = firm_tokens(written), firm_tokens(printed)
    old, new = [_key(written, at) for at in ours], [_key(printed, at) for at in theirs]
    kept: dict[int, int] = {}
    for first, second, size in [(0, 0, len(old))] if old == new else _runs(old, new):
        kept.update((first + step, second + step) for step in range(size))
    found: dict[int, Match] = {}
    following = len(new) - 1
    for at in reversed(range(len(old))):
        following = kept.get(at, following)
        found[ours[at]] = Match(theirs[following], at in kept)
    return found


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Equal stretches. Declarations are compared one by one: comparing is quadratic in their length."""
    ours, theirs = _declarations(old), _declarations(new)
    if len(ours) != len(theirs):
        ours, theirs = [(0, len(old))], [(0, len(new))]
    for (start, end), (begin, stop) in zip(ours, theirs, strict=True):
        matcher = difflib.SequenceMatcher(None, old[start:end], new[begin:stop], autojunk=False)
        for block in matcher.get_matching_blocks():
            yield start + block.a, begin + block.b, block.size


def _declarations(keys: Sequence[str]) -> list[tuple[int, int]]:
    """The stretches that end with a closing brace outside of all others, or with the text."""
    depth, start = 0, 0
    found: list[tuple[int, int]] = []
    for at, key in enumerate(keys):
        depth += (key == "{") - (key == "}")
        if (key == "}" and depth == 0) or at == len(keys) - 1:
            found.append((start, at + 1))
            start = at + 1
    return found


def _key(tokens: Tokens, at: int) -> str:
    """What two spellings of one token have in common."""
    kind, text = tokens.kinds[at], tokens.texts[at]
    if kind == STRING:
        return f'"{unquote(text)}'
    if kind == INT:
        return text.lstrip("0") or "0"
    return repr(float(text)) if kind == FLOAT else "" if kind == END else text
