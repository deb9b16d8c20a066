"""Google Cloud Storage for tests: its XML interface, translated for an S3 server.

Both interfaces have the same paths, listings, copies and multipart uploads; headers have other names, and Google
compares generations where S3 compares entity tags. What decides races is the S3 server.
"""

from __future__ import annotations

import threading
from urllib.parse import quote, unquote, urlsplit

from omnigraph.testing.services.store_proxy import Forward, Request, Response

_GENERATION = "x-goog-generation"


class GoogleDialect:
    """Google's requests in the words of an S3 server that takes unsigned ones."""

    def __init__(self) -> None:
        self._tags: dict[int, str] = {}
        self._lock = threading.Lock()

    def __call__(self, request: Request, forward: Forward) -> Response:
        request.target = _decoded(request.target)
        request.headers = self._asked(request.headers)
        found = forward(request)
        if found.status == 304 and request.method == "PUT":
            found.status = 412
        found.headers = [(name.lower().replace("x-amz-meta-", "x-goog-meta-"), value) for name, value in found.headers]
        tag = next((value for name, value in found.headers if name.lower() == "etag"), None)
        if tag is not None:
            found.headers.append((_GENERATION, str(self._generation(tag))))
        return found

    def _asked(self, headers: dict[str, str]) -> dict[str, str]:
        asked = {}
        for name, value in headers.items():
            match name.lower():
                case "authorization":
                    continue
                case "x-goog-if-generation-match" if value == "0":
                    asked["If-None-Match"] = "*"
                case "x-goog-if-generation-match":
                    asked["If-Match"] = self._tags.get(int(value), '"unknown"')
                case lowered if lowered.startswith("x-goog-"):
                    asked[f"x-amz-{lowered.removeprefix('x-goog-')}"] = value
                case _:
                    asked[name] = value
        return asked

    def _generation(self, tag: str) -> int:
        digits = tag.strip('"').partition("-")[0]
        with self._lock:
            number = int(digits[:15], 16)
            self._tags[number] = tag
            return number


def _decoded(target: str) -> str:
    """The key with its slashes, which Google's client writes as %2F."""
    parts = urlsplit(target)
    path = quote(unquote(parts.path), safe="/~")
    return f"{path}?{parts.query}" if parts.query else path
