"""JSON lines of `apoc.export.json`: nodes with labels, relationships with the ids of their ends."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.engine.intake.inputs.files import list_files, open_stream
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.importers.bundle import (
    Bundle,
    Links,
    Nodes,
    attribute,
    attributes,
    bundle,
    columns_of,
    with_labels,
)

_BLOCK = 64 << 20


def read_neo4j_json(sources: Sequence[str]) -> Bundle:
    """Nodes get the type of their first label; relationships that of their label."""
    parts = [_read(file.path) for source in sources for file in list_files(source, [".json", ".jsonl"])]
    nodes = pa.concat_tables([part[0] for part in parts], promote_options="permissive")
    links = pa.concat_tables([part[1] for part in parts], promote_options="permissive")
    known = nodes.select(["id", "label"])
    return bundle(
        [Nodes(label, rows) for label, rows in _by_label(nodes).items()],
        [Links(label, rows) for label, rows in _by_label(with_labels(links, known)).items()],
    )


def _by_label(rows: pa.Table) -> dict[str, pa.Table]:
    plain = rows.drop_columns(["label"])
    return {label: plain.filter(pc.equal(rows["label"], label)) for label in pc.unique(rows["label"]).to_pylist()}


def _read(path: str) -> tuple[pa.Table, pa.Table]:
    with open_stream(path) as file:
        data = bytes(file.read())
    try:
        found = pj.read_json(io.BytesIO(data), pj.ReadOptions(block_size=_BLOCK))
        return _from_arrow(path, found)
    except pa.ArrowInvalid:
        # A property that is text here and a number there: Arrow wants one type per member, so look at each record.
        return _from_records(path, data)


def _from_arrow(path: str, found: pa.Table) -> tuple[pa.Table, pa.Table]:
    if not {"type", "id"} <= set(found.column_names):
        raise BadRequest(f"'{path}' contains no nodes and relationships as apoc.export.json writes them")
    nodes = found.filter(pc.equal(found["type"], "node"))
    links = found.filter(pc.equal(found["type"], "relationship"))
    labels = nodes["labels"] if "labels" in found.column_names else pa.chunked_array([pa.nulls(len(nodes))])
    first = _first_labels(labels)
    shown = pa.table({"id": _texts(nodes["id"]), "label": first, **_properties(nodes)})
    if not links.num_rows:
        return shown, _no_links()
    ends = {name: _texts(pc.struct_field(links[end], "id")) for name, end in (("from", "start"), ("to", "end"))}
    return shown, pa.table({**ends, "label": links["label"], **_properties(links)})


def _first_labels(labels: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_null(labels.type):
        return pa.chunked_array([pa.repeat("Node", len(labels))])
    some = pc.greater(pc.fill_null(pc.list_value_length(labels), 0), 0)
    first = pc.list_element(pc.if_else(some, labels, pa.scalar(["Node"], labels.type)), 0)
    return pc.fill_null(first, "Node")


def _properties(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    if "properties" not in rows.column_names or not rows.num_rows or pa.types.is_null(rows["properties"].type):
        return {}
    whole = rows["properties"].combine_chunks()
    return {attribute(field.name): pa.chunked_array([pc.struct_field(whole, field.name)]) for field in whole.type}


def _texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(pa.utf8())


def _no_links() -> pa.Table:
    return pa.table({name: pa.array([], pa.utf8()) for name in ("from", "to", "label")})


def _from_records(path: str, data: bytes) -> tuple[pa.Table, pa.Table]:
    nodes: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if record["type"] == "node":
                nodes.append(
                    {"id": str(record["id"]), "label": (record.get("labels") or ["Node"])[0], **_plain(record)}
                )
            else:
                ends = {"from": str(record["start"]["id"]), "to": str(record["end"]["id"])}
                links.append({**ends, "label": record["label"], **_plain(record)})
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequest(
                f"'{path}' line {number} is not a node or relationship of apoc.export.json: {error}"
            ) from error
    return pa.table(columns_of(nodes)), pa.table(columns_of(links)) if links else _no_links()


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return attributes(record.get("properties") or {})
