"""Functions of lists and vectors."""

from __future__ import annotations

import math
from typing import Any

from omnigraph.compiler.functions.model import Failure, define
from omnigraph.compiler.functions.numbers import finite, integer

# A range may not have more items than this.
MOST_ITEMS = 1_000_000


def _element(items: tuple[Any, ...], at: int) -> Any:
    return items[at] if -len(items) <= at < len(items) else None


def _range(start: int, stop: int, step: int = 1) -> tuple[int, ...]:
    if step == 0:
        raise Failure("the step of a range is not 0")
    found = range(start, stop + (1 if step > 0 else -1), step)
    if (stop - start) // step + 1 > MOST_ITEMS:
        raise Failure(f"a range has at most {MOST_ITEMS} items")
    return tuple(found)


def _key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _sum(items: tuple[Any, ...]) -> Any:
    if all(isinstance(item, int) for item in items):
        return integer(sum(items))
    total = float(sum(items))
    return total if math.isfinite(total) else None


def _distinct(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(items))


def _mode(items: tuple[Any, ...]) -> Any:
    return max(dict.fromkeys(items), key=items.count, default=None)


def _percentile(items: tuple[float, ...], share: float) -> float | None:
    if not 0 <= share <= 1:
        raise Failure("the share of a percentile lies between 0 and 1")
    ordered = sorted(map(float, items))
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _dot(left: Any, right: Any) -> float:
    return float(sum(a * b for a, b in zip(left, right, strict=True)))


def _cosine(left: Any, right: Any) -> float:
    return _dot(left, right) / (math.sqrt(_dot(left, left)) * math.sqrt(_dot(right, right)))


def _l2(left: Any, right: Any) -> float:
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(left, right, strict=True)))


def _list(signature: str, summary: str, example: str, answer: str, compute: Any, **more: Any) -> Any:
    return define("Lists", signature, summary, example, answer, compute, **more)


def _vector(signature: str, summary: str, example: str, answer: str, compute: Any) -> Any:
    return define("Vectors", signature, summary, example, answer, finite(compute))


LISTS = (
    _list(
        "list(item: T, …) -> [T]",
        "The values as a list; `[a, b]` means the same. Null if one of them is null.",
        '[1 + 1, length("abc")]',
        "[2, 3]",
        lambda *items: items,
    ),
    _list("size(list: List) -> I64", "The number of items.", "size([3, 1, 2])", "3", len),
    _list(
        "element(list: List, at: Integer) -> Item?",
        "The item at a position from 0, or below 0 from the end; null where there is none.",
        'element(["a", "b", "c"], -1)',
        '"c"',
        _element,
    ),
    _list(
        "slice(list: List, from: Integer, to?: Integer) -> List",
        "The items from one position up to, but not including, another.",
        "slice([1, 2, 3, 4], 1, 3)",
        "[2, 3]",
        lambda items, start, stop=None: items[start:stop],
    ),
    _list(
        "range(from: Integer, to: Integer, step?: Integer) -> [I64]",
        "The numbers from one to another, both included.",
        "range(1, 7, 3)",
        "[1, 4, 7]",
        _range,
        fails=True,
    ),
    _list(
        "list_sum(list: Numbers) -> ItemNumeric?",
        "The sum of the items; 0 without any, null beyond the range of doubles.",
        "list_sum([1, 2, 3])",
        "6",
        _sum,
        fails=True,
    ),
    _list(
        "list_min(list: List) -> Item?",
        "The smallest item; null without any.",
        "list_min([3, 1, 2])",
        "1",
        lambda items: min(items, key=_key, default=None),
    ),
    _list(
        "list_max(list: List) -> Item?",
        "The largest item; null without any.",
        'list_max(["b", "a"])',
        '"b"',
        lambda items: max(items, key=_key, default=None),
    ),
    _list(
        "list_sort(list: List) -> List",
        "The items from the smallest to the largest.",
        "list_sort([3, 1, 2])",
        "[1, 2, 3]",
        lambda items: tuple(sorted(items, key=_key)),
    ),
    _list(
        "list_distinct(list: List) -> List",
        "The first of equal items.",
        "list_distinct([3, 1, 3])",
        "[3, 1]",
        _distinct,
    ),
    _list(
        "list_mode(list: List) -> Item?",
        "The most frequent item; of several the one that comes first.",
        "list_mode([1, 2, 2, 3])",
        "2",
        _mode,
    ),
    _list(
        "list_percentile(list: Numbers, share: Float) -> F64?",
        "The value below which a share (0 to 1) of the items lies, interpolated between neighbours.",
        "list_percentile([1, 2, 3, 4], 0.5)",
        "2.5",
        _percentile,
        fails=True,
    ),
    _list(
        "join(list: Texts, separator: String) -> String",
        "The items as one text.",
        'join(["a", "b"], "-")',
        '"a-b"',
        lambda items, separator: separator.join(items),
    ),
    _vector(
        "cosine(a: Vector, b: Vector) -> F64?",
        "The cosine of the angle between two vectors.",
        "cosine([1.0, 0.0], [1.0, 0.0])",
        "1.0",
        _cosine,
    ),
    _vector(
        "dot(a: Vector, b: Vector) -> F64?",
        "The dot product of two vectors.",
        "dot([1.0, 2.0], [3.0, 4.0])",
        "11.0",
        _dot,
    ),
    _vector(
        "l2(a: Vector, b: Vector) -> F64?",
        "The Euclidean distance of two vectors.",
        "l2([0.0, 0.0], [3.0, 4.0])",
        "5.0",
        _l2,
    ),
)
