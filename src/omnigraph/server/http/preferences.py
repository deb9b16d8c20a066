"""What a client prefers about one answer: the Prefer header, and the media type it accepts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from starlette.requests import Request

from omnigraph.engine.read.frames.budget import Limits
from omnigraph.server.http.answers import ARROW
from omnigraph.server.http.refusal import bad_request


@dataclass(frozen=True, slots=True)
class Preferences:
    """How long a request may take, how often a write is computed, how many rows are returned, and in which form."""

    seconds: float | None = None
    attempts: int | None = None
    max_rows: int | None = None
    js_safe: bool = False
    arrow: bool = False
    lines: bool = False

    def limits(self, ceiling: Limits) -> Limits:
        """The server's limits, tightened by what the client asked for; never widened."""
        seconds = _smaller(ceiling.seconds, self.seconds)
        rows = _smaller(ceiling.result_rows, self.max_rows)
        return replace(ceiling, seconds=seconds, result_rows=None if rows is None else int(rows))


def preferences(request: Request) -> Preferences:
    """The preferences of a request; unknown ones are ignored, as the header demands."""
    found: dict[str, str] = {}
    for item in ",".join(request.headers.getlist("prefer")).split(","):
        name, _, value = item.partition("=")
        found.setdefault(name.strip().lower(), value.strip().strip('"'))
    accepted = {item.partition(";")[0].strip().lower() for item in request.headers.get("accept", "").split(",")}
    return Preferences(
        seconds=_number(found, "wait"),
        attempts=_number(found, "attempts"),
        max_rows=_number(found, "max_rows"),
        js_safe=found.get("int64", "").lower() == "string",
        arrow=ARROW in accepted,
        lines="application/x-ndjson" in accepted,
    )


def _number(found: dict[str, str], name: str) -> int | None:
    if name not in found:
        return None
    text = found[name]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise bad_request(f"Prefer: {name} must be a whole number")
    return int(text)


def _smaller(ceiling: float | None, asked: float | None) -> float | None:
    given = [value for value in (ceiling, asked) if value is not None]
    return min(given, default=None)
