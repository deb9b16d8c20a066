"""Who sent a request: the bearer token and nothing else."""

from __future__ import annotations

import logging

from starlette.requests import Request

from omnigraph.policy.tokens import ResolvedActor, TokenTable, token_fingerprint
from omnigraph.server.http.refusal import CHALLENGE, Refusal

_LOG = logging.getLogger("omnigraph.server")


def authenticate(request: Request, tokens: TokenTable) -> ResolvedActor:
    """The actor of the token, or 401; a refused token is logged by its fingerprint only."""
    presented = _presented(request)
    if presented is None:
        raise _unauthorized("missing bearer token")
    actor = _verified(presented, tokens)
    if actor is None:
        raise _unauthorized("invalid bearer token")
    return actor


def recognized(request: Request, tokens: TokenTable) -> ResolvedActor | None:
    """The actor of the token on a route that asks for none; None when there is no token, or a wrong one."""
    presented = _presented(request)
    return None if presented is None else _verified(presented, tokens)


def _verified(presented: str, tokens: TokenTable) -> ResolvedActor | None:
    actor = tokens.verify(presented)
    if actor is None and len(tokens):
        _LOG.warning("bearer token refused", extra={"token_sha256": token_fingerprint(presented)})
    return actor


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
