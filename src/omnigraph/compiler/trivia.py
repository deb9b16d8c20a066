"""What stands between the tokens of a text: comments, how they stand to the code around them, and empty lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from omnigraph.compiler.lexer import Tokens

_PIECE = re.compile(r"(?P<space>[ \t\r\n]+)|(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)")


class Stand(Enum):
    """How a comment stands to the code around it."""

    TRAILING = "after code, at the end of its line"
    OWN = "on a line of its own"
    INLINE = "before code on the same line"
    BLANK = "no comment: an empty line"


@dataclass(frozen=True, slots=True)
class Trivium:
    """One comment, or an empty line (without text)."""

    stand: Stand
    text: str = ""


def trivia_before(tokens: Tokens) -> list[tuple[Trivium, ...]]:
    """For every token, END included: the comments and empty lines between the token before it and itself."""
    text = tokens.source.text
    found: list[tuple[Trivium, ...]] = []
    position = 0
    for start, end in zip(tokens.starts, tokens.ends, strict=True):
        gap = text[position:start]
        found.append(_trivia(gap, first=position == 0, last=start == len(text)) if gap.strip(" ") else ())
        position = end
    return found


def _trivia(gap: str, *, first: bool, last: bool) -> tuple[Trivium, ...]:
    pieces = [(match.lastgroup == "comment", match.group()) for match in _PIECE.finditer(gap)]
    found: list[Trivium] = []
    broke = first  # whether a line ended since the last token
    for at, (is_comment, text) in enumerate(pieces):
        if not is_comment:
            # The end of a // comment is part of the space behind it.
            if text.count("\n") > 1:
                found.append(Trivium(Stand.BLANK))
            broke = broke or "\n" in text
            continue
        ends = last or any("\n" in later for comment, later in pieces[at + 1 :] if not comment)
        stand = Stand.INLINE if not ends else Stand.OWN if broke else Stand.TRAILING
        found.append(Trivium(stand, "\n".join(line.rstrip() for line in text.split("\n"))))
    return tuple(found)
