"""Carries requests over HTTP, waiting or not; failures of the way there are told apart from refusals."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.client.failures import failure
from omnigraph.client.request import Answer, Request, segment
from omnigraph.errors import BadRequest, OmnigraphError, ServerFailed

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_TIMEOUT = 300.0
# Only what changes nothing is sent again by itself; a write that got no answer may have happened.
_REPEATABLE = ("GET", "HEAD")
_ATTEMPTS = 3


def base_url(url: str, graph: str) -> str:
    """Where the routes of a graph begin."""
    return f"{server_address(url)}/graphs/{segment(graph)}"


def server_address(url: str) -> str:
    """The URL of a server without a slash behind it; BadRequest when it is none."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in ("http", "https") or not rest.strip("/") or any(each.isspace() for each in url):
        raise BadRequest(f"'{url}' is not the address of a server; write http://host:port or https://host")
    return url.rstrip("/")


def _options(token: str | None) -> dict[str, Any]:
    headers = {"User-Agent": "omnigraph-python"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return {"headers": headers, "timeout": _TIMEOUT, "follow_redirects": False}


class Transport:
    """A connection pool to one graph of one server; safe to share between threads."""

    def __init__(self, base: str, token: str | None) -> None:
        self._http = _httpx()
        self._base = base
        self._client = self._http.Client(**_options(token))

    @property
    def graph(self) -> str:
        """The address of the graph."""
        return self._base

    def send(self, request: Request[T]) -> T:
        """Ask, wait, decode."""
        for attempt in range(_ATTEMPTS):
            try:
                response = self._client.request(request.method, self._base + request.path, **_arguments(request))
            except self._http.TransportError as error:
                if request.method not in _REPEATABLE or attempt == _ATTEMPTS - 1:
                    raise unreachable(self._base, error) from error
                _pause(attempt)
            else:
                return decoded(request, response)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def stream(self, request: Request[Any]) -> Iterator[Iterator[bytes]]:
        """The body piece by piece; it is void unless it ends as it should."""
        try:
            with self._client.stream(request.method, self._base + request.path, **_arguments(request)) as response:
                if response.status_code >= 300:
                    raise failure(response.status_code, response.read())
                yield response.iter_bytes()
        except self._http.TransportError as error:
            raise unreachable(self._base, error) from error

    def close(self) -> None:
        self._client.close()


class AsyncTransport:
    """The same, without blocking the event loop."""

    def __init__(self, base: str, token: str | None) -> None:
        self._http = _httpx()
        self._base = base
        self._client = self._http.AsyncClient(**_options(token))

    @property
    def graph(self) -> str:
        """The address of the graph."""
        return self._base

    @classmethod
    def inside(cls, application: Any, base: str, headers: Mapping[str, str]) -> AsyncTransport:
        """A transport that hands requests to an ASGI application of this process."""
        found = cls.__new__(cls)
        found._http = _httpx()
        found._base = base
        carrier = found._http.ASGITransport(app=application, raise_app_exceptions=False)
        found._client = found._http.AsyncClient(transport=carrier, headers=dict(headers), timeout=_TIMEOUT)
        return found

    async def send(self, request: Request[T]) -> T:
        """Ask, wait, decode."""
        import asyncio

        for attempt in range(_ATTEMPTS):
            try:
                response = await self._client.request(request.method, self._base + request.path, **_arguments(request))
            except self._http.TransportError as error:
                if request.method not in _REPEATABLE or attempt == _ATTEMPTS - 1:
                    raise unreachable(self._base, error) from error
                await asyncio.sleep(_delay(attempt))
            else:
                return decoded(request, response)
        raise AssertionError("the last attempt returns or raises")

    @asynccontextmanager
    async def stream(self, request: Request[Any]) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body piece by piece; it is void unless it ends as it should."""
        try:
            async with self._client.stream(
                request.method, self._base + request.path, **_arguments(request)
            ) as response:
                if response.status_code >= 300:
                    raise failure(response.status_code, await response.aread())
                yield response.aiter_bytes()
        except self._http.TransportError as error:
            raise unreachable(self._base, error) from error

    async def close(self) -> None:
        await self._client.aclose()


def decoded(request: Request[T], response: httpx.Response) -> T:
    """What the answer means, or the refusal as an error."""
    status = response.status_code
    if status >= 300 and status not in request.answers:
        known = None if response.content else request.refusals.get(status)
        raise known or failure(status, response.content)
    try:
        return request.decode(Answer(response.headers, response.content, status))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, OmnigraphError):
            raise
        raise ServerFailed(f"the server's answer to {request.method} {request.path} is not understood") from error


def unreachable(base: str, error: Exception) -> ServerFailed:
    """Why nothing came back."""
    return ServerFailed(f"cannot reach {base.partition('/graphs/')[0]}: {str(error) or type(error).__name__}")


def _arguments(request: Request[Any]) -> Mapping[str, Any]:
    body = {} if request.json is None else {"json": request.json}
    content = {} if request.content is None else {"content": request.content}
    return {"params": list(request.query), "headers": dict(request.headers), **body, **content}


def _pause(attempt: int) -> None:
    import time

    time.sleep(_delay(attempt))


def _delay(attempt: int) -> float:
    return 0.05 * float(2**attempt) * (1 + random.random())


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise BadRequest("a served graph needs httpx; install it with: pip install 'omnigraph[client]'") from error
    return httpx
