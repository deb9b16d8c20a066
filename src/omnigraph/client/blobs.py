"""One blob of a served graph: what HEAD tells of it, and its bytes part by part; a reference is never followed."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.client.request import Answer, Request
from omnigraph.client.transport import Transport
from omnigraph.errors import BadRequest, NotFound, ServerFailed

_ELSEWHERE = 302
_KINDS = ("node", "edge")

Selector = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RemoteBlob:
    """A stored value, or with `uri` a reference to an object outside the graph; `snapshot_id` is where it was found."""

    size: int
    etag: str
    uri: str | None
    snapshot_id: str
    _selector: Selector = field(repr=False, compare=False)
    _transport: Transport = field(repr=False, compare=False)

    @property
    def is_external(self) -> bool:
        return self.uri is not None

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """Some of its bytes, by default all of them; a range that reaches beyond the end is cut."""
        if self.uri is not None:
            raise BadRequest(f"this blob is a reference to {self.uri}; read it from there")
        if offset < 0 or (length is not None and length < 0):
            raise BadRequest("offset and length must not be negative")
        start = min(offset, self.size)
        end = self.size if length is None else min(self.size, start + length)
        if start == end:
            return b""
        # The tag makes all parts parts of one value, whatever is committed between two requests.
        headers = {"Range": f"bytes={start}-{end - 1}", "If-Match": f'"{self.etag}"'}
        found = self._transport.send(Request("GET", "/blob", _content, query=self._selector, headers=headers))
        if len(found) != end - start:
            raise ServerFailed(f"{end - start} bytes of the blob were asked for and {len(found)} came")
        return found


def find_blob(transport: Transport, type_name: str, entity_id: str, property_name: str, moment: Selector) -> RemoteBlob:
    """The blob of an entity; without `node:` or `edge:` before its type, a node type is looked for first."""
    kind, separator, name = type_name.partition(":")
    cell = (("id", entity_id), ("property", property_name), *moment)
    if separator and kind in _KINDS:
        return _found(transport, (("entity", kind), ("type", name), *cell))
    try:
        return _found(transport, (("entity", "node"), ("type", type_name), *cell))
    except BadRequest:
        return _found(transport, (("entity", "edge"), ("type", type_name), *cell))


def _found(transport: Transport, selector: Selector) -> RemoteBlob:
    def decode(answer: Answer) -> RemoteBlob:
        seen = answer.headers["omnigraph-snapshot-id"]
        if answer.status == _ELSEWHERE:
            return RemoteBlob(0, "", answer.headers["location"], seen, selector, transport)
        tag = answer.headers["etag"].strip('"')
        return RemoteBlob(int(answer.headers["content-length"]), tag, None, seen, selector, transport)

    # A refusal of HEAD has no words, so the ones that concern the selector get theirs here.
    asked = dict(selector)
    words = {
        400: BadRequest(f"the server knows no Blob '{asked['property']}' of {asked['entity']} type '{asked['type']}'"),
        404: NotFound(f"{asked['type']} '{asked['id']}' has no '{asked['property']}'"),
    }
    return transport.send(Request("HEAD", "/blob", decode, query=selector, answers=(_ELSEWHERE,), refusals=words))


def _content(answer: Answer) -> bytes:
    return answer.content
