"""Values of blob columns on their way through the engine: bytes, or the URI of an object outside the graph.

Lance opens that object when it is asked for the bytes of a reference. So nothing here asks it to: columns are read as
descriptors, bytes are fetched for values that the graph holds itself, and references travel as their URIs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import Corrupt

BLOB_CELL = pa.struct([pa.field("data", pa.large_binary()), pa.field("uri", pa.utf8())])
"""One value: exactly one member is set; a null blob is a null struct."""

EXTERNAL = 3  # how lance marks a descriptor that is a reference


def is_blob(field: pa.Field) -> bool:
    """Whether lance keeps the values of a stored column apart from its rows."""
    return isinstance(field.type, pa.BaseExtensionType)  # the only extension type that tables have


def blob_columns(schema: pa.Schema) -> list[str]:
    """The blob columns of a stored schema."""
    return [field.name for field in schema if is_blob(field)]


def cells_of_bytes(values: pa.Array) -> pa.Array:
    """Binary values as cells."""
    data = values.cast(pa.large_binary())
    return pa.StructArray.from_arrays(
        [data, pa.nulls(len(data), pa.utf8())], fields=list(BLOB_CELL), mask=data.is_null()
    )


def references(cells: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The URIs among some cells, in order."""
    uris = pc.struct_field(cells, "uri")
    return pc.drop_null(uris.combine_chunks() if isinstance(uris, pa.ChunkedArray) else uris)


def external_uris(descriptors: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The URIs among some descriptors, in order."""
    outside = pc.equal(pc.struct_field(descriptors, "kind"), EXTERNAL)
    uris = pc.struct_field(descriptors, "blob_uri").filter(outside)
    return uris.combine_chunks() if isinstance(uris, pa.ChunkedArray) else uris


def stored_cells(cells: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """Cells as values of a blob column."""
    storage = field.type.storage_type
    chunks = []
    for chunk in cells.chunks:
        members = [
            pc.struct_field(chunk, part.name) if part.name in ("data", "uri") else pa.nulls(len(chunk), part.type)
            for part in storage
        ]
        packed = pa.StructArray.from_arrays(members, fields=list(storage), mask=chunk.is_null())
        chunks.append(pa.ExtensionArray.from_storage(field.type, packed))
    return pa.chunked_array(chunks, field.type)


def read_cells(dataset: Any, column: str, descriptors: pa.Array, **place: pa.Array) -> pa.Array:
    """The cells that descriptors stand for; `place` says by `ids` or `addresses` where their rows are."""
    ((by, numbers),) = place.items()
    if not len(descriptors):
        return pa.array([], BLOB_CELL)
    missing = descriptors.is_null()
    outside = pc.fill_null(pc.equal(pc.struct_field(descriptors, "kind"), EXTERNAL), False)
    _refuse_parts(column, descriptors.filter(outside))
    inside = pc.invert(pc.or_(missing, outside))
    data = _bytes(dataset, column, numbers.filter(inside), by)
    uris = pc.if_else(outside, pc.struct_field(descriptors, "blob_uri"), pa.scalar(None, pa.utf8()))
    return pa.StructArray.from_arrays([_spread(data, inside), uris], fields=list(BLOB_CELL), mask=missing)


def _bytes(dataset: Any, column: str, numbers: pa.Array, by: str) -> Sequence[bytes]:
    if not len(numbers):
        return []
    return [data for _, data in dataset.read_blobs(column, preserve_order=True, **{by: numbers.to_pylist()})]


def _spread(data: Sequence[bytes], where: pa.Array) -> pa.Array:
    """Values at the places that a mask names, null elsewhere."""
    values = pa.array(data, pa.large_binary())
    if len(values) == len(where):
        return values
    mask = where.to_numpy(zero_copy_only=False)
    return values.take(pa.array(np.cumsum(mask) - 1, mask=~mask))


def _refuse_parts(column: str, outside: pa.Array) -> None:
    for member in ("position", "size"):
        if pc.any(pc.not_equal(pc.struct_field(outside, member), 0)).as_py():
            raise Corrupt(f"a value of '{column}' refers to a part of an external object")
