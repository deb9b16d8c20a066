"""Entity ids: canonical text of key values, composite keys, and fresh ULIDs, by column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.engine.intake.columns.property_columns import Offence
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.spelling import json_strings, positional_floats
from omnigraph.ids import reserve_ulids

_ALPHABET = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", np.uint8)
_ULID_CHARS = 26
_VARYING = 3
_LAST_DIGITS = _ALPHABET[np.stack(np.unravel_index(np.arange(32**_VARYING), (32,) * _VARYING), axis=1)]


def assign_ids(info: TableType, explicit: pa.Array, columns: dict[str, pa.Array]) -> tuple[pa.Array, list[Offence]]:
    """The id of each row: derived from the key, or as given, or fresh; a given id that differs from its key is W016."""
    if isinstance(info, NodeType) and info.key is not None:
        derived = key_texts(info, columns)
        return derived, _mismatches(explicit, derived)
    missing = explicit.is_null()
    count = pc.sum(missing).as_py() or 0
    if not count:
        return explicit, []
    return (fresh_ulids(count) if count == len(explicit) else _filled(explicit, missing, count)), []


def key_texts(info: NodeType, columns: dict[str, pa.Array]) -> pa.Array:
    """The canonical id of each row of a keyed type; null where a key value is."""
    assert info.key is not None
    texts = [canonical_text(columns[name]) for name in info.key]
    if len(texts) == 1:
        return texts[0]
    joined = pc.binary_join_element_wise(*(json_strings(text) for text in texts), ",")
    return pc.binary_join_element_wise("[", joined, "]", "")


def canonical_text(values: pa.Array) -> pa.Array:
    """One text per stored value: equal values have equal texts, whatever they were written as."""
    kind = values.type
    if pa.types.is_string(kind):
        return values
    if pa.types.is_date32(kind):
        return values.cast(pa.int32()).cast(pa.utf8())
    if pa.types.is_date64(kind):
        return values.cast(pa.int64()).cast(pa.utf8())
    if pa.types.is_floating(kind):
        return positional_floats(values)
    return values.cast(pa.utf8())


def fresh_ulids(count: int) -> pa.Array:
    """New ULIDs in ascending order."""
    if not count:
        return pa.array([], pa.utf8())
    first = reserve_ulids(count)
    characters = np.empty((count, _ULID_CHARS), np.uint8)
    at = 0
    while at < count:
        # Numbers that follow each other differ in their last digits only, and those are the same in every block.
        block, start = divmod(first + at, len(_LAST_DIGITS))
        taken = min(count - at, len(_LAST_DIGITS) - start)
        characters[at : at + taken, :-_VARYING] = _ALPHABET[_digits(block, _ULID_CHARS - _VARYING)]
        characters[at : at + taken, -_VARYING:] = _LAST_DIGITS[start : start + taken]
        at += taken
    offsets = np.arange(0, (count + 1) * _ULID_CHARS, _ULID_CHARS, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(characters))


def _digits(number: int, count: int) -> list[int]:
    """A number in digits of five bits."""
    return [(number >> (5 * place)) & 31 for place in reversed(range(count))]


def _filled(explicit: pa.Array, missing: pa.Array, count: int) -> pa.Array:
    return pc.replace_with_mask(explicit, missing, fresh_ulids(count))


def _mismatches(explicit: pa.Array, derived: pa.Array) -> list[Offence]:
    differs = pc.fill_null(pc.not_equal(explicit, derived), fill_value=False)
    if not pc.any(differs).as_py():
        return []
    rows = np.flatnonzero(differs.to_numpy(zero_copy_only=False))
    return [
        Offence(int(row), "W016", f"id '{explicit[row]}' does not match its canonical @key id '{derived[row]}'")
        for row in rows
    ]
