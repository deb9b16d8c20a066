"""Reads the list of row ids that a fragment's description carries: runs of consecutive ones, or each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ids: TypeAlias = npt.NDArray[np.int64]
_Message: TypeAlias = dict[int, int | bytes]

_RANGE, _RANGE_WITH_HOLES, _RANGE_WITH_BITMAP, _SORTED, _UNSORTED = range(1, 6)
_WIDTHS = {1: "<u2", 2: "<u4", 3: "<u8"}
_START, _END, _REST = 1, 2, 3
_BASE, _VALUES = 1, 2
_MOST_RUNS = 64


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive row ids at consecutive offsets."""

    first: int
    end: int
    offset: int


@dataclass(frozen=True, slots=True)
class Scattered:
    """Row ids in ascending order, and the offset of each."""

    ids: Ids
    offsets: Ids


def parse_sequence(content: bytes, rows: int) -> tuple[Run, ...] | Scattered:
    """The row ids of as many rows; ValueError for anything that is not a sequence of that length."""
    try:
        segments = [next(iter(_fields(segment).items())) for _, segment in _entries(content)]
        found = _runs(segments) if all(kind == _RANGE for kind, _ in segments) else _scattered(segments)
    except (IndexError, KeyError, StopIteration, TypeError) as error:
        raise ValueError("not a sequence of row ids") from error
    total = len(found.ids) if isinstance(found, Scattered) else sum(run.end - run.first for run in found)
    if total != rows:
        raise ValueError(f"a sequence of {total} row ids for {rows} rows")
    return found


def _runs(segments: list[tuple[int, int | bytes]]) -> tuple[Run, ...] | Scattered:
    if len(segments) > _MOST_RUNS:
        return _scattered(segments)
    runs, offset = [], 0
    for _, segment in segments:
        fields = _fields(segment)
        run = Run(_number(fields, _START), _number(fields, _END), offset)
        offset += run.end - run.first
        runs.append(run)
    return tuple(runs)


def _scattered(segments: list[tuple[int, int | bytes]]) -> Scattered:
    ids = np.concatenate([_ids(kind, _fields(segment)) for kind, segment in segments])
    if bool((ids[1:] > ids[:-1]).all()):
        return Scattered(ids, np.arange(len(ids)))
    order = np.argsort(ids, kind="stable")
    return Scattered(ids[order], order)


def _ids(kind: int, fields: _Message) -> Ids:
    if kind in (_SORTED, _UNSORTED):
        return _array(fields)
    start, end = _number(fields, _START), _number(fields, _END)
    if kind == _RANGE:
        return np.arange(start, end)
    present = np.ones(end - start, np.bool_)
    if kind == _RANGE_WITH_HOLES:
        present[_array(_fields(fields[_REST])) - start] = False
    elif kind == _RANGE_WITH_BITMAP:
        bits = np.unpackbits(np.frombuffer(_bytes(fields[_REST]), np.uint8), bitorder="little")
        present = bits[: end - start].astype(np.bool_)
    else:
        raise KeyError(kind)
    return np.flatnonzero(present) + start


def _array(fields: _Message) -> Ids:
    ((kind, content),) = fields.items()
    parts = _fields(content)
    values = np.frombuffer(_bytes(parts.get(_VALUES, b"")), _WIDTHS[kind]).astype(np.int64)
    return values + _number(parts, _BASE)


# --- protocol buffers --------------------------------------------------------------------------------


def _number(fields: _Message, name: int) -> int:
    value = fields.get(name, 0)  # zero is left out
    if not isinstance(value, int):
        raise TypeError(name)
    return value


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(value)
    return value


def _fields(message: int | bytes) -> _Message:
    return dict(_entries(message))


def _entries(message: int | bytes) -> Iterator[tuple[int, int | bytes]]:
    content, at = _bytes(message), 0
    while at < len(content):
        tag, at = _varint(content, at)
        value, at = _varint(content, at)
        if tag & 7 == 0:
            yield tag >> 3, value
        elif tag & 7 == 2 and at + value <= len(content):
            yield tag >> 3, content[at : at + value]
            at += value
        else:
            raise TypeError(tag)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
