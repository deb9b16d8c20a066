"""Keys: the column that names the rows of an input, or the fewest columns that do so together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.types import INTEGER, PropType
from omnigraph.pipeline.formats.draft import latin_letters
from omnigraph.pipeline.formats.inference.inputs import InputTable

KEY_NAMES = ("id", "key", "uuid", "guid", "code", "slug", "handle", "login", "username", "email", "isbn", "name")
_TAILS = ("_id", "_key", "_code", "_uuid", "_no", "_nr", "_number")
UNNAMED = len(KEY_NAMES) + 2
_MOST_PARTS = 16
DATE_PARTS = ("year", "month", "day", "hour", "minute", "second")


def key_like(kind: PropType) -> bool:
    """Whether values of this type can name something."""
    return not kind.list and (kind.scalar == "String" or kind.scalar in INTEGER)


def texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as ids of theirs would be written: text as it is, whole numbers in decimal.

    Every comparison of two columns begins here, so this is where a search for keys is stopped.
    """
    checkpoint()
    return values if pa.types.is_string(values.type) else values.cast(pa.utf8())


def spelled(name: str) -> str:
    """A column's name in lower case, words joined by underscores."""
    plain = latin_letters(name.replace("#", " no "))
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"([a-z])([A-Z])", r"\1_\2", plain).lower()).strip("_")


def distinct_columns(table: InputTable) -> list[str]:
    """The columns whose values all differ and are never missing."""
    return [
        column
        for column, kind in table.kinds.items()
        if key_like(kind)
        and not table.columns[column].null_count
        and pc.count_distinct(table.columns[column]).as_py() == table.rows
    ]


def key_rank(table: InputTable, column: str) -> int:
    """How much a column is called like a key; UNNAMED when it is not."""
    name, mine = spelled(column), table.type.lower()
    plain = name.replace("_", "")
    if column.lower() in KEY_NAMES:
        return 1 + KEY_NAMES.index(column.lower())
    if plain in (f"{mine}id", f"{mine}key", f"{mine}code", f"{mine}no", f"{mine}number"):
        return 0
    if (name.endswith(_TAILS) or plain == mine) and column == next(iter(table.kinds)):
        return 1 + KEY_NAMES.index("isbn")  # a first column that is called like that comes before a mere name
    return UNNAMED - 1 if name.endswith(_TAILS) or plain == mine else UNNAMED


def may_be_key(table: InputTable, column: str) -> bool:
    """Whether a distinct column is a name by itself: called like one, or the first column and a text."""
    first = next(iter(table.kinds))
    return key_rank(table, column) < UNNAMED or (column == first and table.kinds[column].scalar == "String")


def composite_key(table: InputTable, references: Sequence[str]) -> tuple[str, ...]:
    """The fewest columns whose values together are distinct; () when not even all of them are.

    Columns that are least like a part of a name are left out first: measures, then late columns, then parts of dates,
    then references.
    """
    fitting = [
        column
        for column, kind in table.kinds.items()
        if (key_like(kind) or kind.scalar in ("Date", "DateTime")) and not table.columns[column].null_count
    ]
    order = {column: at for at, column in enumerate(table.kinds)}
    ranked = sorted(fitting, key=lambda column: (_part_rank(table, column, references), order[column]))[:_MOST_PARTS]
    codes = {column: _codes(table.columns[column]) for column in ranked}
    if not ranked or not _are_distinct([codes[column] for column in ranked]):
        return ()
    kept = list(ranked)
    for column in reversed(ranked):
        rest = [other for other in kept if other != column]
        if rest and _are_distinct([codes[other] for other in rest]):
            kept = rest
    return tuple(sorted({*kept, *_coarser(kept, fitting)}, key=lambda column: order[column]))


def _coarser(kept: Sequence[str], fitting: Sequence[str]) -> list[str]:
    """The larger parts of a date whose smaller parts are in a key: a sample of one year needs none, its rows do."""
    smallest = max((DATE_PARTS.index(spelled(each)) for each in kept if spelled(each) in DATE_PARTS), default=0)
    return [each for each in fitting if spelled(each) in DATE_PARTS[:smallest]]


def _part_rank(table: InputTable, column: str, references: Sequence[str]) -> int:
    name, kind = spelled(column), table.kinds[column]
    if column in references:
        return 1
    if key_rank(table, column) < UNNAMED or name in (*KEY_NAMES, "number", "no", "seq", "line", table.type.lower()):
        return 0
    if kind.scalar in ("Date", "DateTime"):
        return 2
    if name in ("year", "month", "day", "hour", "minute", "week", "quarter", "date", "time"):
        return 3
    return 5 if kind.scalar in INTEGER else 4


def _codes(values: pa.ChunkedArray) -> np.ndarray:
    encoded = values.combine_chunks().dictionary_encode()
    found: np.ndarray = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _are_distinct(columns: Sequence[np.ndarray]) -> bool:
    """Whether no two rows agree in all columns; pairs are numbered anew, so that the numbers stay small."""
    codes = columns[0]
    for other in columns[1:]:
        joined = codes * (int(other.max(initial=0)) + 1) + other
        codes = np.unique(joined, return_inverse=True)[1]
    return len(np.unique(codes)) == len(codes)


def chosen_key(table: InputTable, distinct: Sequence[str], referred: Mapping[str, int]) -> str | None:
    """The key among distinct columns: what other inputs refer to most, then what is called like one, then the first."""
    if len(table.declared_key) == 1 and table.declared_key[0] in distinct:
        return table.declared_key[0]
    order = {column: at for at, column in enumerate(table.kinds)}
    fitting = [column for column in distinct if referred.get(column) or may_be_key(table, column)]
    rank = {column: (-referred.get(column, 0), key_rank(table, column), order[column]) for column in fitting}
    return min(fitting, key=lambda column: rank[column], default=None)
