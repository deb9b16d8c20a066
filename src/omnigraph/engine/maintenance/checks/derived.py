"""Derived state that is kept beside the graph for heads: key indexes, neighbour lists and analysed texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.engine.maintenance.checks.history import pin_of
from omnigraph.engine.maintenance.checks.report import Checking
from omnigraph.engine.maintenance.declared import declared_indexes
from omnigraph.engine.read.columns.artifacts import Place
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.key_index_store import kept_keys, key_artifact
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.read.search.corpus_store import TextColumn, fresh_corpus, kept_corpus
from omnigraph.engine.read.search.segment import Segment
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.files import load_lists
from omnigraph.engine.read.topology.topology import DIRECTIONS, Ends, build_topology
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.views.view import View
from omnigraph.storage.manifest.snapshot import TableEntry

_ADVICE = "delete __derived; it is made again"


class DerivedChecks:
    """Checks heads one after the other; what several of them share is made anew once."""

    def __init__(self, checking: Checking) -> None:
        self._checking = checking
        self._seen: set[str] = set()

    def check(self, view: View, branch: str) -> None:
        """Whatever is kept for the exact versions of one head is made anew in memory and compared."""
        for info in table_types(view.catalog).values():
            with self._checking.looking("derived", type_key=info.table_key, branch=branch):
                for message in self._wrong(view, info):
                    self._checking.found("derived", f"{message}; {_ADVICE}", type_key=info.table_key, branch=branch)
            self._checking.done()

    def _wrong(self, view: View, info: TableType) -> list[str]:
        if not self._checking.damaged.isdisjoint(map(pin_of, _shown(view, info))):
            return []
        return self._edge(view, info) if isinstance(info, EdgeType) else self._node(view, info)

    def _is_new(self, place: Place) -> bool:
        known = place.name() in self._seen
        self._seen.add(place.name())
        return not known

    def _node(self, view: View, info: NodeType) -> list[str]:
        table = Entities(view, info)
        place = key_artifact(table).place
        kept = kept_keys(place) if self._is_new(place) else None
        wrong = []
        if kept is not None:
            self._checking.counts.derived += 1
            rows = table.handle.scan(["id", ROW_ID])
            found = kept.rows_of(one_chunk(rows["id"]))
            if len(kept) != rows.num_rows or not np.array_equal(found, row_ids(rows[ROW_ID])):
                wrong.append("the kept key index does not agree with the table")
        for name, kind in declared_indexes(info).items():
            if kind == "fulltext" and name in info.properties:
                wrong += self._texts(TextColumn(table, name))
        return wrong

    def _texts(self, column: TextColumn) -> list[str]:
        kept = kept_corpus(column) if self._is_new(column.artifact.place) else None
        if kept is None:
            return []
        self._checking.counts.derived += 1
        made, other = ([part.segment for part in corpus.parts] for corpus in (fresh_corpus(column), kept))
        if len(made) == len(other) and all(map(_same_texts, made, other)):
            return []
        return [f"the kept texts of '{column.name}' do not agree with the table"]

    def _edge(self, view: View, info: EdgeType) -> list[str]:
        tails, heads = (Entities(view, view.catalog.nodes[name]) for name in (info.from_type, info.to_type))
        edges = Entities(view, info)
        ends = Ends(edges, tails, heads)
        kept = {name: load_lists(ends.place, name) for name in DIRECTIONS} if self._is_new(ends.place) else {}
        held = {name: lists for name, lists in kept.items() if lists is not None}
        if not held:
            return []
        self._checking.counts.derived += len(held)
        made = build_topology(ends)
        return [
            f"the kept neighbour lists ({name}) do not agree with the table"
            for name, lists in held.items()
            if not _same_lists(made.lists(name), lists)
        ]


def _shown(view: View, info: TableType) -> list[TableEntry]:
    """The tables that derived state of a type is made from."""
    ends = [view.catalog.nodes[name] for name in (info.from_type, info.to_type)] if isinstance(info, EdgeType) else []
    return [view.entry(each) for each in (info, *ends)]


def _same_texts(one: Segment, other: Segment) -> bool:
    """Whether two segments hold the same words in the same texts; words that no text holds any more do not count."""
    if not (np.array_equal(one.rows, other.rows) and np.array_equal(one.lengths, other.lengths)):
        return False
    (words, *counts), (others, *known) = (_postings(segment) for segment in (one, other))
    return bool(words.equals(others)) and all(map(np.array_equal, counts, known))


def _postings(segment: Segment) -> tuple[Any, ...]:
    sizes = np.diff(segment.offsets)
    words = segment.words().filter(pa.array(sizes > 0))
    return words, sizes[sizes > 0], np.asarray(segment.holders), np.asarray(segment.counts)


def _same_lists(one: Adjacency, other: Adjacency) -> bool:
    left, right = _entries(one), _entries(other)
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def _entries(lists: Adjacency) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(owner, neighbour, edge) of every entry, in one order."""
    sizes = np.diff(lists.offsets)
    first = lists.keys
    owners = np.arange(first, first + len(sizes)) if isinstance(first, int) else np.asarray(first)
    owner = np.repeat(owners.astype(np.int64), sizes)
    neighbours, edges = np.asarray(lists.neighbours, np.int64), np.asarray(lists.edges, np.int64)
    order = np.lexsort((edges, neighbours, owner))
    return owner[order], neighbours[order], edges[order]
