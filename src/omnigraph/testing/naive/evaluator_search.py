"""Scores of the naive evaluator's searches, each straight from its definition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from omnigraph.engine.read.search.analyzer import analyze, split_column


def words_of(text: str) -> list[str]:
    """The words of a text before stop-words go and endings are cut off."""
    return [word for word in split_column(pa.array([text], pa.utf8())).to_pylist()[0] if word]


def edits(left: str, right: str) -> int:
    """Levenshtein distance, straight from its recurrence."""
    if not left or not right:
        return len(left) + len(right)
    if left[-1] == right[-1]:
        return edits(left[:-1], right[:-1])
    return 1 + min(edits(left[:-1], right), edits(left, right[:-1]), edits(left[:-1], right[:-1]))


def distance(vector: list[float], query: Any, metric: str) -> float:
    """The distance of two vectors, from its definition."""
    dot = float(sum(a * b for a, b in zip(vector, query, strict=True)))
    if metric == "dot":
        return 1.0 - dot
    if metric == "l2":
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(vector, query, strict=True)))
    norms = math.sqrt(sum(a * a for a in vector)) * math.sqrt(sum(b * b for b in query))
    return 1.0 - dot / norms if norms else 1.0


def bm25(texts: Mapping[str, str], query: str, language: str) -> dict[str, float]:
    """BM25 with k1 = 1.2 and b = 0.75 over all texts of the type; texts without a common word are left out."""
    tokens = {name: analyze(text, language) for name, text in texts.items()}
    mean = sum(len(found) for found in tokens.values()) / max(len(tokens), 1)
    scores: dict[str, float] = {}
    for word in dict.fromkeys(analyze(query, language)):
        holders = [name for name, found in tokens.items() if word in found]
        rarity = math.log1p((len(tokens) - len(holders) + 0.5) / (len(holders) + 0.5))
        for name in holders:
            often = tokens[name].count(word)
            weight = often * 2.2 / (often + 1.2 * (0.25 + 0.75 * len(tokens[name]) / mean))
            scores[name] = scores.get(name, 0.0) + rarity * weight
    return scores
