"""Decisions by hand: the row that a caller wants an entity to have after a merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.engine.intake.columns.property_columns import column_from_json
from omnigraph.engine.intake.external_blobs import require_reachable
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.arrow import TableType
from omnigraph.errors import BadRequest
from omnigraph.policy.external_blobs import ExternalBlobPolicy
from omnigraph.storage.lance.blob_cells import references

_ENDPOINTS = {"from": "src", "to": "dst"}


def resolved_row(
    info: TableType,
    entity_id: str,
    row: pa.Table,
    values: Mapping[str, Any],
    external: ExternalBlobPolicy | None = None,
) -> pa.Table:
    """One row with some of its values replaced; they are given as JSON and converted like loaded ones."""
    for name, value in values.items():
        column = _endpoint(value) if _is_endpoint(info, name) else _value(info, entity_id, name, value, external)
        stored = _ENDPOINTS.get(name, name) if _is_endpoint(info, name) else name
        row = row.set_column(row.column_names.index(stored), row.schema.field(stored), column)
    return row


def _is_endpoint(info: TableType, name: str) -> bool:
    return isinstance(info, EdgeType) and name in _ENDPOINTS


def _endpoint(value: Any) -> pa.Array:
    if not isinstance(value, str):
        raise BadRequest(f"resolve: an endpoint is the id of a node, not {value!r}")
    return pa.array([value], pa.utf8())


def _value(info: TableType, entity_id: str, name: str, value: Any, external: ExternalBlobPolicy | None) -> pa.Array:
    kind = info.properties.get(name)
    if kind is None:
        raise BadRequest(f"resolve: {info.name} has no property '{name}'")
    if isinstance(info, NodeType) and info.key is not None and name in info.key:
        raise BadRequest(f"resolve: '{name}' is the key of {info.name} and cannot change")
    column, offences = column_from_json(name, kind, [value], external)
    for offence in offences:
        raise Violation(offence.code, offence.message, info.table_key, name, (entity_id,)).error()
    if name in info.blobs:
        require_reachable(references(column).to_pylist())
    return column
