"""Graph records by the block: lines that look usual go through Arrow's JSON reader, one read per type.

The reader is as strict as the grammar in all but a few points (several objects on a line, null where an object or a
string must stand, NaN); each of those is looked for afterwards, and its whole group is handed back unread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.compiler.types import FLOATING, PropType
from omnigraph.engine.intake.inputs.lines import Lines, look_whole, one_object_each
from omnigraph.engine.intake.records import RawRows
from omnigraph.engine.values.arrow import TableType, arrow_type

_HEAD = re.compile(r'^[ \t]*\{[ \t]*"(?P<kind>type|edge)"[ \t]*:[ \t]*"(?P<name>[A-Za-z0-9_]+)"')
_USUAL_HEADS = 8
_NULL_ID = r'"id"[ \t]*:[ \t]*null'
_SNIFFED_LINES = 16


def read_usual_lines(lines: Lines, catalog: Catalog, file: str | None) -> tuple[list[RawRows], np.ndarray]:
    """Raw rows of the groups that could be read, and the indices of the lines that could not."""
    texts = lines.array()
    found: list[RawRows] = []
    taken = np.zeros(len(lines), bool)
    balanced: np.ndarray | None = None
    whole = look_whole(lines)
    for info, members in _groups(texts, catalog):
        raw, indices = (_read_group(info, texts, members, lines, file) if whole else None), members
        if raw is None:
            # Lines with two objects, or with a part of one, are told from others and left out.
            balanced = one_object_each(lines) if balanced is None else balanced
            indices = members[balanced[members]]
            if not whole or len(indices) < len(members):
                raw = _read_group(info, texts, indices, lines, file)
        if raw is not None:
            found.append(raw)
            taken[indices] = True
    return found, np.flatnonzero(~taken)


def _groups(texts: pa.Array, catalog: Catalog) -> list[tuple[TableType, np.ndarray]]:
    """The lines of each type that is known, by how they begin."""
    by_type: dict[str, tuple[TableType, list[np.ndarray]]] = {}
    for kind, name, members in _headed(texts):
        info: TableType | None = catalog.nodes.get(name) if kind == "type" else catalog.edge(name)
        if info is not None:
            by_type.setdefault(info.table_key, (info, []))[1].append(members)
    return [(info, np.sort(np.concatenate(parts))) for info, parts in by_type.values()]


def _headed(texts: pa.Array) -> Iterator[tuple[str, str, np.ndarray]]:
    """Kind, name and lines of each way to begin; a line that begins like none of the first few is matched by itself."""
    rest = np.arange(len(texts))
    for _ in range(_USUAL_HEADS):
        if not len(rest):
            return
        head = _HEAD.match(texts[rest[0]].as_py())
        if head is None:
            break
        alike = pc.starts_with(_taken(texts, rest), head[0]).to_numpy(zero_copy_only=False)
        yield head["kind"], head["name"], rest[alike]
        rest = rest[~alike]
    kinds, names = pc.extract_regex(_taken(texts, rest), _HEAD.pattern).flatten()
    labels = pc.binary_join_element_wise(kinds, names, pa.scalar(":", pa.large_string())).dictionary_encode()
    codes = pc.fill_null(labels.indices, -1).to_numpy(zero_copy_only=False)
    for code, label in enumerate(labels.dictionary.to_pylist()):
        kind, _, name = label.partition(":")
        yield kind, name, rest[codes == code]


def _taken(texts: pa.Array, indices: np.ndarray) -> pa.Array:
    return texts if len(indices) == len(texts) else texts.take(pa.array(indices))


def _read_group(
    info: TableType, texts: pa.Array, indices: np.ndarray, lines: Lines, file: str | None
) -> RawRows | None:
    if not len(indices):
        return None
    group = _taken(texts, indices)
    table = _parse(info, group)
    if table is None or table.num_rows != len(group):
        return None
    data = table["data"].combine_chunks()
    if _doubtful_objects(data, group):
        return None
    columns = dict(zip((f.name for f in data.type), data.flatten(), strict=True))
    ids = columns.pop("id")
    if (ids.null_count and b"null" in lines.data and _doubtful_ids(ids, group)) or any(
        _has_non_finite(column) for column in columns.values()
    ):
        return None
    endpoints = None
    if isinstance(info, EdgeType):
        endpoints = (table["from"].combine_chunks(), table["to"].combine_chunks())
        if endpoints[0].null_count or endpoints[1].null_count:
            return None
    # Lines with a null in them come here only where null and absent are the same.
    given = {name: column.is_valid().to_numpy(zero_copy_only=False) for name, column in columns.items()}
    return RawRows(info, ids, endpoints, columns, lines.numbers[indices], file, given=given)


def _parse(info: TableType, group: pa.Array) -> pa.Table | None:
    text = _bytes(group)
    options = pj.ParseOptions(explicit_schema=_schema(info, group), unexpected_field_behavior="error")
    # One block: the reader must never cut the text anywhere itself.
    reading = pj.ReadOptions(use_threads=False, block_size=text.size + 1)
    try:
        return pj.read_json(pa.BufferReader(text), read_options=reading, parse_options=options)
    except (pa.ArrowInvalid, OverflowError):  # the latter for a block of more than 2 GiB
        return None


def _bytes(group: pa.Array) -> pa.Buffer:
    offsets = np.frombuffer(group.buffers()[1], np.int64)[group.offset : group.offset + len(group) + 1]
    return group.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def _schema(info: TableType, group: pa.Array) -> pa.Schema:
    samples = _samples(group)
    properties = [pa.field(name, _read_as(name, kind, samples)) for name, kind in info.properties.items()]
    data = pa.struct([pa.field("id", pa.utf8()), *properties])
    head = ["edge", "from", "to"] if isinstance(info, EdgeType) else ["type"]
    return pa.schema([*(pa.field(name, pa.utf8()) for name in head), pa.field("data", data)])


def _samples(group: pa.Array) -> list[dict[str, Any]]:
    found = []
    for text in group.slice(0, _SNIFFED_LINES).to_pylist():
        try:
            data = json.loads(text)["data"]
        except (ValueError, KeyError, RecursionError):
            continue
        if isinstance(data, dict):
            found.append(data)
    return found


def _read_as(name: str, kind: PropType, samples: list[dict[str, Any]]) -> pa.DataType:
    """The type to ask the reader for: decimals as doubles, dates as whichever of text and number is in use."""
    if kind.dim is not None:
        return pa.list_(pa.float64())
    if kind.scalar in ("Date", "DateTime"):
        scalar = pa.int64() if _uses_numbers(name, kind, samples) else pa.utf8()
    elif kind.scalar in FLOATING:
        scalar = pa.float64()
    else:
        scalar = pa.utf8() if kind.scalar == "Blob" else arrow_type(PropType(kind.scalar))
    return pa.list_(scalar) if kind.list else scalar


def _uses_numbers(name: str, kind: PropType, samples: list[dict[str, Any]]) -> bool:
    for sample in samples:
        value = sample.get(name)
        if kind.list and isinstance(value, list):
            value = next(iter(value), None)
        if value is not None:
            return isinstance(value, int)
    return False


def _doubtful_objects(data: pa.Array, group: pa.Array) -> bool:
    """Whether some record has `data` but it is null, which the reader takes for absent."""
    return bool(data.null_count) and bool(pc.any(pc.match_substring(group.filter(data.is_null()), '"data"')).as_py())


def _doubtful_ids(ids: pa.Array, group: pa.Array) -> bool:
    """Whether some record may have an explicit null id, which the reader takes for absent."""
    return bool(pc.any(pc.match_substring_regex(group.filter(ids.is_null()), _NULL_ID)).as_py())


def _has_non_finite(column: pa.Array) -> bool:
    values = column.flatten() if pa.types.is_list(column.type) else column
    return pa.types.is_floating(values.type) and not pc.all(pc.is_finite(values), min_count=0).as_py()
