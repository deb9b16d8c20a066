"""GraphML: one file, a declared key per property, labels as Neo4j's tools write and read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.types import INTEGER, PropType
from omnigraph.engine.changes.export import export_rows
from omnigraph.engine.values.arrow import TableType, property_names
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.exporters.cells import cell_texts

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
"""
# Characters that XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
_ID = "id"


def write_graphml(view: View, types: Sequence[TableType], file: BinaryIO) -> int:
    """Nodes before edges; a node's id in the file names its type too, its own id is data."""
    written = 0
    for chunk in _chunks(view, sorted(types, key=lambda info: isinstance(info, EdgeType))):
        file.write(chunk)
        written += len(chunk)
    return written


def _chunks(view: View, types: Sequence[TableType]) -> Iterator[bytes]:
    yield _HEAD.encode()
    yield f'<key id="{_ID}" for="all" attr.name="id" attr.type="string"/>\n'.encode()
    for info in types:
        role = "edge" if isinstance(info, EdgeType) else "node"
        for name in property_names(info):
            kind = _kind(info.properties[name])
            yield f'<key id="{_key(info, name)}" for="{role}" attr.name="{name}" attr.type="{kind}"/>\n'.encode()
    yield b'<graph edgedefault="directed">\n'
    for info in types:
        for batch in export_rows(view, info):
            yield "".join(_lines(info, batch).to_pylist()).encode()
    yield b"</graph>\n</graphml>\n"


def _kind(kind: PropType) -> str:
    if kind.list or kind.dim is not None:
        return "string"
    if kind.scalar in INTEGER:
        return "long"
    return {"F32": "float", "F64": "double", "Bool": "boolean"}.get(kind.scalar, "string")


def _key(info: TableType, name: str) -> str:
    return f"{info.table_key.replace(':', '.')}.{name}"


def _lines(info: TableType, batch: pa.RecordBatch) -> pa.Array:
    if isinstance(info, EdgeType):
        tail, head = (_escaped(info, end, batch.column(end)) for end in ("src", "dst"))
        start = [
            f'<edge source="{info.from_type}:',
            tail,
            f'" target="{info.to_type}:',
            head,
            f'" label="{info.name}">',
        ]
    else:
        start = [f'<node id="{info.name}:', _escaped(info, _ID, batch.column("id")), f'" labels=":{info.name}">']
    parts = [*start, f'<data key="{_ID}">', _escaped(info, _ID, batch.column("id")), "</data>"]
    for name in property_names(info):
        value = _escaped(info, name, cell_texts(batch.column(name)))
        shown = pc.binary_join_element_wise(f'<data key="{_key(info, name)}">', value, "</data>", "")
        parts.append(pc.fill_null(shown, ""))
    closing = "</edge>\n" if isinstance(info, EdgeType) else "</node>\n"
    return pc.binary_join_element_wise(*parts, closing, "")


def _escaped(info: TableType, name: str, texts: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(texts, _FORBIDDEN), min_count=0).as_py():
        raise BadRequest(f"'{info.name}.{name}' holds a control character, which XML cannot hold; use another format")
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("\r", "&#13;")):
        texts = pc.replace_substring(texts, sign, entity)
    return texts
