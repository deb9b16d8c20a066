"""The format stamp of a graph: which releases may read it, checked before anything else is decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import FormatRefused

if TYPE_CHECKING:
    import pyarrow as pa  # the command line prints the stamp, and Arrow would take most of its time

STAMP_KEY = "omnigraph:internal_schema_version"
CURRENT_STAMP = 4


def check_stamp(schema: pa.Schema, uri: str) -> None:
    """Refuse a manifest that this release must not touch; a pure read of schema-level metadata."""
    raw = (schema.metadata or {}).get(STAMP_KEY.encode())
    if raw is None:
        raise FormatRefused(
            f"'{uri}' has no internal-schema stamp, so its format is unknown: its manifest is damaged, or another "
            "program wrote it; nothing was changed. Restore the graph from a backup, or open it with that program",
            found=None,
        )
    text = raw.decode(errors="replace")
    if not (text.isascii() and text.isdigit()):
        raise FormatRefused(f"'{uri}' has an unreadable format stamp {text!r}", found=text)
    if int(text) < CURRENT_STAMP:
        raise FormatRefused(
            f"'{uri}' was written by an older release (format {text}, this release uses {CURRENT_STAMP}); "
            "export it with that release, then init and load here: omnigraph export, init, load --mode overwrite",
            found=text,
        )
    if int(text) > CURRENT_STAMP:
        raise FormatRefused(
            f"'{uri}' was written by a newer release (format {text}, this release uses {CURRENT_STAMP}); "
            "upgrade omnigraph before opening this graph",
            found=text,
        )
