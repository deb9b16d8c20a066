"""The committed document as the server hands it out."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

FILE = "openapi.json"


@cache
def served_document(*, secured: bool) -> bytes:
    """The document in bytes; a server that asks for no token does not claim to."""
    text = (files("omnigraph.server") / FILE).read_text(encoding="utf-8")
    document = json.loads(text) if secured else without_security(json.loads(text))
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def without_security(document: dict[str, Any]) -> dict[str, Any]:
    """The document of an open server."""
    document.pop("security", None)
    document["components"].pop("securitySchemes", None)
    for path in document["paths"].values():
        for operation in path.values():
            if isinstance(operation, dict):
                operation.pop("security", None)
    return document
