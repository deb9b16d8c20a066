"""Stored values as the text of one cell: text as it is, everything else as JSON would have it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.json_values import json_texts


def cell_texts(values: pa.Array) -> pa.Array:
    """One text per value, null for null; dates in ISO form, lists and vectors as JSON, blobs as their JSON text."""
    if pa.types.is_string(values.type):
        return values
    texts = json_texts(values)
    quoted = pc.starts_with(texts, '"')
    plain = pc.if_else(quoted, pc.utf8_slice_codeunits(texts, 1, -1), texts)
    return pc.if_else(values.is_null(), pa.scalar(None, pa.utf8()), plain)
