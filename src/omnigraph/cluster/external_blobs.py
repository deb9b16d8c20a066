"""Where blobs outside a graph may come from: allow lists of storage prefixes, each in its one normal spelling."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

from omnigraph.errors import BadRequest

BlobScope = Literal["server_safe", "embedded_only"]
SCOPES: tuple[BlobScope, ...] = ("server_safe", "embedded_only")
_MAX_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class AllowedBase:
    """One prefix: everything strictly below it may be read, on a server only when it is server_safe."""

    uri: str
    scope: BlobScope

    def to_json(self) -> dict[str, str]:
        return {"uri": self.uri, "scope": self.scope}


@dataclass(frozen=True, slots=True)
class ExternalBlobPolicy:
    """An allow list; denying everything is having none."""

    bases: tuple[AllowedBase, ...]

    def to_json(self) -> dict[str, Any]:
        return {"mode": "allow", "bases": [base.to_json() for base in self.bases]}

    def for_server(self) -> ExternalBlobPolicy | None:
        """What is left of it in a server."""
        safe = tuple(base for base in self.bases if base.scope == "server_safe")
        return ExternalBlobPolicy(safe) if safe else None


def allow_list(bases: Iterable[AllowedBase]) -> ExternalBlobPolicy | None:
    """The policy for some bases, in a fixed order; BadRequest when one contains another."""
    ordered = tuple(sorted(bases, key=lambda base: (base.uri, SCOPES.index(base.scope))))
    for first, second in pairwise(ordered):
        if second.uri.startswith(first.uri):
            raise BadRequest(f"'{first.uri}' and '{second.uri}' overlap")
    return ExternalBlobPolicy(ordered) if ordered else None


def normalize_base(text: str, scope: BlobScope) -> AllowedBase:
    """The one spelling of a base; BadRequest says why it cannot be one."""
    _require_plain(text)
    scheme = text.partition("://")[0].lower()
    if scheme == "s3":
        return AllowedBase(_s3(text), scope)
    if scheme == "file":
        if scope == "server_safe":
            raise BadRequest(f"'{text}' is a local directory, which is never server_safe")
        return AllowedBase(_file(text), scope)
    raise BadRequest(f"'{text}' is neither an s3:// prefix nor a file:/// directory")


def parse_policy(document: Any) -> ExternalBlobPolicy | None:
    """A policy as the ledger holds it; BadRequest when it is none."""
    if document is None:
        return None
    try:
        if document["mode"] != "allow" or document.keys() != {"mode", "bases"}:
            raise BadRequest("an external blob policy has the mode 'allow' and its bases")
        bases = [AllowedBase(item["uri"], item["scope"]) for item in document["bases"]]
        if not all(item.keys() == {"uri", "scope"} for item in document["bases"]):
            raise BadRequest("a base of an external blob policy has a uri and a scope")
        if not all(map(_is_normal, bases)):
            raise BadRequest("a base of the external blob policy is not in its normal form")
    except (KeyError, TypeError, AttributeError) as error:
        raise BadRequest("the external blob policy is malformed") from error
    return allow_list(bases)


def _is_normal(base: AllowedBase) -> bool:
    if base.uri.startswith("file:///"):  # its directory may be gone since, and lies on another machine in a server
        return base.scope == "embedded_only" and base.uri.endswith("/")
    return base.scope in SCOPES and base == normalize_base(base.uri, base.scope)


def _require_plain(text: str) -> None:
    if text != text.strip():
        raise BadRequest(f"'{text}' has white space around it")
    if len(text.encode(errors="replace")) > _MAX_BYTES:
        raise BadRequest("the base is longer than 64 KiB")
    if "\\" in text:
        raise BadRequest(f"'{text}' holds a backslash")
    for mark, what in (("?", "a query"), ("#", "a fragment")):
        if mark in text:
            raise BadRequest(f"'{text}' holds {what}")


def _s3(text: str) -> str:
    parts = urlsplit(text)
    if "@" in parts.netloc or ":" in parts.netloc:
        raise BadRequest(f"'{text}' holds user information or a port")
    if not parts.netloc:
        raise BadRequest(f"'{text}' names no bucket")
    path = _segments(text, parts.path)
    if not path:
        raise BadRequest(f"'{text}' names a whole bucket; name a prefix in it")
    return f"s3://{parts.netloc.lower()}/{path}/"


def _file(text: str) -> str:
    parts = urlsplit(text)
    if parts.netloc:
        raise BadRequest(f"'{text}' must have three slashes: file:///directory")
    directory = "/" + unquote(_segments(text, parts.path))
    if not os.path.isdir(directory):
        raise BadRequest(f"'{text}' is no directory")
    return f"file://{quote(os.path.realpath(directory).rstrip('/'), safe='/')}/"


def _segments(text: str, path: str) -> str:
    trimmed = path[1:].removesuffix("/")
    if not trimmed:
        return ""
    decoded = [unquote(segment) for segment in trimmed.split("/")]
    if any(segment in ("", ".", "..") or "/" in segment or "\\" in segment for segment in decoded):
        raise BadRequest(f"'{text}' holds an empty segment, '.' or '..'")
    return "/".join(quote(segment, safe="") for segment in decoded)
