"""Conditional and partial requests for one byte sequence: what is asked for, in the order in which headers count."""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.datastructures import Headers

_RANGE = re.compile(r"\s*bytes\s*=\s*(\d*)-(\d*)\s*", re.ASCII | re.IGNORECASE)
_TAG = re.compile(r'\s*(W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*')
_U64 = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything (200)."""


@dataclass(frozen=True, slots=True)
class Part:
    """A satisfiable range (206), half-open."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Unsatisfiable:
    """A valid range that the value does not have (416), half-open."""

    start: int
    end: int


class NotModified:
    """The client has it already (304)."""


class Changed:
    """The client asked for another version (412)."""


Wanted = Whole | Part | Unsatisfiable | NotModified | Changed


def wanted(headers: Headers, etag: str, size: int, *, head: bool) -> Wanted:
    """What to send of a value with this entity tag (without quotes) and size."""
    quoted = f'"{etag}"'
    matches = headers.getlist("if-match")
    if matches and not _strongly(",".join(matches), quoted):
        return Changed()
    known = headers.getlist("if-none-match")
    if known and _weakly(",".join(known), quoted):
        return NotModified()
    if head:
        return Whole()
    condition = headers.getlist("if-range")
    if condition and condition != [quoted]:
        return Whole()
    asked = headers.getlist("range")
    return parse_range(asked[0], size) if len(asked) == 1 else Whole()


def parse_range(text: str, size: int) -> Whole | Part | Unsatisfiable:
    """One byte range; whatever is not a single well-formed range means everything."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return Whole()
    first, last = found.groups()
    if not first and not last:
        return Whole()
    if any(len(digits) > 20 or int(digits or 0) > _U64 for digits in (first, last)):
        return Whole()
    if not first:
        return _suffix(int(last), size)
    start = int(first)
    if last and int(last) < start:
        return Whole()
    if start >= size:
        return Unsatisfiable(start, int(last) + 1 if last else size)
    return Part(start, min(int(last) + 1, size) if last else size)


def _suffix(count: int, size: int) -> Part | Unsatisfiable:
    if count == 0 or size == 0:
        return Unsatisfiable(size, size)
    return Part(max(0, size - count), size)


def _strongly(text: str, quoted: str) -> bool:
    """If-Match: a malformed list matches nothing."""
    if text.strip() == "*":
        return True
    tags = _tags(text)
    return tags is not None and (False, quoted) in tags


def _weakly(text: str, quoted: str) -> bool:
    """If-None-Match: a malformed list is as good as none."""
    if text.strip() == "*":
        return True
    tags = _tags(text)
    return tags is not None and any(tag == quoted for _, tag in tags)


def _tags(text: str) -> list[tuple[bool, str]] | None:
    """Each tag of a list, and whether it is weak; None when the list is malformed."""
    found: list[tuple[bool, str]] = []
    at = 0
    while at < len(text):
        match = _TAG.match(text, at)
        if match is None:
            return None
        found.append((match.group(1) is not None, match.group(2)))
        at = match.end()
        if at < len(text):
            if text[at] != ",":
                return None
            at += 1
    return found
