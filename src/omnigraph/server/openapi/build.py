"""Assembles the document and writes it where the server reads it: `python -m omnigraph.server.openapi.build`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import omnigraph.server
from omnigraph.server.openapi.components import schemas
from omnigraph.server.openapi.operations import OPERATIONS
from omnigraph.server.openapi.serve import FILE


def document() -> dict[str, Any]:
    """The whole document of a server that asks for tokens."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = operation.document()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "OmniGraph",
            "version": "1.0.0",
            "description": "Typed property graphs with branches and atomic commits.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"bearer_token": {"type": "http", "scheme": "bearer"}},
        },
    }


def text() -> str:
    """The document as it is committed."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def committed() -> Path:
    """Where the committed document is."""
    return Path(omnigraph.server.__file__).parent / FILE


if __name__ == "__main__":
    committed().write_text(text(), encoding="utf-8")
