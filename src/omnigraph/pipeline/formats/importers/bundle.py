"""A graph that was read from elsewhere: tables of nodes and edges, the schema they need, and their load."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from omnigraph.display import Displayed, counted
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.values.json_values import json_texts
from omnigraph.engine.values.result import LoadMode, LoadResult, OnError
from omnigraph.engine.views.lifecycle import create_graph
from omnigraph.engine.views.table_tasks import Runner, SparkPlace
from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.formats.draft import (
    DraftProperty,
    DraftType,
    distinct_name,
    kind_of,
    property_names,
    schema_text,
    type_name,
)
from omnigraph.pipeline.runners import open_graph

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder

_ENDS = ("from", "to")
# Stands before the name of every attribute, so that it is never taken for a column with a meaning of its own.
_ATTRIBUTE = "."


class LoadOptions(TypedDict, total=False):
    """The options of `Graph.load` that an import passes on."""

    mode: LoadMode
    branch: str
    from_: str
    if_commit: str
    on_error: OnError
    rejects: str | os.PathLike[str]
    max_errors: int
    runner: Runner
    spark: SparkPlace
    dry_run: bool
    message: str | None
    progress: Callable[[Any], None] | None
    embedder: Embedder
    no_embed: bool
    no_build: bool


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes of one kind as they were found: a column `id` and attributes; `key` is an attribute that equals the id."""

    label: str
    rows: pa.Table
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Links:
    """Edges of one kind as they were found: `from`, `from_label`, `to`, `to_label`, and attributes."""

    label: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class TypeTable:
    """The rows of one type, under the names that its declaration has."""

    draft: DraftType
    rows: pa.Table


@dataclass(frozen=True, slots=True, repr=False)
class Imported(Displayed):
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
        self, into: Graph | str | os.PathLike[str], *, actor: str | None = None, **options: Unpack[LoadOptions]
    ) -> Imported:
        """Load everything as one commit into a graph, or into a new one, which `actor` then writes to."""
        graph = into if isinstance(into, Graph) else _opened(into, self.schema, actor)
        try:
            with tempfile.TemporaryDirectory(prefix="omnigraph-import-") as place:
                done = graph.load(mapping=self._spilled(Path(place)), **options)
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
            types.append(_table(name, _identified(rows), ends))
    return Bundle(tuple(types), tuple(notes))


def _opened(into: str | os.PathLike[str], schema: str, actor: str | None) -> Graph:
    try:
        return open_graph(into, actor=actor)
    except NotFound:
        create_graph(into, schema, actor=actor)
        return open_graph(into, actor=actor)


def _node_type(name: str, found: Nodes) -> TypeTable:
    if found.key is None:
        return _table(name, found.rows, None)
    return _table(name, found.rows.drop_columns(["id"]), None, key=found.key)


def _table(name: str, rows: pa.Table, ends: tuple[str, str] | None, key: str | None = None) -> TypeTable:
    properties: list[DraftProperty] = []
    columns = {each: rows[each] for each in rows.column_names if not each.startswith(_ATTRIBUTE)}
    given = {each[1:]: rows[each] for each in rows.column_names if each.startswith(_ATTRIBUTE)}
    given = {each: values for each, values in given.items() if values.null_count < rows.num_rows}
    for attribute, spoken in property_names(given, edge=ends is not None).items():
        values = given[attribute]
        kind = kind_of(values)
        if kind is None:
            values = pa.chunked_array([json_texts(chunk) for chunk in values.chunks], pa.utf8())
            kind = kind_of(values)
        assert kind is not None
        properties.append(DraftProperty(spoken, kind, key=attribute == key))
        columns[spoken] = values
    return TypeTable(DraftType(name, tuple(properties), ends), pa.table(columns))


def _identified(rows: pa.Table) -> pa.Table:
    """Edges with the ids they come with, where those can stay theirs."""
    own = attribute("id")
    if own not in rows.column_names or not pa.types.is_string(rows[own].type):
        return rows
    if rows[own].null_count or pc.count_distinct(rows[own]).as_py() != rows.num_rows:
        return rows
    return rows.rename_columns(["id" if each == own else each for each in rows.column_names])


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


def attribute(name: str) -> str:
    """The column of an attribute, whatever it is called, beside `id`, `label`, `from` and the like."""
    return f"{_ATTRIBUTE}{name}"


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Dicts as columns, in order of appearance."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {str(name): column([row.get(name) for row in rows]) for name in names}


def attributes(given: Mapping[Any, Any]) -> dict[str, Any]:
    """The attributes of one node or edge under the names of their columns."""
    return {attribute(str(name)): value for name, value in given.items()}


def with_labels(links: pa.Table, known: pa.Table) -> pa.Table:
    """Links with the kinds of their ends, looked up by id; other ends are reported. `known` has id and label."""
    ids, labels = known["id"].combine_chunks(), known["label"]
    for end in _ENDS:
        place = pc.index_in(links[end], value_set=ids)
        if place.null_count:
            missing = links[end].filter(place.is_null())[0].as_py()
            raise BadRequest(
                f"{counted(place.null_count, 'edge')} with a node as '{end}' that is not there, such as '{missing}'"
            )
        links = links.append_column(f"{end}_label", labels.take(place))
    return links
