"""Indexes of heads: what they answer is what the table says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.display import counted
from omnigraph.engine.maintenance.checks.history import pin_of
from omnigraph.engine.maintenance.checks.report import Checking, Pin
from omnigraph.engine.read.search.vector_index import INDEX_TYPE
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.views.view import View
from omnigraph.storage.lance.handle import IndexInfo, NearestRows, TableHandle

_ROW_ID = "_rowid"
_ADVICE = "; build it again with optimize"
_RANGES = 16
_VECTORS = 16
_EVERY_PARTITION = 1 << 16
_REFINE = 8
_CLOSE = 1e-5


def check_indexes(view: View, branch: str, checking: Checking, seen: set[Pin]) -> None:
    """Every index of the tables of one head that was not looked at yet."""
    for info in table_types(view.catalog).values():
        with checking.looking("index", type_key=info.table_key, branch=branch):
            pin = pin_of(view.entry(info))
            if pin not in seen | checking.damaged:
                seen.add(pin)
                _table(view, info, branch, checking)
        checking.done()


def _table(view: View, info: TableType, branch: str, checking: Checking) -> None:
    table = view.table(info)
    for index in table.indices():
        checking.counts.indexes += 1
        name = f"index '{index.name}' on '{index.columns[0]}': "
        with checking.looking("index", name, _ADVICE, type_key=info.table_key, branch=branch):
            wrong = _disagreement(info, table, index)
            if wrong is not None:
                message = f"{name}{wrong}{_ADVICE}"
                checking.found("index", message, type_key=info.table_key, branch=branch)


def _disagreement(info: TableType, table: TableHandle, index: IndexInfo) -> str | None:
    column, kind = index.columns[0], index.index_type.upper()
    if kind == "BTREE":
        return _ordered(table, column)
    if kind == INDEX_TYPE and isinstance(info, NodeType):
        return _vectors(info, table, column)
    covered = index.rows + table.unindexed_rows(index.name)  # reads what the index says about itself
    return None if covered >= 0 else "its statistics make no sense"


def _ordered(table: TableHandle, column: str) -> str | None:
    """Ask for ranges that together hold every value; each has to give the rows that the column itself gives."""
    rows = table.scan([column, _ROW_ID])
    held = rows.filter(pc.is_valid(rows[column]))
    for low, high in _ranges(pc.unique(held[column])):
        inside = pc.field(column) >= low
        expected = pc.greater_equal(held[column], low)
        if high is not None:
            inside = inside & (pc.field(column) < high)
            expected = pc.and_(expected, pc.less(held[column], high))
        found = table.scan([_ROW_ID], inside)[_ROW_ID]
        wanted = held.filter(expected)[_ROW_ID]
        if not np.array_equal(np.sort(found.to_numpy()), np.sort(wanted.to_numpy())):
            return f"it finds {counted(len(found), 'row')} where the table has {len(wanted)}"
    return None


def _ranges(values: pa.Array) -> list[tuple[pa.Scalar, pa.Scalar | None]]:
    if not len(values):
        return []
    ordered = values.take(pc.sort_indices(values))
    cuts = [ordered[int(at)] for at in np.unique(np.linspace(0, len(ordered) - 1, _RANGES + 1).astype(int)[:-1])]
    return list(zip(cuts, [*cuts[1:], None], strict=True))


def _vectors(info: NodeType, table: TableHandle, column: str) -> str | None:
    """Some vectors have to be their own nearest neighbours when every partition is searched."""
    count = table.count_rows()
    rows = table.scan([column, _ROW_ID], limit=_VECTORS, offset=max(0, count // 2 - _VECTORS))
    metric = info.metrics[column]
    for vector in rows[column].drop_null().to_pylist():
        query = np.asarray(vector, np.float32)
        if metric == "dot" or not query.any():
            continue  # a longer vector may be nearer to one than itself
        asked = NearestRows(query, 1, metric, _EVERY_PARTITION, _REFINE)
        found = table.nearest(column, asked)
        nearest = None if not found.num_rows else np.asarray(found[column][0].as_py(), np.float32)
        if nearest is None or not np.allclose(nearest, query, rtol=_CLOSE, atol=_CLOSE):
            return "it does not find a vector that the table has"
    return None
