"""The corpus of a text column that is too large to be analysed at once: tasks analyse fragments, and disk joins them.

A build in one piece holds the column and its inverted lists in memory. Here each task leaves the lists of a few
fragments in a file. What remains for this process is to put the entries of each word one after the other, for some
words at a time; rows, distinct words and a number for each of these are all that it holds besides.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.columns.array_files import file_array, map_arrays, write_arrays
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.held import ROW_ID, ascending, one_chunk
from omnigraph.engine.read.search.corpus import Corpus, Part, analysed
from omnigraph.engine.read.search.corpus_store import PIECE, TextColumn, save_corpus
from omnigraph.engine.read.search.segment import Counts, Segment, all_words, assembled, numbers_among
from omnigraph.engine.views.table_tasks import RunTasks, grouped
from omnigraph.ids import new_ulid
from omnigraph.storage.base.layout import Address
from omnigraph.storage.lance.opening import open_table


@dataclass(frozen=True, slots=True)
class _Job:
    """What every task knows."""

    address: Address
    version: int
    column: str
    language: str
    scratch: str


def build_spread_corpus(
    column: TextColumn,
    run: RunTasks,
    scratch: str,
    *,
    task_rows: int = 4 * PIECE,
    entries_at_once: int = 8 << 20,
) -> None:
    """Keep the corpus of a column beside the graph, as a build in one piece would.

    Tasks leave files in the directory `scratch`, which the caller removes.
    """
    table = column.table
    job = _Job(table.handle.address, table.entry.version, column.name, column.language, scratch)
    groups = list(grouped(table.handle.fragment_rows().items(), task_rows))
    paths = run(lambda group: _analyse(job, group), groups)
    with tempfile.TemporaryDirectory(prefix="omnigraph-corpus-") as directory:
        place = Path(directory)
        pieces = list(_fetched(paths, place, column))
        save_corpus(column, Corpus([Part(_joined(pieces, place, column, entries_at_once))], column.language))


# --- inside a task ---------------------------------------------------------------------------------------


def _analyse(job: _Job, fragments: tuple[int, ...]) -> str:
    """Analyse the texts of some fragments; the file with their inverted lists."""
    table = open_table(job.address, job.version)
    parts = [Part(analysed(pa.nulls(0, pa.utf8()), np.empty(0, np.int64)))]  # the fragments may be without rows
    for batch in table.batches([ROW_ID, job.column], batch_size=PIECE, fragments=fragments):
        rows, texts = ascending(pa.Table.from_batches([batch]))
        parts.append(Part(analysed(one_chunk(texts[job.column]), rows, job.address.root.memory, job.language)))
    return write_arrays(f"{job.scratch}/{new_ulid()}", Corpus(parts, job.language).folded(0).parts[0].segment.arrays())


# --- back in this process --------------------------------------------------------------------------------


def _fetched(paths: Iterable[str], place: Path, column: TextColumn) -> Iterator[Segment]:
    """The segments of the tasks, mapped from files of this machine."""
    for number, path in enumerate(paths):
        column.check()
        yield Segment(**map_arrays(path, place / f"piece-{number}"))


def _joined(pieces: Sequence[Segment], place: Path, column: TextColumn, entries_at_once: int) -> Segment:
    """One segment of the texts of all pieces; its entries are in files of this machine that are mapped."""
    words = all_words(pieces)
    known = [numbers_among(piece, words) for piece in pieces]
    often = np.zeros(len(words), np.int64)
    for piece, numbers in zip(pieces, known, strict=True):
        often[numbers] += np.diff(piece.offsets)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(often)])
    rows, lengths, texts = _numbered(pieces)
    count = int(offsets[-1])
    holders, counts = (file_array(place / name, np.int32, count) for name in ("holders", "counts"))
    for first, end in _spans(offsets, entries_at_once):
        column.check()
        into = slice(int(offsets[first]), int(offsets[end]))
        holders[into], counts[into] = _entries(pieces, known, texts, first, end)
    return assembled(rows, lengths, words, (often, holders, counts))


def _numbered(pieces: Sequence[Segment]) -> tuple[Rows, Rows, list[Counts | int]]:
    """All rows, ascending, and their lengths; for each piece the places of its texts, or that of its first."""
    rows, lengths = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("rows", "lengths"))
    starts = np.cumsum([0, *(len(piece) for piece in pieces)])
    filled = [piece.rows for piece in pieces if len(piece)]
    if all(one[-1] < other[0] for one, other in pairwise(filled)):
        return rows, lengths, [int(start) for start in starts[:-1]]
    order = np.argsort(rows, kind="stable")
    place = np.empty(len(rows), np.int32)
    place[order] = np.arange(len(rows), dtype=np.int32)
    return rows[order], lengths[order], [place[start:end] for start, end in pairwise(starts)]


def _spans(offsets: Rows, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of words that have up to so many entries together; a word with more has a range of its own."""
    first, last = 0, len(offsets) - 1
    while first < last:
        end = int(np.searchsorted(offsets, offsets[first] + most, "right")) - 1
        end = min(max(end, first + 1), last)
        yield first, end
        first = end


def _entries(
    pieces: Sequence[Segment], known: Sequence[Rows], texts: Sequence[Counts | int], first: int, end: int
) -> tuple[Any, Any]:
    """The texts that hold the words of a range, word by word, ascending, and how often they do."""
    numbers, holders, counts = [], [], []
    for piece, mine, places in zip(pieces, known, texts, strict=True):
        # The words of a piece are in the order of all words, so those of a range follow each other.
        begin, stop = np.searchsorted(mine, (first, end))
        part = slice(int(piece.offsets[begin]), int(piece.offsets[stop]))
        numbers.append(np.repeat(mine[begin:stop] - first, np.diff(piece.offsets[begin : stop + 1])))
        held = piece.holders[part]
        holders.append(held + np.int32(places) if isinstance(places, int) else places[held])
        counts.append(piece.counts[part])
    number, text, count = np.concatenate(numbers), np.concatenate(holders), np.concatenate(counts)
    ordered = all(isinstance(places, int) for places in texts)
    order = np.argsort(number, kind="stable") if ordered else np.lexsort((text, number))
    return text[order], count[order]
