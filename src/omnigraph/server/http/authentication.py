"""Who sent a request: the bearer token and nothing else; an address that sends many wrong ones is put off."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict

from starlette.requests import Request

from omnigraph.policy.tokens import ResolvedActor, TokenTable, token_fingerprint
from omnigraph.server.http.refusal import CHALLENGE, RETRY_AFTER, Refusal, refuse

_LOG = logging.getLogger("omnigraph.server")


WRONG_TOKENS = 20
_WINDOW_SECONDS = 60
_ADDRESSES = 4_096


class WrongTokens:
    """How many wrong tokens each address has sent lately; a right one is never delayed, even from the same address."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def count(self, address: str) -> int:
        """Note one more; how many there were in this minute, it included."""
        now = time.monotonic()
        since, count = self._seen.pop(address, (now, 0))
        if now - since >= _WINDOW_SECONDS:
            since, count = now, 0
        self._seen[address] = since, count + 1
        if len(self._seen) > _ADDRESSES:
            self._seen.popitem(last=False)
        return count + 1


def authenticate(request: Request, tokens: TokenTable, wrong: WrongTokens) -> ResolvedActor:
    """The actor of the token, or 401; a refused token is logged by its fingerprint only, and many of them are not."""
    presented = _presented(request)
    if presented is None:
        raise _unauthorized("missing bearer token")
    actor = tokens.verify(presented)
    if actor is not None:
        return actor
    if _note_wrong(request, presented, wrong) > WRONG_TOKENS:
        message = f"more than {WRONG_TOKENS} wrong tokens came from this address in a minute"
        raise refuse(429, message, **{"Retry-After": RETRY_AFTER})
    raise _unauthorized("invalid bearer token")


def recognized(request: Request, tokens: TokenTable, wrong: WrongTokens) -> ResolvedActor | None:
    """The actor of the token on a route that asks for none; None when there is no token, or a wrong one."""
    presented = _presented(request)
    if presented is None:
        return None
    actor = tokens.verify(presented)
    if actor is None and len(tokens):
        _note_wrong(request, presented, wrong)
    return actor


def _note_wrong(request: Request, presented: str, wrong: WrongTokens) -> int:
    """Count and log a wrong token, up to a number a minute; how many there were."""
    count = wrong.count("" if request.client is None else request.client.host)
    if count <= WRONG_TOKENS:
        _LOG.warning("bearer token refused", extra={"token_sha256": token_fingerprint(presented)})
    return count


def _presented(request: Request) -> str | None:
    given = [value for name, value in request.scope["headers"] if name == b"authorization"]
    if len(given) != 1:
        return None
    scheme, space, token = given[0].partition(b" ")
    if scheme.lower() != b"bearer" or not space:
        return None
    try:
        return bytes(token).decode()
    except UnicodeDecodeError:
        return None


def _unauthorized(message: str) -> Refusal:
    return Refusal(401, message, "unauthorized", headers=CHALLENGE)
