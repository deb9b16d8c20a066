"""Requests to AWS and to the services that hand out credentials; failures name a status or a code, never a body.

The answer to a bad signature repeats what was signed, session token included, so nothing that was answered is quoted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

_SECONDS = 5.0
_MAX_BYTES = 1 << 20
_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who asks; `token` belongs to keys that expire."""

    key_id: str
    secret: str
    token: str | None = None

    def __repr__(self) -> str:
        return f"Credentials({self.key_id[:4]}…)"


class NotAnswered(Exception):
    """A request without the answer that was wanted; the text is fit for a message."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry credentials to another place."""

    def redirect_request(self, *_: Any) -> None:
        return None


_DIRECT = urllib.request.build_opener(_NoRedirects(), urllib.request.ProxyHandler({}))
_PROXIED = urllib.request.build_opener(_NoRedirects())


def ask(
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    *,
    local: bool = False,
    seconds: float = _SECONDS,
) -> bytes:
    """The body of an answer with status 200; `local` services are on this machine or its network, past any proxy."""
    request = urllib.request.Request(url, body, dict(headers or {}), method=method)
    try:
        with (_DIRECT if local else _PROXIED).open(request, timeout=seconds) as answer:
            data: bytes = answer.read(_MAX_BYTES + 1)
    except urllib.error.HTTPError as error:
        with error:
            raise NotAnswered(_refused(error.code, error.read(_MAX_BYTES))) from None
    except (OSError, ValueError, HTTPException) as error:
        raise NotAnswered(f"{_place(url)} cannot be reached ({type(error).__name__})") from None
    if len(data) > _MAX_BYTES:
        raise NotAnswered(f"{_place(url)} answered more than a mebibyte")
    return data


def ask_json(
    method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None, *, local: bool = False
) -> Mapping[str, Any]:
    """The same for a JSON object."""
    try:
        found = json.loads(ask(method, url, headers, body, local=local))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise NotAnswered(f"{_place(url)} did not answer a JSON object")
    return found


def signed(
    credentials: Credentials,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    service: str,
    region: str,
    at: datetime,
) -> dict[str, str]:
    """The headers of a POST to the root of a service, with its signature (version 4)."""
    moment = at.strftime("%Y%m%dT%H%M%SZ")
    token = {} if credentials.token is None else {"x-amz-security-token": credentials.token}
    sent = {**{name.lower(): value for name, value in headers.items()}, "x-amz-date": moment, **token}
    covered = {**sent, "host": urlsplit(url).netloc}
    names = ";".join(sorted(covered))
    lines = [f"{name}:{covered[name].strip()}" for name in sorted(covered)]
    canonical = "\n".join(["POST", "/", "", *lines, "", names, hashlib.sha256(body).hexdigest()])
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join([_ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{credentials.secret}".encode()
    for part in (*scope.split("/"), text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    proof = f"Credential={credentials.key_id}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
    return {**sent, "authorization": f"{_ALGORITHM} {proof}"}


def _refused(status: int, body: bytes) -> str:
    """The status of a refusal, and the code of the error where it is a plain word."""
    try:
        code = str(json.loads(body)["__type"]).rpartition("#")[2]
    except (ValueError, KeyError, TypeError, RecursionError):
        code = ""
    return f"{code} (status {status})" if code.isidentifier() and len(code) < 80 else f"status {status}"


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}"
