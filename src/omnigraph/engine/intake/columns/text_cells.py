"""Cells of text files as the values that JSON would have, by column; rows that fail come in runs of their own."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import FLOATING, INTEGER, PropType
from omnigraph.engine.intake.columns.cells import PLAIN_CELLS, Cells


def typed_runs(table: pa.Table, kinds: Mapping[str, PropType | None], cells: Cells = PLAIN_CELLS) -> Iterator[pa.Table]:
    """The rows with typed cells; rows with a cell that does not convert come in runs of their own, it as text."""
    plain = {name: table.column(name).combine_chunks() for name in table.column_names}
    texts = [name for name, values in plain.items() if pa.types.is_string(values.type)]
    columns = {
        name: from_text(kinds[name], plain[name], cells, name) if name in texts else plain[name] for name in plain
    }
    failed = [name for name in texts if columns[name] is None]
    if not failed:
        yield pa.table(columns)
        return
    # A run ends where other cells than before are wrong, so that a good cell beside a bad one is not taken for bad.
    wrong = np.zeros((len(failed), table.num_rows), bool)
    for at, name in enumerate(failed):
        _mark(wrong[at], plain[name], partial(_fails, kinds[name], cells, name))
    edges = np.flatnonzero(np.diff(wrong, axis=1).any(axis=0)) + 1
    for start, stop in itertools.pairwise([0, *edges.tolist(), table.num_rows]):
        run: dict[str, pa.Array] = {}
        for name, values in plain.items():
            piece = values.slice(start, stop - start)
            typed = from_text(kinds[name], piece, cells, name) if name in texts else piece
            run[name] = piece if typed is None else typed
        yield pa.table(run)


def _fails(kind: PropType | None, cells: Cells, name: str, values: pa.Array) -> bool:
    return from_text(kind, values, cells, name) is None


def _mark(wrong: np.ndarray, values: pa.Array, fails: Callable[[pa.Array], bool], start: int = 0) -> None:
    """Find the cells that do not convert by halving: a few bad ones in a large column cost little."""
    if not fails(values):
        return
    if len(values) == 1:
        wrong[start] = True
        return
    half = len(values) // 2
    _mark(wrong, values.slice(0, half), fails, start)
    _mark(wrong, values.slice(half), fails, start + half)


def from_text(kind: PropType | None, texts: pa.Array, cells: Cells = PLAIN_CELLS, column: str = "") -> pa.Array | None:
    """Cells as JSON would have them, None when one of them is not such a value."""
    if kind is None or (not kind.list and kind.dim is None and kind.scalar in ("String", "Blob")):
        return texts
    if cells is not PLAIN_CELLS:
        spelled = cells.spelled(column, kind, texts)
        if spelled is None or not pa.types.is_string(spelled.type):
            return spelled
        texts = spelled
    try:
        if kind.list or kind.dim is not None:
            return _lists(kind, [None if text is None else json.loads(text) for text in texts.to_pylist()])
        if kind.scalar in INTEGER:
            return texts.cast(pa.uint64() if kind.scalar == "U64" else pa.int64())
        if kind.scalar in FLOATING:
            return texts.cast(pa.float64())
        if kind.scalar == "Bool":
            return pc.utf8_lower(texts).cast(pa.bool_())
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, OverflowError, RecursionError):
        return None
    # A calendar value is a text with rules of its own, or the number it is stored as.
    numbers = pc.all(pc.match_substring_regex(texts, "^-?[0-9]+$"), min_count=0).as_py()
    return texts.cast(pa.int64()) if numbers else texts


def _lists(kind: PropType, values: list[Any]) -> pa.Array:
    """Decoded cells; whole numbers that fit only U64 need an explicit type, because Arrow would guess a signed one."""
    try:
        return pa.array(values)
    except OverflowError:
        whole = all(type(item) is int for value in values if isinstance(value, list) for item in value)
        if kind.scalar != "U64" or not whole:
            raise
        return pa.array(values, pa.list_(pa.uint64()))
