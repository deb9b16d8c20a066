"""Expressions and conditions over batches of a Spark frame, by the engine's own evaluator; runs inside workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.search.analyzer import analyze
from omnigraph.engine.read.search.corpus import Corpus, Part, analysed
from omnigraph.engine.read.search.distances import distances
from omnigraph.engine.read.search.relevance import rarity_of, word_scores
from omnigraph.engine.read.search.snippets import snippets_of
from omnigraph.engine.read.search.text_predicates import DEFAULT_NUMBERS
from omnigraph.engine.values.fixed import Fixed
from omnigraph.engine.values.predicate import Bindings, Evaluator
from omnigraph.pipeline.gq.carry import from_spark

Scores = npt.NDArray[np.float64]

# Beside the id of an entity of a union: what tells it from one of another type with the same id.
KEY = "@key"
# Which row of its table an entity is; where hops are over lists of these.
ROW = "@row"
SEPARATOR = "|"


def qualifier(type_name: str) -> str:
    """What makes an id of a type the key of an entity among those of other types; no type has it in its name."""
    return f"{type_name}{SEPARATOR}"


@dataclass(frozen=True, slots=True)
class Keys:
    """What a link knows nodes by: ids, or ids that are qualified by their types where it links several."""

    values: pa.Array
    qualified: bool

    def of(self, type_name: str) -> pa.Array:
        """The ids of one type."""
        if not self.qualified:
            return self.values
        mine = self.values.filter(pc.starts_with(self.values, qualifier(type_name)))
        return pc.utf8_slice_codeunits(mine, len(qualifier(type_name)))


@dataclass(frozen=True, slots=True)
class TextStatistics:
    """What BM25 has to know about a whole column: how many texts and words, and how many texts hold each word."""

    texts: int
    words: int
    holders: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Searches:
    """What the driver found out before rows are scored; a query that is null has no vector and no statistics."""

    vectors: Mapping[ir.Nearest, Sequence[float] | None] = field(default_factory=dict)
    statistics: Mapping[ir.Bm25, TextStatistics | None] = field(default_factory=dict)
    fused: Mapping[ir.Rrf, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the values of a plan are in a frame: columns of (variable, property), of outputs, and of the score."""

    properties: Mapping[tuple[str, str], str]
    kinds: Mapping[str, PropType]
    outputs: Mapping[str, str] = field(default_factory=dict)
    score: str | None = None


@dataclass(frozen=True, slots=True)
class Values:
    """Everything a worker needs to evaluate expressions of one query."""

    layout: Layout
    bindings: Bindings
    searches: Searches = Searches()

    def over(self, batch: pa.RecordBatch) -> Evaluator:
        """An evaluator for the rows of a batch."""
        rows = _Rows(self, batch)
        rows.evaluator = Evaluator(rows.leaf, batch.num_rows, self.bindings)
        return rows.evaluator


class _Rows:
    """One batch, looked at expression by expression."""

    evaluator: Evaluator

    def __init__(self, values: Values, batch: pa.RecordBatch) -> None:
        self.values = values
        self.batch = batch

    def leaf(self, expr: ir.Expr) -> pa.Array:
        layout = self.values.layout
        match expr:
            case ir.Property(var, name):
                return self.column(layout.properties[var, name])
            case ir.Node(var, type_name):
                if (var, KEY) in layout.properties:
                    return self.column(layout.properties[var, KEY])
                # It may be compared with one of a union.
                ids = self.column(layout.properties[var, "id"])
                return pc.binary_join_element_wise(pa.scalar(qualifier(type_name)), ids, "")
            case ir.Column(name):
                return self.column(layout.outputs[name])
            case ir.Score() if layout.score is not None:
                return self.column(layout.score)
            case ir.TextMatch():
                return self._text_matches(expr)
            case ir.Nearest():
                return pa.array(self._distances(expr), pa.float64(), from_pandas=True)
            case ir.Bm25():
                return pa.array(self._relevance(expr))
            case ir.Rrf() if expr in self.values.searches.fused:
                return pc.fill_null(self.column(self.values.searches.fused[expr]), 0.0)
        raise ir.IllTyped(f"{type(expr).__name__} has no value of its own in a row")

    def column(self, name: str) -> pa.Array:
        return from_spark(self.batch.column(name), self.values.layout.kinds[name])

    def _distances(self, call: ir.Nearest) -> Scores:
        query = self.values.searches.vectors[call]
        if query is None:
            return np.full(self.batch.num_rows, np.nan)
        return distances(self.column(self.values.layout.properties[call.var, call.name]), query, call.metric)

    def _relevance(self, call: ir.Bm25) -> Scores:
        known = self.values.searches.statistics[call]
        if known is None:
            return np.zeros(self.batch.num_rows)
        return bm25(self.column(self.values.layout.properties[call.var, call.name]), known, call.language)

    def _text_matches(self, call: ir.TextMatch) -> pa.Array:
        count = self.batch.num_rows
        texts = self.evaluator.column(call.field, pa.utf8())
        if call.function == ir.SNIPPET:
            queries = self.evaluator.column(call.query, pa.utf8())
            return snippets_of(texts, queries, self._distance(call), language=call.language)
        corpus = Corpus([Part(analysed(texts, np.arange(count), language=call.language))], call.language)
        fitting = partial(corpus.matching, how=ir.TEXT_FUNCTIONS[call.function], texts=texts.take)
        query = self.evaluator.value(call.query)
        found = np.zeros(count, np.bool_)
        if isinstance(query, Fixed):
            if query.value is not None:
                found[fitting(str(query.value), self._distance(call))] = True
            return pa.array(found)
        encoded = query.dictionary_encode()
        codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        for number, text in enumerate(encoded.dictionary.to_pylist()):
            rows = fitting(text, self._distance(call))
            found[rows[codes[rows] == number]] = True
        return pa.array(found)

    def _distance(self, call: ir.TextMatch) -> int | None:
        if call.function not in DEFAULT_NUMBERS:
            return None
        if call.distance is None:
            return DEFAULT_NUMBERS[call.function]
        value = self.evaluator.value(call.distance)
        assert isinstance(value, Fixed)
        return -1 if value.value is None else int(value.value)  # type: ignore[arg-type]


# --- relevance in two passes: statistics of the whole column first, then each text by itself ---------------


def text_statistics(texts: pa.Array, query: str, language: str) -> TextStatistics:
    """The share of some texts in the statistics of their column."""
    part = Part(analysed(texts, np.arange(len(texts)), language=language))
    words = dict.fromkeys(analyze(query, language))
    return TextStatistics(len(part), part.tokens(), {word: len(part.postings(word)[0]) for word in words})


def bm25(texts: pa.Array, known: TextStatistics, language: str) -> Scores:
    """The score of each text within its column, 0 where no word matches."""
    part = Part(analysed(texts, np.arange(len(texts)), language=language))
    mean = max(known.words / known.texts, 1e-9) if known.texts else 1.0
    total = np.zeros(len(texts))
    for word, having in known.holders.items():
        holders, often = part.postings(word)
        scores = word_scores(rarity_of(having, known.texts), often, part.segment.lengths[holders], mean)
        total[part.segment.rows[holders]] += scores
    return total


# --- what workers do with a batch -------------------------------------------------------------------------

Step = Callable[[pa.RecordBatch], pa.RecordBatch]


def keeping(values: Values, conditions: Sequence[ir.Condition]) -> Step:
    """Keeps the rows for which every condition is true."""

    def step(batch: pa.RecordBatch) -> pa.RecordBatch:
        for condition in conditions:
            batch = batch.filter(values.over(batch).keep(condition))
        return batch

    return step
