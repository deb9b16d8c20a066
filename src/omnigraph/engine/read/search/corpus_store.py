"""The corpora of this process: held in memory, mapped from disk, advanced from an older version, or built."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np

from omnigraph.engine.read.columns.entities import ROW_ID, Entities, one_chunk
from omnigraph.engine.read.columns.rowindex import RowIndex, row_ids
from omnigraph.engine.read.columns.table_mark import CREATED, UPDATED, Mark
from omnigraph.engine.read.search.corpus import Corpus, Part, analysed
from omnigraph.engine.read.search.segment import Segment
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.derived import drop_arrays, load_arrays, names_under, save_arrays

# Below this many rows analysing a column takes less time than looking for files.
WORTH_KEEPING = 20_000
# Texts are analysed in pieces of this many, which bounds the memory it takes.
_PIECE = 1 << 18
# Beyond this share of changed rows a rebuild is as cheap.
_MOST_CHANGED = 0.2
# Beyond this share the parts that were added since are folded into one corpus, which is kept again.
_MOST_UNFOLDED = 0.05
_MOST_PARTS = 8
_KEPT_PER_COLUMN = 3
_FORMAT = 1

CORPORA: CacheKind[Corpus] = CacheKind("text corpora", lambda corpus: corpus.nbytes, share=1 / 2)
# For each column the version whose corpus was made last, to start the next one from.
_NEWEST: CacheKind[tuple[Hashable, Mark]] = CacheKind("newest text corpora", lambda known: 1_024, entries=256)


@dataclass(frozen=True)
class TextColumn:
    """One text property of a table at one version.

    `keep` allows writing derived state beside the graph; `check` is asked between pieces of work and may raise.
    """

    table: Entities
    name: str
    keep: bool = False
    check: Callable[[], None] = lambda: None

    @cached_property
    def key(self) -> Hashable:
        """Names the exact texts among all graphs of the process."""
        return (self.table.version_key, self.name, self.identity)

    @cached_property
    def identity(self) -> str:
        """Tells a property from another one of the same name: a later one, or that of another schema."""
        return self.table.property_id(self.name)

    @property
    def is_large(self) -> bool:
        """Whether its corpus is worth keeping; under another schema the stored column may be a different one."""
        return self.table.as_named and self.table.row_count >= WORTH_KEEPING

    @cached_property
    def lineage(self) -> Hashable:
        """Names the column across versions."""
        entry = self.table.entry
        return (self.table.root.canonical, entry.identity, entry.location, entry.ref, self.name, self.identity)

    @cached_property
    def shelf(self) -> str:
        """Where corpora of this column are kept, at all versions."""
        place = self.table.entry.location.replace("/", "-")
        return f"text/{place}.{self.identity or self.name}"

    @cached_property
    def place(self) -> str:
        """Where the corpus of these exact texts is kept."""
        content = repr((_FORMAT, self.table.content_key, self.name, self.identity))
        return f"{self.shelf}/{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def corpus_at_hand(column: TextColumn) -> Corpus | None:
    """The corpus of these exact texts if this process has it, or can have it without reading the whole column."""
    held = column.table.memory.cache(CORPORA).get(column.key)
    if held is not None or not column.is_large:
        return held
    kept = _load(column, column.place)
    found = _advanced(column) if kept is None else kept[1]
    if found is not None:
        column.table.memory.cache(CORPORA).put(column.key, found)
        _remember(column)
    return found


def is_kept(column: TextColumn) -> bool:
    """Whether the corpus of these exact texts is in memory or on disk."""
    return column.key in column.table.memory.cache(CORPORA) or _load(column, column.place) is not None


def corpus_of(column: TextColumn) -> Corpus:
    """The corpus of these exact texts, made if need be."""
    corpora = column.table.memory.cache(CORPORA)
    return corpus_at_hand(column) or corpora.get_or_build(column.key, lambda: _built(column))


def _built(column: TextColumn) -> Corpus:
    held = column.table.whole(column.name)
    texts, rows = held.values, held.index.rows
    pieces: list[Part] = []
    for begin in range(0, max(len(rows), 1), _PIECE):
        column.check()
        pieces.append(Part(analysed(texts.slice(begin, _PIECE), rows[begin : begin + _PIECE], column.table.memory)))
    made = Corpus(pieces).folded(0)
    if column.is_large:
        _save(column, made)
        _remember(column)
    return made


# --- advancing --------------------------------------------------------------------------------------------


def _advanced(column: TextColumn) -> Corpus | None:
    """From the newest older corpus that this one descends from; None when too much has changed, or there is none."""
    for mark, older in _older(column):
        if mark.precedes(column.table):
            made = _advance(older, mark, column)
            return None if made is None else _tidied(column, made)
    return None


def _older(column: TextColumn) -> Iterator[tuple[Mark, Corpus]]:
    memory = column.table.memory
    known = memory.cache(_NEWEST).get(column.lineage)
    if known is not None and (held := memory.cache(CORPORA).get(known[0])) is not None:
        yield known[1], held
    for place in reversed(names_under(column.table.root, column.shelf)):
        kept = _load(column, place)
        if kept is not None:
            yield kept


def _advance(older: Corpus, mark: Mark, column: TextColumn) -> Corpus | None:
    table = column.table
    changed = table.handle.scan([ROW_ID, column.name, CREATED], f"{UPDATED} > {mark.version}")
    if changed.num_rows > _MOST_CHANGED * max(mark.rows, 1):
        return None
    rows = row_ids(changed[ROW_ID])
    order = np.argsort(rows, kind="stable")
    news = analysed(one_chunk(changed[column.name]).take(order), rows[order], table.memory)
    inserted = int((row_ids(changed[CREATED]) > mark.version).sum())
    # When some are gone, only the row ids that are left can tell which.
    complete = mark.rows + inserted == table.handle.count_rows()
    return older.replaced(rows[order], None if complete else RowIndex(table.all_rows()), news)


def _tidied(column: TextColumn, made: Corpus) -> Corpus:
    """Few parts: small ones are made one, and everything is once they have become a noticeable share."""
    if not made.parts:
        return made
    base = made.parts[0]
    gone, added = len(base.segment) - len(base), made.count - len(base)
    if gone + added > _MOST_UNFOLDED * len(base.segment):
        made = made.folded(0)
        _save(column, made)
    elif len(made.parts) > _MOST_PARTS:
        made = made.folded(1)
    return made


def _remember(column: TextColumn) -> None:
    column.table.memory.cache(_NEWEST).put(column.lineage, (column.key, Mark.of(column.table)))


# --- keeping ----------------------------------------------------------------------------------------------


def _load(column: TextColumn, place: str) -> tuple[Mark, Corpus] | None:
    found = load_arrays(column.table.root, place)
    if found is None or "mark" not in found:
        return None
    kept = Segment.of_arrays(found)
    try:
        mark = Mark(*json.loads(found["mark"].tobytes()))
    except (TypeError, ValueError):
        return None
    return None if kept is None else (mark, Corpus([Part(kept)]))


def _save(column: TextColumn, corpus: Corpus) -> None:
    """Keep a corpus of one part; older ones of the same column make room."""
    if not column.keep or len(corpus.parts) != 1:
        return
    root = column.table.root
    mark = json.dumps(astuple(Mark.of(column.table))).encode()
    save_arrays(root, column.place, {**corpus.parts[0].segment.arrays(), "mark": np.frombuffer(mark, np.uint8)})
    for name in names_under(root, column.shelf)[:-_KEPT_PER_COLUMN]:
        drop_arrays(root, name)
