"""Text from outside becomes a Source, or one clean error that says where it stops being text."""

from __future__ import annotations

from omnigraph.compiler.diagnostics import Diagnostic, ParseError
from omnigraph.compiler.source import Source, Span


def to_source(text: Source | str | bytes, *, code: str, name: str = "<string>") -> Source:
    """The text as a Source; invalid UTF-8 or a lone surrogate is a syntax error with this code."""
    if isinstance(text, bytes):
        return _decode(text, code, name)
    source = text if isinstance(text, Source) else Source(text, name)
    # A lone surrogate has no UTF-8 form: it could be neither stored, hashed nor printed later on.
    if not source.text.isascii():
        try:
            source.text.encode()
        except UnicodeEncodeError as bad:
            shown = Source(source.text.encode(errors="replace").decode(), source.name)
            message = f"U+{ord(source.text[bad.start]):04X} is half of a surrogate pair, not a character"
            raise ParseError(Diagnostic(code, message, Span(bad.start, bad.start + 1)), shown) from None
    return source


def _decode(data: bytes, code: str, name: str) -> Source:
    try:
        return Source(data.decode(), name)
    except UnicodeDecodeError as bad:
        at = len(data[: bad.start].decode())
        message = f"byte 0x{data[bad.start]:02X} at offset {bad.start} is not UTF-8"
        shown = Source(data.decode(errors="replace"), name)
        raise ParseError(Diagnostic(code, message, Span(at, at + 1), "save the file as UTF-8"), shown) from None
