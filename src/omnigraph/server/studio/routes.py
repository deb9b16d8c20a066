"""Routes of the studio's own files and of its sign-in; they are no part of the API, and not in its document."""

from __future__ import annotations

import gzip
from functools import lru_cache

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from omnigraph.server.http.answers import answer, raw_answer
from omnigraph.server.http.exchange import Exchange
from omnigraph.server.http.refusal import refuse
from omnigraph.server.http.routing import Route
from omnigraph.server.studio import files

_PAGE = "text/html; charset=utf-8"
_PACKED = ("text/javascript", "text/css", "image/svg+xml")


class SessionRequest(BaseModel):
    """The code that came with the address."""

    model_config = ConfigDict(extra="forbid", strict=True)

    code: str


async def page(exchange: Exchange) -> Response:
    """The one page of the studio; where it is in the studio is in the fragment, which no server sees."""
    text, headers = files.page()
    return raw_answer(text.encode(), 200 if files.is_built() else 503, headers, _PAGE)


async def moved(exchange: Exchange) -> Response:
    """To the address that relative names are resolved against."""
    return raw_answer(b"", 308, {"Location": "/studio/"}, _PAGE)


async def asset(exchange: Exchange) -> Response:
    """One built file, compressed where the browser takes that."""
    found = files.asset(exchange.params["file"])
    if found is None:
        raise refuse(404, "the studio has no such file")
    body, kind, headers = found
    if kind.startswith(_PACKED):
        headers["Vary"] = "Accept-Encoding"
        if "gzip" in exchange.request.headers.get("accept-encoding", ""):
            return raw_answer(_packed(body), headers={**headers, "Content-Encoding": "gzip"}, kind=kind)
    return raw_answer(body, headers=headers, kind=kind)


async def session(exchange: Exchange) -> Response:
    """Exchange the one-time code of `omnigraph studio` for the token of its server."""
    sign_in = exchange.deployment.sign_in
    if sign_in is None:
        raise refuse(404, "this server has no one-time codes; sign in with a token")
    origin = exchange.request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != exchange.request.headers.get("host"):
        raise refuse(403, "a page of another site may not sign in here")
    token = sign_in.redeem((await exchange.json(SessionRequest)).code)
    if token is None:
        raise refuse(403, "this code was used already, or is not a code of this server; run `omnigraph studio` again")
    return answer({"token": token}, headers={"Cache-Control": "no-store"})


@lru_cache(maxsize=256)
def _packed(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


STUDIO_ROUTES = (
    Route("GET", "/studio", "studio_moved", moved, authenticated=False),
    Route("GET", "/studio/", "studio_page", page, authenticated=False),
    Route("GET", "/studio/assets/{file}", "studio_asset", asset, authenticated=False),
    Route("POST", "/studio/session", "studio_session", session, authenticated=False),
)
