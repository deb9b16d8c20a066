"""A graph that was read from elsewhere: tables of nodes and edges, the schema they need, and their load."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from omnigraph.engine.api.graph import Graph, init
from omnigraph.engine.api.graph import open as open_graph
from omnigraph.engine.values.json_values import json_texts
from omnigraph.engine.values.result import LoadResult
from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.formats.draft import (
    DraftProperty,
    DraftType,
    distinct_name,
    kind_of,
    property_name,
    schema_text,
    type_name,
)

_ENDS = ("from", "to")


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes of one kind as they were found: a column `id` and others of any name; `key` is one that equals the id."""

    label: str
    rows: pa.Table
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Links:
    """Edges of one kind as they were found: `from`, `from_label`, `to`, `to_label`, and others of any name."""

    label: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class TypeTable:
    """The rows of one type, under the names that its declaration has."""

    draft: DraftType
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: the schema it used, the load, and what a person should know."""

    uri: str
    schema: str
    load: LoadResult
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """A whole graph in Arrow, ready to be declared and loaded."""

    types: tuple[TypeTable, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def schema(self) -> str:
        """The schema that these tables need."""
        return schema_text(each.draft for each in self.types)

    def load(
        self, into: Graph | str | os.PathLike[str], *, mode: str = "append", actor: str | None = None, **options: Any
    ) -> Imported:
        """Load everything as one commit into a graph, or into a new one; options are those of `Graph.load`."""
        graph = into if isinstance(into, Graph) else _opened(into, self.schema, actor)
        try:
            with tempfile.TemporaryDirectory(prefix="omnigraph-import-") as place:
                done = graph.load(mapping=self._spilled(Path(place)), mode=mode, **options)
            return Imported(graph.uri, graph.schema.source, done, self.notes)
        finally:
            if graph is not into:
                graph.close()

    def _spilled(self, place: Path) -> dict[str, Any]:
        """The tables as files and a mapping, so that any runner can take them."""
        mapping: dict[str, Any] = {"sources": {}, "nodes": {}, "edges": {}}
        for at, each in enumerate(self.types):
            name = f"{at:04d}-{each.draft.name}"
            pq.write_table(each.rows, place / f"{name}.parquet", row_group_size=1 << 18)
            mapping["sources"][name] = {"path": str(place / f"{name}.parquet")}
            mapping["nodes" if each.draft.ends is None else "edges"][each.draft.name] = {"from": name}
        return mapping


def bundle(nodes: Sequence[Nodes], links: Sequence[Links], notes: Sequence[str] = ()) -> Bundle:
    """Name and type everything; edges of one label between several kinds of nodes become several types."""
    if not nodes:
        raise BadRequest("there are no nodes to import")
    names: dict[str, str] = {}
    types: list[TypeTable] = []
    for each in nodes:
        names[each.label] = distinct_name(type_name(each.label), names.values())
        types.append(_node_type(names[each.label], each))
    taken: list[str] = []
    for link in links:
        parts = _by_ends(link.rows)
        for (tail, head), rows in parts.items():
            ends = (names[tail], names[head])
            spoken = type_name(link.label) if len(parts) == 1 else f"{ends[0]}{type_name(link.label)}{ends[1]}"
            name = distinct_name(spoken, taken)
            taken.append(name)
            types.append(_table(name, rows, ("id", *_ENDS) if _identifies(rows) else _ENDS, ends))
    return Bundle(tuple(types), tuple(notes))


def _opened(into: str | os.PathLike[str], schema: str, actor: str | None) -> Graph:
    try:
        return open_graph(into, actor=actor)
    except NotFound:
        return init(into, schema, actor=actor)


def _node_type(name: str, found: Nodes) -> TypeTable:
    if found.key is None:
        return _table(name, found.rows, ("id",), None)
    return _table(name, found.rows.drop_columns(["id"]), (), None, key=found.key)


def _table(
    name: str, rows: pa.Table, fixed: Sequence[str], ends: tuple[str, str] | None, key: str | None = None
) -> TypeTable:
    properties: list[DraftProperty] = []
    columns: dict[str, pa.ChunkedArray] = {each: rows[each] for each in fixed}
    for column in rows.column_names:
        if column in fixed or rows[column].null_count == rows.num_rows:
            continue
        values = rows[column]
        kind = kind_of(values)
        if kind is None:
            values = pa.chunked_array([json_texts(chunk) for chunk in values.chunks], pa.utf8())
            kind = kind_of(values)
        assert kind is not None
        spoken = property_name(column, [prop.name for prop in properties], edge=ends is not None)
        properties.append(DraftProperty(spoken, kind, key=column == key))
        columns[spoken] = values
    return TypeTable(DraftType(name, tuple(properties), ends), pa.table(columns))


def _identifies(rows: pa.Table) -> bool:
    """Whether edges come with ids that can stay theirs."""
    if "id" not in rows.column_names or not pa.types.is_string(rows["id"].type):
        return False
    return not rows["id"].null_count and pc.count_distinct(rows["id"]).as_py() == rows.num_rows


def _by_ends(rows: pa.Table) -> dict[tuple[str, str], pa.Table]:
    """The rows by the kinds of nodes they link, in order of appearance."""
    plain = rows.drop_columns(["from_label", "to_label"])
    pairs = (
        rows.select(["from_label", "to_label"]).group_by(["from_label", "to_label"], use_threads=False).aggregate([])
    )
    found: dict[tuple[str, str], pa.Table] = {}
    for pair in pairs.to_pylist():
        tail, head = pair["from_label"], pair["to_label"]
        mine = pc.and_(pc.equal(rows["from_label"], tail), pc.equal(rows["to_label"], head))
        found[tail, head] = plain if len(pairs) == 1 else plain.filter(mine)
    return found


def column(values: Sequence[Any]) -> pa.Array:
    """Python values as a column; values of several kinds become text."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([None if value is None else str(value) for value in values], pa.utf8())


def attribute_columns(rows: Sequence[Mapping[str, Any]], skip: Sequence[str] = ()) -> dict[str, pa.Array]:
    """Attribute dicts as columns, in order of appearance; a name that is taken gets an underscore."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {free_name(str(name), skip): column([row.get(name) for row in rows]) for name in names}


def free_name(name: str, taken: Sequence[str] = ("id", "label", "from", "to")) -> str:
    """The name of a property beside columns that mean something themselves."""
    return f"{name}_" if name in taken else name


def with_labels(links: pa.Table, known: pa.Table) -> pa.Table:
    """Links with the kinds of their ends, looked up by id; other ends are reported. `known` has id and label."""
    ids, labels = known["id"].combine_chunks(), known["label"]
    for end in _ENDS:
        place = pc.index_in(links[end], value_set=ids)
        if place.null_count:
            missing = links[end].filter(place.is_null())[0].as_py()
            raise BadRequest(f"{place.null_count} edges have a node as '{end}' that is not there, such as '{missing}'")
        links = links.append_column(f"{end}_label", labels.take(place))
    return links
