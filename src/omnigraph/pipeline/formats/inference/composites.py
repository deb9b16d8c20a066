"""References of several columns together: foreign keys that a database declares, or columns called like a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.pipeline.formats.inference.inputs import InputTable
from omnigraph.pipeline.formats.inference.keys import DATE_PARTS, composite_key, key_like, spelled, texts
from omnigraph.pipeline.formats.inference.relations import Found, Reference

_NEARLY = 0.95
_SHOWN = 4
_BETWEEN = "\x1f"


def find_composites(found: Mapping[InputTable, Found]) -> None:
    """Note in each input which columns together hold the key of another; what they say already is not said twice."""
    keys = {table: _key_of(each) for table, each in found.items()}
    for mine in found.values():
        mine.composites = [*_declared(mine, found, keys), *_alike(mine, found, keys)]
        for composite in mine.composites:
            other = found[composite.target]
            other.key = keys[composite.target]
            for column, key in zip(composite.columns, other.key, strict=True):
                both = mine.references.get(column), other.references.get(key)
                # The target of the whole refers there itself.
                if both[0] is not None and both[1] is not None and both[0].target is both[1].target:
                    del mine.references[column]


def _key_of(each: Found) -> tuple[str, ...]:
    """The key of several columns that an input has, or would have if its rows were nodes."""
    if each.key:
        return each.key if len(each.key) > 1 else ()
    found = composite_key(each.table, tuple(each.references))
    return found if len(found) > 1 else ()


def _declared(
    mine: Found, found: Mapping[InputTable, Found], keys: Mapping[InputTable, tuple[str, ...]]
) -> Iterator[Reference]:
    for each in mine.table.declared_references:
        target = next((other for other in found if other.table == each.table), None)
        if target is None or len(each.columns) < 2 or set(each.targets) != set(keys[target]):
            continue
        place = dict(zip(each.targets, each.columns, strict=True))
        columns = tuple(place[key] for key in keys[target])
        if all(column in mine.table.kinds for column in columns):
            yield _reference(mine.table, columns, target, keys[target], "declared as a foreign key")


def _alike(
    mine: Found, found: Mapping[InputTable, Found], keys: Mapping[InputTable, tuple[str, ...]]
) -> Iterator[Reference]:
    """Columns that are called like the key of another input and hold its values."""
    if mine.table.declared_references:
        return
    named = {spelled(column): column for column in mine.table.kinds}
    for target, other in found.items():
        key = keys[target]
        own = [column for column in key if column not in other.references]
        columns = tuple(named.get(spelled(column), "") for column in key)
        # Inputs that link the same things, or were taken at the same times, share a key without either being
        # about the other.
        apart = len(own) < len(key) or any(_is_time(target, column) for column in key)
        if other is mine or not own or not all(columns) or (apart and mine.table.rows > target.rows):
            continue
        if not all(key_like(mine.table.kinds[column]) for column in columns):
            continue
        reference = _reference(mine.table, columns, target, key, "called like its key")
        if reference.known and reference.share >= _NEARLY:
            mine.considered.append(f"{' and '.join(columns)}: {reference.told()}")
            yield reference


def _is_time(table: InputTable, column: str) -> bool:
    return spelled(column) in DATE_PARTS or table.kinds[column].scalar in ("Date", "DateTime")


def _reference(
    table: InputTable, columns: tuple[str, ...], target: InputTable, key: Sequence[str], why: str
) -> Reference:
    values, keys = _joined(table, columns), pc.unique(_joined(target, key))
    known = values.drop_null()
    held = pc.is_in(known, value_set=keys)
    count = pc.sum(held).as_py() or 0
    absent = known.filter(pc.invert(held)).value_counts().sort(by="counts", order="descending")
    shown = tuple(text.replace(_BETWEEN, " ") for text in absent.field("values").slice(0, _SHOWN).to_pylist())
    return Reference(columns, target, len(values), len(known), count, shown, len(absent), why)


def _joined(table: InputTable, columns: Sequence[str]) -> pa.Array:
    parts = [texts(table.columns[column]).combine_chunks() for column in columns]
    return pc.binary_join_element_wise(*parts, _BETWEEN)
