"""Continuation tokens: opaque text that says where a reader stopped and what it was reading.

A token is JSON followed by its SHA-256, in URL-safe base64 without padding. It is bound to everything that decides
what comes next, so a token used in another place is refused instead of skipping or repeating changes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import ChangeCursorRejected, ResourceLimitExceeded

TokenKind = Literal["commit-page", "feed-cursor", "feed-page"]

VERSION = 1
MAX_TOKEN = 4_096
_HASH_BYTES = 32
_EXACT_ID_BYTES = 256
_PREFIX_BYTES = 64


@dataclass(frozen=True, slots=True)
class Position:
    """A change inside a commit: its type, its entity, its rank among the operations, how many came before it."""

    type_id: str
    entity: Mapping[str, str]
    operation_rank: int
    change_index: int

    @property
    def fields(self) -> dict[str, Any]:
        return {
            "type_id": self.type_id,
            "position": dict(self.entity),
            "operation_rank": self.operation_rank,
            "change_index": self.change_index,
        }


def encode_token(kind: TokenKind, fields: Mapping[str, Any]) -> str:
    """The text of a token."""
    body = json.dumps({"version": VERSION, "kind": kind, **fields}, separators=(",", ":"), ensure_ascii=False).encode()
    text = base64.urlsafe_b64encode(body + hashlib.sha256(body).digest()).rstrip(b"=").decode()
    _require_size(text)
    return text


def decode_token(text: str, kind: TokenKind, bound: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a token of this kind, after checking that it is whole and belongs here (`bound`)."""
    _require_size(text)
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        body, digest = raw[:-_HASH_BYTES], raw[-_HASH_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            raise ChangeCursorRejected("its checksum does not match")
        if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != text:
            raise ChangeCursorRejected("it is not in canonical form")
        fields: dict[str, Any] = json.loads(body)
    except (binascii.Error, UnicodeError, ValueError) as error:
        raise ChangeCursorRejected("it is not a token") from error
    expected = {"version": VERSION, "kind": kind, **bound}
    for name, value in expected.items():
        if not isinstance(fields, dict) or fields.get(name) != value:
            raise ChangeCursorRejected(f"its {name.replace('_', ' ')} is not the one being read")
    return fields


def decode_position(fields: Mapping[str, Any]) -> Position:
    """The position that a page token carries."""
    try:
        entity = {str(name): str(value) for name, value in fields["position"].items()}
        return Position(str(fields["type_id"]), entity, int(fields["operation_rank"]), int(fields["change_index"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ChangeCursorRejected("its position is damaged") from error


def entity_mark(entity_id: str) -> dict[str, str]:
    """An id as a token carries it; long ids are shortened to a prefix and a hash."""
    data = entity_id.encode()
    if len(data) <= _EXACT_ID_BYTES:
        return {"mode": "exact", "id": entity_id}
    prefix = data[:_PREFIX_BYTES].decode(errors="ignore")  # cut back to a whole character
    return {"mode": "digest", "prefix": prefix, "sha256": hashlib.sha256(data).hexdigest()}


def find_entity(mark: Mapping[str, str], ids: pa.Array) -> int:
    """Where the marked id is among these; refused unless it is there exactly once."""
    if mark.get("mode") == "exact" and "id" in mark:
        found = int(pc.index(ids, pa.scalar(mark["id"], pa.utf8())).as_py())
        matches = [found] if found >= 0 else []
    elif mark.get("mode") == "digest" and {"prefix", "sha256"} <= mark.keys():
        near = pc.indices_nonzero(pc.starts_with(ids, mark["prefix"])).to_pylist()
        matches = [at for at in near if hashlib.sha256(ids[at].as_py().encode()).hexdigest() == mark["sha256"]]
    else:
        raise ChangeCursorRejected("its position is damaged")
    if len(matches) != 1:
        raise ChangeCursorRejected("its position does not exist in the commit")
    return matches[0]


def hashed(text: str) -> str:
    """A digest that reveals nothing about the text, URL-safe."""
    return encoded_digest(text.encode())


def encoded_digest(data: bytes) -> str:
    """SHA-256 in URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _require_size(text: str) -> None:
    if len(text) > MAX_TOKEN:
        raise ResourceLimitExceeded("change_continuation_token_encoded_bytes", limit=MAX_TOKEN, actual=len(text))
