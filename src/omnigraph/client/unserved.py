"""What a graph in storage can do and a served one cannot: each verb with the reason that its error states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import BadRequest

_STORAGE = "needs the storage itself: open the graph with og.open, or use --store"
_YET = "is not served yet: open the graph with og.open, or use --store"

UNSERVED = {
    "actor": "is decided by the server, from the token",
    "analytics": _STORAGE,
    "draw": _YET,
    "policy": "is the server's",
    "read_only": "is decided by the server, for each request",
    "refresh": _STORAGE,
    "schema.catalog": _YET,
    "schema.draw": _YET,
    "schema.hash": _YET,
    "spark": _STORAGE,
    "sync": "is not served yet; branch(name) gives a handle on another branch",
    "transaction": "is not served: `mutate_many` commits a batch of mutations at once, or use a branch and merge it",
    "uri": "is known to the server only",
    "view": _STORAGE,
    "visibility": "is decided by the server, from the token",
    "visibility_of": "is decided by the server, from the token",
    "with_actor": "is decided by the server, from the token",
    "with_schema_check": "is for those who serve a graph; a server checks the queries it has stored",
    "with_patience": "is not served yet; over HTTP a request says it with `Prefer: wait=SECONDS`",
    "with_policy": "is decided by the server",
    "with_visibility": "is decided by the server, from the token",
}


class NotServed(BadRequest, AttributeError):
    """A verb that no server has; to `hasattr` and `getattr` it is an attribute that is not there."""


class Served:
    """A handle on a served graph or on a part of one, whose name is `_part`; `''` is the graph itself."""

    _part = ""

    # Type checkers do not see this: to them a verb that is not served, or misspelled, is an error.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            verb = f"{self._part}.{name}" if self._part else name
            if verb in UNSERVED:
                raise NotServed(f"'{verb}' {UNSERVED[verb]}")
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)
