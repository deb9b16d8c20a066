"""The text predicates, such as `search` and `search_phrase`, over the rows of a frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.rowindex import RowIndex, distinct
from omnigraph.engine.read.frames.budget import Budget
from omnigraph.engine.read.frames.frame import Frame, numpy_of
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import OPTIONAL, is_union
from omnigraph.engine.values.fixed import Fixed

# Every scan asks here whether it is a search; only one that is imports the code that reads texts.
Test: TypeAlias = Callable[[str, int | None], Mask]
# Without a number: the edit distance of fuzzy, the words of a snippet.
DEFAULT_NUMBERS = {"fuzzy": 2, ir.SNIPPET: 30}
# From this share of a table on, analysing all of it once is worth keeping for the next query.
_WHOLE_COLUMN_SHARE = 4


def text_matches(run: Run, frame: Frame, call: ir.TextMatch) -> pa.Array:
    """Whether each row's text matches its query; never null, a missing text or query matches nothing."""
    distance = _distance(run, call)
    if call.function == ir.SNIPPET:
        return _snippets(run, frame, call, distance)
    test = _texts(run, frame, call)
    query = run.evaluator(frame).value(call.query)
    if isinstance(query, Fixed):
        found = test(str(query.value), distance) if query.value is not None else np.zeros(frame.length, np.bool_)
        return pa.array(found)
    # The query differs from row to row: ask once per distinct query.
    encoded = query.dictionary_encode()
    codes = numpy_of(pc.fill_null(encoded.indices, -1))
    found = np.zeros(frame.length, np.bool_)
    for number, text in enumerate(encoded.dictionary.to_pylist()):
        run.budget.check()
        found |= test(text, distance) & (codes == number)
    return pa.array(found)


def _snippets(run: Run, frame: Frame, call: ir.TextMatch, words: int | None) -> pa.Array:
    from omnigraph.engine.read.search.snippets import snippets_of

    evaluator = run.evaluator(frame)
    texts, queries = evaluator.column(call.field, pa.utf8()), evaluator.value(call.query)
    return snippets_of(texts, queries, words, run.budget.check, call.language)


def searched(condition: ir.Condition) -> ir.TextMatch | None:
    """The text predicate that a condition is, if it asks a property for the same words in every row."""
    match condition:
        case ir.IsTrue(ir.TextMatch(field=ir.Property(), query=ir.Const() | ir.Param()) as call):
            return call
        case _:
            return None


def searched_rows(run: Run, table_key: str, conditions: tuple[ir.Condition, ...], *, narrowed: bool) -> Rows | None:
    """Ascending rows that satisfy every text predicate among the conditions, without looking at the other rows.

    None when there is none, or when reading the texts is no more work: of a small table, or of the few rows that other
    conditions leave (`narrowed`) of a large one whose corpus is not in memory.
    """
    calls = [call for condition in conditions if (call := searched(condition)) is not None]
    if not calls or is_union(table_key) or run.entities(table_key).is_small:
        return None
    from omnigraph.engine.read.search.corpus_store import TextColumn, cached_corpus, corpus_of

    entities = run.entities(table_key)
    found: Rows | None = None
    for call in calls:
        assert isinstance(call.field, ir.Property)
        assert isinstance(call.query, ir.Const | ir.Param)
        column = TextColumn(entities, call.field.name, run.keep_derived, run.budget.check)
        corpus = cached_corpus(column) if narrowed else corpus_of(column)
        if corpus is None:
            return None
        query = run.constant(call.query)
        how, name = ir.TEXT_FUNCTIONS[call.function], call.field.name
        rows = np.empty(0, np.int64)
        if query is not None:
            distance = _distance(run, call)
            texts = partial(entities.values, name)
            rows = corpus.matching(str(query), distance, how, texts, run.budget.check)
        run.profile.note(f"{column.name}: corpus of {corpus.count} texts, {len(rows)} match")
        found = rows if found is None else np.intersect1d(found, rows, assume_unique=True)
    return found


def _texts(run: Run, frame: Frame, call: ir.TextMatch) -> Test:
    if isinstance(call.field, ir.Property):
        bound = frame.bound[call.field.var]
        return _property_texts(run, bound.table_key, call.field.name, bound.rows, call)
    texts = run.evaluator(frame).column(call.field, pa.utf8())
    return _few_texts(texts, np.arange(frame.length), call, run.budget)


def _property_texts(run: Run, table_key: str, name: str, rows: Rows, call: ir.TextMatch) -> Test:
    how = ir.TEXT_FUNCTIONS[call.function]
    wanted, place = distinct(rows)
    if table_key.startswith(OPTIONAL) or is_union(table_key):
        few = _few_texts(run.columns(table_key).values(name, wanted), wanted, call, run.budget)
        return lambda query, distance: few(query, distance)[place]
    from omnigraph.engine.read.search.corpus_store import TextColumn, cached_corpus, corpus_of

    entities = run.entities(table_key)
    column = TextColumn(entities, name, run.keep_derived, run.budget.check)
    whole = cached_corpus(column)
    if whole is None and len(wanted) * _WHOLE_COLUMN_SHARE >= entities.row_count:
        whole = corpus_of(column)
    if whole is None:
        run.profile.note(f"{name}: exact, {len(wanted)} texts")
        few = _few_texts(entities.values(name, wanted), wanted, call, run.budget)
        return lambda query, distance: few(query, distance)[place]
    run.profile.note(f"{name}: corpus of {whole.count} texts")
    found = partial(whole.matching, how=how, texts=lambda found: entities.values(name, found), check=run.budget.check)
    return lambda query, distance: RowIndex(found(query, distance)).contains(rows)


def _few_texts(texts: pa.Array, rows: Rows, call: ir.TextMatch, budget: Budget) -> Test:
    """Which of a few texts match; `rows` are ascending."""
    from omnigraph.engine.read.search.corpus import Corpus, Part, analysed

    how = ir.TEXT_FUNCTIONS[call.function]
    corpus = Corpus([Part(analysed(texts, rows, budget.memory, call.language))], call.language)
    index = RowIndex(rows)
    looked_up = partial(corpus.matching, how=how, check=budget.check)
    found = partial(looked_up, texts=lambda found: texts.take(pa.array(index.positions(found))))
    return lambda query, distance: RowIndex(found(query, distance)).contains(rows)


def _distance(run: Run, call: ir.TextMatch) -> int | None:
    if call.function not in DEFAULT_NUMBERS:
        return None
    if call.distance is None:
        return DEFAULT_NUMBERS[call.function]
    value = run.evaluator(Frame(1)).value(call.distance)
    assert isinstance(value, Fixed)
    # A null distance allows nothing, like every other null operand.
    return -1 if value.value is None else int(value.value)  # type: ignore[arg-type]
