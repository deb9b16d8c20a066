"""How the searches of a plan would run at one view: which indexes and corpora there are, and what they cover."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import Expand, NodeScan
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import expressions
from omnigraph.display import counted
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.search.corpus_store import TextColumn, is_kept
from omnigraph.engine.read.search.nearest import EXACT_COLD, vector_index
from omnigraph.engine.read.search.probes import known_probes
from omnigraph.engine.read.search.vector_index import PROBES, partitions
from omnigraph.engine.views.view import View
from omnigraph.storage.lance.tables import IndexInfo

_FEW = 10
_FLOAT_BYTES = 4
_COUNTED_BYTES = 64 << 20  # 50,000 × 64 floats take 10 ms to count, so this stays below a tenth of a second


def search_paths(view: View, plan: ReadPlan) -> tuple[str, ...]:
    """One line for each property that the plan searches, in the order of the plan."""
    return tuple(dict.fromkeys(_lines(view, plan)))


def _lines(view: View, plan: ReadPlan) -> Iterator[str]:
    types, edges = dict(_types(plan)), dict(_edge_types(plan))
    for part in expressions(plan):
        match part:
            case ir.Nearest(var=var, name=name) if types.get(var) in view.catalog.nodes:
                path = _vectors(_entities(view, types[var]), name)
                yield f"nearest {types[var]}.{name}: {path}{_without(view, types[var], name)}"
            case ir.TextMatch(function=ir.SNIPPET):
                continue  # reads the texts of the rows that are left
            case ir.Bm25(var=var, name=name) | ir.TextMatch(field=ir.Property(var=var, name=name)) if (
                types.get(var) in view.catalog.nodes
            ):
                yield f"text {types[var]}.{name}: {_texts(_entities(view, types[var]), name)}"
            case ir.Bm25(var=var, name=name) | ir.TextMatch(field=ir.Property(var=var, name=name)) if (
                edges.get(var) in view.catalog.edges
            ):
                found = Entities(view, view.catalog.edges[edges[var]])
                yield f"text {edges[var]}.{name}: {_texts(found, name)}"


def _types(plan: ReadPlan) -> Iterator[tuple[str, str]]:
    for part in expressions(plan):
        match part:
            case NodeScan(var=var, type_name=type_name, kind="node"):
                yield var, type_name
            case Expand():
                yield part.target, part.target_type


def _edge_types(plan: ReadPlan) -> Iterator[tuple[str, str]]:
    for part in expressions(plan):
        match part:
            case NodeScan(var=var, type_name=type_name, kind="edge"):
                yield var, type_name
            case Link(edge=edge, edge_var=str() as var):
                yield var, edge


def _entities(view: View, type_name: str) -> Entities:
    return Entities(view, view.catalog.nodes[type_name])


def _vectors(entities: Entities, name: str) -> str:
    index = vector_index(entities, name)
    if index is None:
        return "exact, there is no index"
    covered = entities.handle.count_rows(fragments=index.fragments & entities.handle.fragment_ids())
    return (
        f"index {index.name} covers {covered} of {entities.row_count} rows, the others are looked at one by one; "
        f"exact for up to {EXACT_COLD} candidates{_partitions(entities, index)}"
    )


def _partitions(entities: Entities, index: IndexInfo) -> str:
    if partitions(index.rows) == 1:
        return ""
    known = known_probes(entities, index)
    if known is None:
        return f"; {PROBES} partitions are searched, what that finds was not measured"
    return f"; {known.at(_FEW) or known.partitions} of {known.partitions} partitions for the nearest {_FEW} of all rows"


def _without(view: View, type_name: str, name: str) -> str:
    """How many rows have no vector, where that is quickly counted: it takes reading the column."""
    info = view.catalog.nodes[type_name]
    kind, column, table = info.properties[name], view.columns(info)[name], view.table(info)
    rows = view.entry(info).row_count
    if column is None or not kind.nullable or rows * (kind.dim or 1) * _FLOAT_BYTES > _COUNTED_BYTES:
        return ""
    missing = table.count_rows(f"`{column}` IS NULL")
    return f"; {missing} of {counted(rows, 'row')} have no vector" if missing else ""


def _texts(entities: Entities, name: str) -> str:
    column = TextColumn(entities, name)
    if not column.is_large:
        return f"corpus of {counted(entities.row_count, 'row')}, analysed in memory"
    state = "kept" if is_kept(column) else "advanced from an older version, or built, when it is needed"
    return f"corpus of {counted(entities.row_count, 'row')}, {state}"
