"""Entities as JSON images, before and after a change."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph.engine.values.json_values import Style, json_rows
from omnigraph.storage.lance.version_tree import UPDATED

_IMAGE = Style(dates="epoch", non_finite="text")


def images(rows: pa.Table, *, edge: bool) -> list[dict[str, Any]]:
    """One image per row: its properties and, for an edge, its endpoints; a node may have properties of their names."""
    structural = {"id", UPDATED, *(("src", "dst") if edge else ())}
    names = [name for name in rows.column_names if name not in structural]
    properties = json_rows(rows.select(names), _IMAGE) if names else [{} for _ in range(rows.num_rows)]
    if not edge:
        return [{"properties": values} for values in properties]
    ends = zip(rows["src"].to_pylist(), rows["dst"].to_pylist(), strict=True)
    return [
        {"properties": values, "endpoints": {"from": source, "to": target}}
        for values, (source, target) in zip(properties, ends, strict=True)
    ]
