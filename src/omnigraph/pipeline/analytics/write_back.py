"""Writing the values of an algorithm into the graph: one property of a node type, or one edge type, as one commit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.engine.api.access import Access
from omnigraph.engine.intake.frames import decode_frame
from omnigraph.engine.read.columns.held import one_chunk
from omnigraph.engine.values.arrow import row_schema, to_stored
from omnigraph.engine.views.entity import all_rows
from omnigraph.engine.write.change_set import TableChange
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.load_rows import prepare_load
from omnigraph.engine.write.validate import validate
from omnigraph.errors import BadRequest, NotFound
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import Overwrite, TableWrite, Upsert, WriteSet
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.protocol.commit import commit

_EDGE = "edge:"


@dataclass(frozen=True, slots=True)
class Place:
    """Where values go: a property of a node type, or an edge type and optionally a property of it."""

    type_name: str
    property: str | None
    edge: bool
    said: str | None = None  # what the commit says, if not only where it wrote

    def message(self) -> str:
        """What the commit says."""
        where = self.type_name if self.property is None else f"{self.type_name}.{self.property}"
        return self.said or f"analytics: write {where}"


def parse_place(text: str, message: str | None = None) -> Place:
    """`Person.rank`, `edge:Reaches` or `edge:Reaches.hops`."""
    edge = text.startswith(_EDGE)
    name, dot, prop = text.removeprefix(_EDGE).partition(".")
    if not name or (dot and not prop) or (not edge and not dot):
        raise BadRequest(f"'{text}' is not a place to write to: use Type.property, or edge:Type for an edge per node")
    return Place(name, prop or None, edge, message)


def check_place(catalog: Catalog, place: Place, column: pa.DataType) -> None:
    """Refuse a place that the schema does not have, or whose type cannot hold the values, before any work is done."""
    info = catalog.edge(place.type_name) if place.edge else catalog.nodes.get(place.type_name)
    if info is None:
        raise NotFound(f"the schema has no {'edge' if place.edge else 'node'} type '{place.type_name}'")
    if place.property is None:
        return
    kind = info.properties.get(place.property)
    floating = pa.types.is_floating(column)
    if kind is None:
        wanted = "F64?" if floating else "I64?"
        raise NotFound(
            f"'{info.name}' has no property '{place.property}': "
            f"add `{place.property}: {wanted}` to the schema and run `omnigraph schema apply` first"
        )
    fitting = ("F32", "F64") if floating else ("I32", "I64", "U32", "U64", "F32", "F64")
    if not kind.is_numeric or kind.scalar not in fitting:
        raise BadRequest(f"'{info.name}.{place.property}' is {kind}; these values need one of {', '.join(fitting)}")
    if isinstance(info, NodeType) and place.property in (info.key or ()):
        raise BadRequest(f"'{info.name}.{place.property}' is part of the key, which identifies a node")


def write_property(writer: Access, place: Place, values: pa.Table) -> GraphCommit | None:
    """Set the property on every node of the type that has a value; nothing is written where it has it already."""
    mine = values.filter(pc.equal(values["type"], place.type_name))
    ids, given = one_chunk(mine["id"]), one_chunk(mine.column(2))

    def prepare(txn: Txn) -> WriteSet | None:
        view = writer.view_in(txn)
        check_place(view.catalog, place, given.type)
        info = view.catalog.nodes[place.type_name]
        assert place.property is not None
        rows = all_rows(view, info).cast(row_schema(info))
        found = pc.index_in(one_chunk(rows["id"]), value_set=ids)
        field = row_schema(info).field(place.property)
        fresh = _cast(given.take(found), field.type, place)
        old = one_chunk(rows[place.property])
        # A null value is a value here: a node that cannot be reached any more loses its distance.
        known = found.is_valid().to_numpy(zero_copy_only=False)
        changed = pa.array(known & _differ(fresh, old))
        at = rows.schema.get_field_index(place.property)
        rows = rows.set_column(at, field, fresh).filter(changed)
        if not rows.num_rows:
            return None
        validate({info.table_key: TableChange(info, (rows,))}, view.catalog, PinnedRows(view))
        tables = (TableWrite(info.table_key, (Upsert(to_stored(info, rows)),)),)
        return WriteSet(writer_kind="Load", tables=tables, actor_id=writer.actor, message=place.message())

    return commit(writer.store, writer.branch, prepare).commit


def write_edges(writer: Access, place: Place, links: pa.Table) -> GraphCommit | None:
    """Replace the rows of an edge type by links (`from`, `to`), with `value` in the property that the place names."""

    def prepare(txn: Txn) -> WriteSet | None:
        view = writer.view_in(txn)
        info = view.catalog.edge(place.type_name)
        if info is None:
            raise NotFound(f"the schema has no edge type '{place.type_name}'")
        mine = _of_ends(links, info)
        frame = mine.select(["from", "to"])
        if place.property is not None:
            frame = frame.append_column(place.property, mine["value"])
        if not frame.num_rows:
            empty = to_stored(info, row_schema(info).empty_table())
            tables = (TableWrite(info.table_key, (Overwrite(empty),)),)
            return WriteSet(writer_kind="Load", tables=tables, actor_id=writer.actor, message=place.message())
        decoded = decode_frame(frame, view.catalog, edge=info.name)
        prepared = prepare_load(decoded, "overwrite", view.catalog, PinnedRows(view), actor_id=writer.actor)
        return replace(prepared.write_set, message=place.message())

    return commit(writer.store, writer.branch, prepare).commit


def _of_ends(links: pa.Table, info: EdgeType) -> pa.Table:
    fits = pc.and_(pc.equal(links["from_type"], info.from_type), pc.equal(links["to_type"], info.to_type))
    return links.filter(fits)


def _cast(values: pa.Array, kind: pa.DataType, place: Place) -> pa.Array:
    try:
        return values.cast(kind)
    except pa.ArrowInvalid as error:
        raise BadRequest(f"'{place.type_name}.{place.property}' cannot hold these values: {error}") from error


def _differ(one: pa.Array, other: pa.Array) -> np.ndarray:
    unequal = pc.fill_null(pc.not_equal(one, other), False)
    nulls = pc.not_equal(one.is_null(), other.is_null())
    found: np.ndarray = pc.or_(unequal, nulls).to_numpy(zero_copy_only=False)
    return found
