"""Records inside a JSON envelope: a stream of objects with any whitespace between, as one line each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from omnigraph.server.http.refusal import bad_request

_DECODER = json.JSONDecoder()
_BLANK = " \t\r\n"
_MOST_VALUES = 1_000_000  # decoded in one go, which keeps all other threads waiting
_SEAM = re.compile(r"\}\s*\{")  # perhaps two records on one line, perhaps only text that looks like it


def record_lines(text: str) -> bytes:
    """The records with one line each; a record keeps the number of the line it starts on."""
    if text.count(",") > _MOST_VALUES and not all(_is_whole(line) for line in text.split("\n")):
        raise bad_request(f"more than {_MOST_VALUES} values in records that are not one a line; send one record a line")
    if all(_is_whole(line) for line in text.split("\n")):
        return text.encode()
    return "".join(_lines(text)).encode()


def _is_whole(line: str) -> bool:
    bare = line.strip(_BLANK)
    return not bare or (bare[0] == "{" and bare[-1] == "}" and _SEAM.search(bare) is None)


def _lines(text: str) -> Iterator[str]:
    at, line, written = _skip(text, 0), 1, 1
    line += text.count("\n", 0, at)
    while at < len(text):
        end = _end(text, at, line)
        yield "\n" * (line - written)
        # A raw line break inside a string is not JSON, so every one of them is white space here.
        yield text[at:end].replace("\n", " ").replace("\r", " ") + "\n"
        written = line + 1
        following = _skip(text, end)
        line += text.count("\n", at, following)
        line = max(line, written)
        at = following


def _end(text: str, at: int, line: int) -> int:
    try:
        _, end = _DECODER.raw_decode(text, at)
    except RecursionError:
        raise bad_request(f"line {line}: invalid JSON: nested too deeply") from None
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise bad_request(f"line {line}: invalid JSON: {reason}") from None
    return int(end)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at
