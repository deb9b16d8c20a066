"""Where blobs outside a graph may come from: allow lists of storage prefixes, each in its one normal spelling."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal
from urllib.parse import SplitResult, quote, unquote, urlsplit

from omnigraph.errors import BadRequest

BlobScope = Literal["server_safe", "embedded_only"]
SCOPES: tuple[BlobScope, ...] = ("server_safe", "embedded_only")
MAX_URI_BYTES = 64 << 10
_PATH_MARKS = "!$&'()*+,;=:@"


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

    def reference(self, text: str) -> str:
        """The one spelling of the URI of an object below a base; BadRequest says why it may not be referred to."""
        try:
            _require_plain(text)
            uri = _object_uri(text)
        except BadRequest as error:
            # A URI may hold secrets, so the reason does not repeat it.
            raise BadRequest(error.message.replace(f"'{text}'", "it")) from None
        path = _decoded(uri)
        if not any(path[: len(below)] == below and len(path) > len(below) for below in map(_decoded, self._uris)):
            raise BadRequest("no allowed base covers it")
        return uri

    @property
    def _uris(self) -> tuple[str, ...]:
        return tuple(base.uri for base in self.bases)


def policy_of(bases: Iterable[str] | ExternalBlobPolicy) -> ExternalBlobPolicy | None:
    """The policy of an embedded handle: `s3://` prefixes and `file:///` directories that it may refer to."""
    if isinstance(bases, ExternalBlobPolicy):
        return bases
    if isinstance(bases, str):
        raise BadRequest("external_blobs is a list of bases, not one text")
    return allow_list([normalize_base(base, "embedded_only") for base in bases])


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


def without_credentials(text: str) -> str:
    """A URI that may be shown: user information, query and fragment are left out.

    >>> without_credentials("s3://key:secret@bucket/a?X-Amz-Signature=1")
    's3://bucket/a'
    """
    scheme, mark, rest = re.split(r"[?#]", text, maxsplit=1)[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def _object_uri(text: str) -> str:
    """The normal spelling of an object's URI. Letters that a path may hold stay as they are, so that usual URIs do."""
    if not text.isprintable():
        raise BadRequest("it holds a character that no URI can have")
    parts = _split(text)
    if "@" in parts.netloc or ":" in parts.netloc:
        raise BadRequest("it holds user information or a port")
    match parts.scheme:
        case "s3" if parts.netloc:
            segments = _decoded_segments(text, parts.path)
            return f"s3://{parts.netloc.lower()}/{_spelled(segments)}"
        case "file" if not parts.netloc:
            # A symbolic link below a base must not lead out of it.
            path = os.path.realpath("/" + "/".join(_decoded_segments(text, parts.path)))
            return f"file:///{_spelled(path[1:].split('/'))}"
    raise BadRequest("it is neither an s3:// nor a file:/// URI")


def _decoded(uri: str) -> list[str]:
    """Scheme, host and path of a normal URI, by component."""
    scheme, _, rest = uri.partition("://")
    return [scheme, *map(unquote, rest.removesuffix("/").split("/"))]


def _spelled(segments: Iterable[str]) -> str:
    return "/".join(quote(segment, safe=_PATH_MARKS) for segment in segments)


def _require_plain(text: str) -> None:
    if text != text.strip():
        raise BadRequest(f"'{text}' has white space around it")
    if len(text.encode(errors="replace")) > MAX_URI_BYTES:
        raise BadRequest("the base is longer than 64 KiB")
    if "\\" in text:
        raise BadRequest(f"'{text}' holds a backslash")
    for mark, what in (("?", "a query"), ("#", "a fragment")):
        if mark in text:
            raise BadRequest(f"'{text}' holds {what}")


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError:
        raise BadRequest(f"'{text}' is not a URI") from None


def _s3(text: str) -> str:
    parts = _split(text)
    if "@" in parts.netloc or ":" in parts.netloc:
        raise BadRequest(f"'{text}' holds user information or a port")
    if not parts.netloc:
        raise BadRequest(f"'{text}' names no bucket")
    path = _segments(text, parts.path)
    if not path:
        raise BadRequest(f"'{text}' names a whole bucket; name a prefix in it")
    return f"s3://{parts.netloc.lower()}/{path}/"


def _file(text: str) -> str:
    parts = _split(text)
    if parts.netloc:
        raise BadRequest(f"'{text}' must have three slashes: file:///directory")
    directory = "/" + unquote(_segments(text, parts.path))
    if not os.path.isdir(directory):
        raise BadRequest(f"'{text}' is not a directory")
    return f"file://{quote(os.path.realpath(directory).rstrip('/'), safe='/')}/"


def _segments(text: str, path: str) -> str:
    trimmed = path.removesuffix("/")
    return "/".join(quote(segment, safe="") for segment in _decoded_segments(text, trimmed)) if trimmed else ""


def _decoded_segments(text: str, path: str) -> list[str]:
    decoded = [unquote(segment) for segment in path[1:].split("/")]
    if any(segment in ("", ".", "..") or "/" in segment or "\\" in segment for segment in decoded):
        raise BadRequest(f"'{text}' holds an empty segment, '.' or '..'")
    if "\0" in "".join(decoded):
        raise BadRequest(f"'{text}' holds a NUL")
    return decoded
