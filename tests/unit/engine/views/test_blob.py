"""Blobs of entities: ranges, tags, and what has none."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, NotFound

SCHEMA = "node Doc { name: String @key  content: Blob?  pages: I32? }\nedge Cites: Doc -> Doc { scan: Blob? }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "docs.omni", SCHEMA)
    records = [{"type": "Doc", "data": {"name": "a", "content": "base64:SGVsbG8gV29ybGQ="}}]
    records += [
        {"type": "Doc", "data": {"name": "empty", "content": "base64:"}},
        {"type": "Doc", "data": {"name": "none"}},
    ]
    records += [{"edge": "Cites", "from": "a", "to": "none", "data": {"id": "e", "scan": "base64:AAE="}}]
    graph.load(records)
    return graph


def test_a_blob_is_read_in_parts(graph: og.Graph) -> None:
    blob = graph.blob("Doc", "a", "content")
    assert (blob.size, blob.is_external) == (11, False)
    assert (blob.read(), blob.read(6), blob.read(1, 4), blob.read(9, 99), blob.read(50)) == (
        b"Hello World",
        b"World",
        b"ello",
        b"ld",
        b"",
    )
    assert graph.blob("Doc", "empty", "content").read() == b""
    assert graph.blob("edge:Cites", "e", "scan").read() == b"\x00\x01"


def test_a_tag_follows_the_bytes_and_nothing_else(graph: og.Graph) -> None:
    before = graph.blob("Doc", "a", "content").etag
    graph.load([{"type": "Doc", "data": {"name": "other", "content": "base64:AA=="}}])
    assert graph.blob("Doc", "a", "content").etag == before
    graph.load([{"type": "Doc", "data": {"name": "a", "content": "base64:AA=="}}], mode="merge")
    assert graph.blob("Doc", "a", "content").etag != before


def test_the_past_keeps_its_bytes(graph: og.Graph) -> None:
    old = graph.commits.head()
    assert old is not None
    graph.load([{"type": "Doc", "data": {"name": "a", "content": "base64:AA=="}}], mode="merge")
    assert graph.at(old).blob("Doc", "a", "content").read() == b"Hello World"


def test_what_has_no_blob_is_told_apart_from_what_cannot_have_one(graph: og.Graph) -> None:
    for entity in ("none", "lost"):
        with pytest.raises(NotFound, match="has no 'content'"):
            graph.blob("Doc", entity, "content")
    with pytest.raises(BadRequest, match="is not a Blob"):
        graph.blob("Doc", "a", "pages")
    with pytest.raises(BadRequest, match="has no property"):
        graph.blob("Doc", "a", "lost")
    with pytest.raises(BadRequest, match="negative"):
        graph.blob("Doc", "a", "content").read(-1)
