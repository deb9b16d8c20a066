"""One blob of a served graph: what HEAD tells of it, and its bytes part by part; a reference is never followed."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.client.request import Answer, Request
from omnigraph.client.transport import AsyncTransport, Transport
from omnigraph.display import Displayed
from omnigraph.errors import BadRequest, NotFound, ServerFailed

_ELSEWHERE = 302
_KINDS = ("node", "edge")

Selector = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, repr=False)
class _Found(Displayed):
    """A stored value, or with `uri` a reference to an object outside the graph; `snapshot_id` is where it was found."""

    size: int
    etag: str
    uri: str | None
    snapshot_id: str
    _selector: Selector = field(repr=False, compare=False)

    @property
    def is_external(self) -> bool:
        return self.uri is not None

    def _part(self, offset: int, length: int | None) -> Request[bytes] | None:
        """What to ask for; None when there is nothing between these places."""
        if self.uri is not None:
            raise BadRequest(f"this blob is a reference to {self.uri}; read it from there")
        if offset < 0 or (length is not None and length < 0):
            raise BadRequest("offset and length must not be negative")
        start = min(offset, self.size)
        end = self.size if length is None else min(self.size, start + length)
        if start == end:
            return None

        def content(answer: Answer) -> bytes:
            if len(answer.content) != end - start:
                raise ServerFailed(f"{end - start} bytes of the blob were requested and {len(answer.content)} came")
            return answer.content

        # The tag makes all parts parts of one value, whatever is committed between two requests.
        headers = {"Range": f"bytes={start}-{end - 1}", "If-Match": f'"{self.etag}"'}
        return Request("GET", "/blob", content, query=self._selector, headers=headers)


@dataclass(frozen=True, slots=True, repr=False)
class RemoteBlob(_Found):
    """A blob whose bytes can be read."""

    _transport: Transport = field(repr=False, compare=False)

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """Some of its bytes, by default all of them; a range that reaches beyond the end is cut."""
        asked = self._part(offset, length)
        return b"" if asked is None else self._transport.send(asked)


@dataclass(frozen=True, slots=True, repr=False)
class AsyncBlob(_Found):
    """A blob whose bytes can be awaited."""

    _transport: AsyncTransport = field(repr=False, compare=False)

    async def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """Some of its bytes, by default all of them; a range that reaches beyond the end is cut."""
        asked = self._part(offset, length)
        return b"" if asked is None else await self._transport.send(asked)


def find_blob(transport: Transport, type_name: str, entity_id: str, property_name: str, moment: Selector) -> RemoteBlob:
    """The blob of an entity; without `node:` or `edge:` before its type, a node type is looked for first."""
    first, *others = _selectors(type_name, entity_id, property_name, moment)
    try:
        found = transport.send(_look(first))
    except BadRequest:
        if not others:
            raise
        found = transport.send(_look(others[0]))
    return RemoteBlob(found.size, found.etag, found.uri, found.snapshot_id, found._selector, transport)


async def find_blob_async(
    transport: AsyncTransport, type_name: str, entity_id: str, property_name: str, moment: Selector
) -> AsyncBlob:
    """The same, awaited."""
    first, *others = _selectors(type_name, entity_id, property_name, moment)
    try:
        found = await transport.send(_look(first))
    except BadRequest:
        if not others:
            raise
        found = await transport.send(_look(others[0]))
    return AsyncBlob(found.size, found.etag, found.uri, found.snapshot_id, found._selector, transport)


def _selectors(type_name: str, entity_id: str, property_name: str, moment: Selector) -> list[Selector]:
    kind, separator, name = type_name.partition(":")
    kinds, name = ((kind,), name) if separator and kind in _KINDS else (_KINDS, type_name)
    cell = (("id", entity_id), ("property", property_name), *moment)
    return [(("entity", each), ("type", name), *cell) for each in kinds]


def _look(selector: Selector) -> Request[_Found]:
    def decode(answer: Answer) -> _Found:
        seen = answer.headers["omnigraph-snapshot-id"]
        if answer.status == _ELSEWHERE:
            return _Found(0, "", answer.headers["location"], seen, selector)
        tag = answer.headers["etag"].strip('"')
        return _Found(int(answer.headers["content-length"]), tag, None, seen, selector)

    # A refusal of HEAD has no words, so the ones that concern the selector get theirs here.
    asked = dict(selector)
    words = {
        400: BadRequest(f"the server knows no Blob '{asked['property']}' of {asked['entity']} type '{asked['type']}'"),
        404: NotFound(f"{asked['type']} '{asked['id']}' has no '{asked['property']}'"),
    }
    return Request("HEAD", "/blob", decode, query=selector, answers=(_ELSEWHERE,), refusals=words)
