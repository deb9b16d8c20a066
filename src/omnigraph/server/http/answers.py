"""Responses: compact JSON, refusals as envelopes, and bytes that were JSON already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from omnigraph.server.http.refusal import Refusal

JSON = "application/json"
NDJSON = "application/x-ndjson; charset=utf-8"
ARROW = "application/vnd.apache.arrow.stream"


def answer(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON document."""
    return raw_answer(compact(document), status, headers)


def raw_answer(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None, kind: str = JSON) -> Response:
    """A body that is in its final form."""
    return Response(body, status, headers=dict(headers or {}), media_type=kind)


def refused(refusal: Refusal) -> Response:
    """The envelope of a refusal."""
    return answer(refusal.envelope(), refusal.status, refusal.headers)


def compact(document: Any) -> bytes:
    """JSON without spaces, UTF-8 as it is; half characters, which only an echo can hold, are replaced."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")
