"""Commit messages: what a caller may write about a commit, and how text of others is shown in a terminal."""

from __future__ import annotations

import unicodedata

from omnigraph.errors import BadRequest

MOST_CHARACTERS = 2_000
# They make a terminal show text in another order than it has.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def commit_message(text: str | None) -> str | None:
    """The message as it is stored: without blanks around it, and refused where it could not be shown as it is."""
    if text is None:
        return None
    message = text.replace("\r\n", "\n").strip()
    if not message:
        raise BadRequest("the commit message is empty; leave it out to commit without one")
    if len(message) > MOST_CHARACTERS:
        raise BadRequest(f"the commit message has {len(message):,} characters; at most {MOST_CHARACTERS:,} are allowed")
    for place, character in enumerate(message):
        if character not in "\n\t" and is_unsafe(character):
            raise BadRequest(
                f"the commit message contains the control character U+{ord(character):04X} at position {place + 1};"
                " only line breaks and tabs are allowed"
            )
    return message


def is_unsafe(character: str) -> bool:
    """Whether a terminal would act on a character instead of showing it."""
    category = unicodedata.category(character)
    return category in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTIONS


def one_line(text: str) -> str:
    """The first line of a text, for a terminal."""
    return shown(text.partition("\n")[0])


def shown(text: str) -> str:
    """A text that others wrote, for a terminal: what it would act on is spelled as an escape, line breaks included."""
    return "".join(_escaped(each) if is_unsafe(each) else each for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
