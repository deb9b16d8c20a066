"""Answers: long documents are encoded as short ones are, only elsewhere."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from omnigraph.server.http.answers import answer, compact, is_short

DOCUMENTS: list[Any] = [
    {"rows": [{"n": number, "text": "é\n"} for number in range(2_000)], "more": None, "nested": {"a": [[], {}]}},
    ["x" * 100_000, [list(range(3_000))]],
    {"text": "x" * 100_000},
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_long_document_is_sent_as_it_would_be_in_one_piece(document: Any) -> None:
    assert not is_short(document)
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(answer(document, 201)({"type": "http"}, None, send))  # type: ignore[arg-type]
    start, body = sent
    assert body["body"] == compact(document)
    assert json.loads(body["body"]) == document
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()
    assert start["status"] == 201


def test_a_short_document_is_encoded_at_once() -> None:
    assert is_short({"a": [1, 2, {"b": "c"}]})
    assert answer({"a": 1}).body == b'{"a":1}'
