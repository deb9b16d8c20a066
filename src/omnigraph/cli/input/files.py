"""Files that the user names: read with errors that say which file and why."""

from __future__ import annotations

import sys
from pathlib import Path

from omnigraph.errors import BadRequest, NotFound


def read_bytes(path: str) -> bytes:
    """The content of a file."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise NotFound(f"No such file: '{path}'") from None
    except OSError as error:
        raise BadRequest(f"'{path}' cannot be read: {error.strerror}") from error


def read_text(path: str) -> str:
    """The content of a UTF-8 file."""
    data = read_bytes(path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadRequest(f"'{path}' is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}") from None


def read_stdin() -> bytes:
    """Everything on standard input."""
    return sys.stdin.buffer.read()


def source_file(path: str) -> Path:
    """The path of a schema or query file that exists and is text; diagnostics name it as the user did."""
    read_text(path)
    return Path(path)
