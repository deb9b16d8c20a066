"""Routes by raw path: which endpoint a request means, before anything else about it is looked at.

ASGI hands out a decoded path, in which an encoded slash has become a separator. Segments are therefore taken from the
raw path and decoded one by one; the fixed words of a route are compared as they were sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote_to_bytes

from omnigraph.server.http.refusal import Refusal, bad_request, refuse

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.server.http.exchange import Exchange

Endpoint: TypeAlias = "Callable[[Exchange], Awaitable[Response]]"

GRAPH = "graph_id"


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path; words in braces are parameters. `name` is its operation id without prefix."""

    method: str
    path: str
    name: str
    endpoint: Endpoint = field(compare=False)
    authenticated: bool = True

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.split("/")[1:])

    @property
    def has_graph(self) -> bool:
        return f"{{{GRAPH}}}" in self.segments


@dataclass(frozen=True, slots=True)
class Match:
    """The route a request meant and its decoded path parameters."""

    route: Route
    params: Mapping[str, str]


class Router:
    """All routes; a request is answered by exactly one of them, or refused."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        # By the number of their segments and the last of them, the most telling one; a parameter there is None.
        self._by_end: dict[tuple[int, bytes | None], list[tuple[Route, tuple[bytes | None, ...]]]] = {}
        for route in self.routes:
            pattern = tuple(None if word.startswith("{") else word.encode() for word in route.segments)
            self._by_end.setdefault((len(pattern), pattern[-1]), []).append((route, pattern))

    def match(self, method: str, raw_path: bytes) -> Match | Refusal:
        """The route for a method and a raw path, or why there is none (404, 405)."""
        given = tuple(raw_path.split(b"/")[1:])
        fitting = [
            route
            for end in (*given[-1:], None)
            for route, pattern in self._by_end.get((len(given), end), ())
            if _fits(pattern, given)
        ]
        if not fitting:
            return refuse(404, "no such route")
        asked = "GET" if method == "HEAD" and not any(r.method == "HEAD" for r in fitting) else method
        for route in fitting:
            if route.method == asked:
                return _matched(route, given)
        return refuse(405, f"{method} is not allowed here", Allow=_allowed(fitting))


def _fits(pattern: tuple[bytes | None, ...], given: tuple[bytes, ...]) -> bool:
    return all(part if word is None else word == part for word, part in zip(pattern, given, strict=True))


def _matched(route: Route, given: tuple[bytes, ...]) -> Match | Refusal:
    params: dict[str, str] = {}
    for word, part in zip(route.segments, given, strict=True):
        if word.startswith("{"):
            try:
                params[word[1:-1]] = unquote_to_bytes(part).decode()
            except UnicodeDecodeError:
                return bad_request("a part of the path is not UTF-8")
    return Match(route, params)


def _allowed(routes: Sequence[Route]) -> str:
    methods = {route.method for route in routes}
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
