"""Strict reading of stored JSON documents: exactly the members that are known, of the types that are known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class Malformed(Exception):
    """A stored document is not what its place asks for; `unsupported` when only its version is newer."""

    def __init__(self, reason: str, *, unsupported: bool = False) -> None:
        super().__init__(reason)
        self.unsupported = unsupported


Kinds = tuple[type, ...]
TEXT: Kinds = (str,)
NUMBER: Kinds = (int,)
MAYBE_TEXT: Kinds = (str, type(None))
MAYBE_NUMBER: Kinds = (int, type(None))
MAPPING: Kinds = (dict,)


def parse_object(text: str) -> dict[str, Any]:
    """A JSON object without repeated members."""
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:
        raise Malformed(f"not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise Malformed("not a JSON object")
    return document


def check_version(document: Mapping[str, Any], member: str = "version") -> None:
    """Refuse a document of another version before looking at its members."""
    version = document.get(member)
    if type(version) is not int:
        raise Malformed(f"'{member}' is missing or no number")
    if version != 1:
        raise Malformed(f"{member} {version} is not supported by this release (expected 1)", unsupported=True)


def check_members(
    document: Any, required: Mapping[str, Kinds], optional: Mapping[str, Kinds] | None = None, where: str = "document"
) -> None:
    """Refuse unknown, missing and ill-typed members."""
    if not isinstance(document, dict):
        raise Malformed(f"{where} is not an object")
    known = {**required, **(optional or {})}
    for name, value in document.items():
        if name not in known:
            raise Malformed(f"{where} has the unknown member '{name}'")
        if type(value) not in known[name]:
            raise Malformed(f"'{name}' of {where} has the wrong type")
    for name in required:
        if name not in document:
            raise Malformed(f"{where} has no member '{name}'")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a member occurs twice")
    return result
