"""One exchange with a server, apart from how it is carried: what is asked, and what the answer means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from omnigraph.errors import BadRequest, OmnigraphError

T = TypeVar("T")

ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"
IF_COMMIT = "Omnigraph-If-Graph-Commit"


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful response."""

    headers: Mapping[str, str]
    content: bytes
    status: int = 200

    def json(self) -> Any:
        import json

        return json.loads(self.content)

    @property
    def kind(self) -> str:
        """The media type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """A method, a path and a body; `decode` turns the answer into what the caller wanted.

    `answers` are statuses beyond 2xx that are answers all the same; `refusals` is what to raise for a status
    that came without words.
    """

    method: str
    path: str
    decode: Callable[[Answer], T]
    query: tuple[tuple[str, str], ...] = ()
    json: Any = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[int, ...] = ()
    refusals: Mapping[int, OmnigraphError] = field(default_factory=dict)

    def with_attempts(self, attempts: int | None) -> Request[T]:
        """The same request of a write that is computed at most so often; None leaves that to the server."""
        if attempts is None:
            return self
        if attempts < 1:
            raise BadRequest("attempts: a write is computed at least once")
        return replace(self, headers={**self.headers, "Prefer": f"attempts={attempts}"})


def segment(text: str) -> str:
    """A text as one segment of a path; slashes in it are part of the name."""
    return quote(text, safe="")


def pairs(**values: Any) -> tuple[tuple[str, str], ...]:
    """Query parameters without those that are None; a list repeats its name."""
    found: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, (list, tuple)):
            found += [(name, str(item)) for item in value]
        elif value is not None:
            found.append((name, str(value)))
    return tuple(found)


def members(**values: Any) -> dict[str, Any]:
    """A JSON body without the members that are None."""
    return {name.rstrip("_"): value for name, value in values.items() if value is not None}


def no_answer(_: Answer) -> None:
    """For requests whose answer says nothing new."""
    return
