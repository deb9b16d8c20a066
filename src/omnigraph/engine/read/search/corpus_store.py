"""The corpora of this process: held in memory, mapped from disk, advanced from an older version, or built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from omnigraph.compiler.types import ENGLISH
from omnigraph.engine.read.columns.artifacts import Artifact, ArtifactKind, Kept, least_rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.rowindex import RowIndex, row_ids
from omnigraph.engine.read.columns.table_mark import CREATED, UPDATED, Mark
from omnigraph.engine.read.search.corpus import Corpus, KeptWords, Part, WordLists, analysed
from omnigraph.engine.read.search.relevance import Relevance
from omnigraph.engine.read.search.segment import Segment
from omnigraph.memory.cache import CacheKind

# Below this many rows analysing a column takes less time than looking for files.
WORTH_KEEPING = 20_000
# Texts are analysed in pieces of this many, which bounds the memory it takes.
PIECE = 1 << 18
# Beyond this share of changed rows a rebuild is as cheap.
_MOST_CHANGED = 0.2
# Beyond this share the parts that were added since are folded into one corpus, which is kept again.
_MOST_UNFOLDED = 0.05
_MOST_PARTS = 8

CORPORA: CacheKind[Corpus] = CacheKind("text corpora", lambda corpus: corpus.nbytes, share=1 / 2)
_WORDS: CacheKind[WordLists] = CacheKind(
    "scored words", lambda lists: 512 + sum(each.nbytes for each in lists), share=1 / 16
)
_KIND = ArtifactKind(CORPORA, directory="text", format=3, kept=3)


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
    def artifact(self) -> Artifact[Corpus]:
        """The corpus of these exact texts."""
        own = self.identity or self.name
        place = own if self.language == ENGLISH else f"{own}-{self.language}"
        return Artifact(_KIND, (self.table,), (self.name, self.identity, self.language), place)

    @property
    def language(self) -> str:
        """What its words are of."""
        return self.table.language(self.name)

    @cached_property
    def identity(self) -> str:
        """Tells a property from another one of the same name: a later one, or that of another schema."""
        return self.table.property_id(self.name)

    @property
    def is_large(self) -> bool:
        """Whether its corpus is worth keeping; under another schema the stored column may be a different one."""
        return self.table.as_named and self.table.row_count >= least_rows(self.table.root, WORTH_KEEPING)


def cached_corpus(column: TextColumn) -> Corpus | None:
    """The corpus of these exact texts if this process has it, or can have it without reading the whole column."""
    artifact = column.artifact
    held = artifact.cache.get(artifact.key)
    if held is not None or not column.is_large:
        return held
    kept = artifact.place.load()
    found = None if kept is None else _decoded(kept, column)
    found = _advanced(column) if found is None else found
    if found is not None:
        artifact.hold(found)
    return found


def is_kept(column: TextColumn) -> bool:
    """Whether the corpus of these exact texts is in memory or on disk."""
    return column.artifact.key in column.artifact.cache or column.artifact.place.load() is not None


def kept_words(column: TextColumn, corpus: Corpus) -> KeptWords:
    """Remembers the lists of the words of a corpus, or makes them."""
    cache, number = column.table.memory.cache(_WORDS), corpus.number
    return lambda word, make: cache.get_or_build((number, word), make)


def held_corpus(column: TextColumn) -> Corpus | None:
    """The corpus of these exact texts if it is in memory."""
    return column.artifact.cache.get(column.artifact.key)


def kept_corpus(column: TextColumn) -> Corpus | None:
    """The corpus of these exact texts that lies beside the graph, whatever is in memory."""
    kept = column.artifact.place.load() if column.is_large else None
    return None if kept is None else _decoded(kept, column)


def fresh_corpus(column: TextColumn) -> Corpus:
    """The corpus of these exact texts, made from the table and kept nowhere."""
    held = column.table.whole(column.name)
    texts, rows = held.values, held.index.rows
    pieces: list[Part] = []
    for begin in range(0, max(len(rows), 1), PIECE):
        column.check()
        pieces.append(
            Part(analysed(texts.slice(begin, PIECE), rows[begin : begin + PIECE], column.table.memory, column.language))
        )
    return Corpus(pieces, column.language).folded(0)


def built_corpus(column: TextColumn) -> Corpus:
    """The same from the table, kept beside the graph where that is worth it."""
    made = fresh_corpus(column)
    if column.is_large:
        save_corpus(column, made)
        column.artifact.remember()
    return made


def corpus_of(column: TextColumn, build: Callable[[TextColumn], Corpus] = built_corpus) -> Corpus:
    """The corpus of these exact texts, made if need be."""
    artifact = column.artifact
    return cached_corpus(column) or artifact.cache.get_or_build(artifact.key, lambda: build(column))


def relevance_of(column: TextColumn, query: str) -> tuple[Corpus, Relevance]:
    """The corpus of these exact texts, and how well they fit a query; what words add to scores stays in memory."""
    corpus = corpus_of(column)
    return corpus, corpus.relevance(query, column.check, kept_words(column, corpus))


# --- advancing --------------------------------------------------------------------------------------------


def _advanced(column: TextColumn) -> Corpus | None:
    """From the newest older corpus that this one descends from; None when too much has changed, or there is none."""
    for (mark,), older in column.artifact.older(lambda place, kept: _decoded(kept, column)):
        made = _advance(older, mark, column)
        return None if made is None else _tidied(column, made)
    return None


def _advance(older: Corpus, mark: Mark, column: TextColumn) -> Corpus | None:
    table = column.table
    changed = table.handle.scan([ROW_ID, column.name, CREATED], f"{UPDATED} > {mark.version}")
    if changed.num_rows > _MOST_CHANGED * max(mark.rows, 1):
        return None
    rows = row_ids(changed[ROW_ID])
    order = np.argsort(rows, kind="stable")
    news = analysed(one_chunk(changed[column.name]).take(order), rows[order], table.memory, column.language)
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
        save_corpus(column, made)
    elif len(made.parts) > _MOST_PARTS:
        made = made.folded(1)
    return made


# --- keeping ----------------------------------------------------------------------------------------------


def _decoded(kept: Kept, column: TextColumn) -> Corpus | None:
    segment = Segment.of_arrays(kept.arrays)
    return None if segment is None else Corpus([Part(segment)], column.language)


def save_corpus(column: TextColumn, corpus: Corpus) -> None:
    """Keep a corpus of one part."""
    if column.keep and len(corpus.parts) == 1:
        column.artifact.save(corpus.parts[0].segment.arrays())
