"""Versions of simulated datasets: immutable values that say which rows are shown, and the rows as Arrow tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.fragment import DataFile, DeletionFile, FragmentMetadata

_SYSTEM = ("_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version")
_OFFSET_BITS = 32


@dataclass(frozen=True, eq=False)
class Fragment:
    """Rows of one data file as a version shows them."""

    id: int
    home: str  # the directory of the lineage that wrote the file
    name: str
    rows: pa.Table = field(repr=False)
    row_ids: tuple[int, ...]
    created: tuple[int, ...]
    updated: tuple[int, ...]
    deleted: frozenset[int] = frozenset()
    deletion: tuple[int, int] | None = None  # the version that was read, and the number of the file
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def path(self) -> str:
        return f"{self.home}/data/{self.name}"

    @property
    def physical_rows(self) -> int:
        return len(self.row_ids)

    @property
    def metadata(self) -> FragmentMetadata:
        """The description that the code under test hands back in transactions."""
        found = self._cache.get("metadata")
        if found is None:
            file = DataFile(self.name, list(range(self.rows.num_columns)), list(range(self.rows.num_columns)), 2, 2)
            gone = None if self.deletion is None else DeletionFile(*self.deletion, "array", len(self.deleted), None)
            found = self._cache["metadata"] = FragmentMetadata(self.id, [file], self.physical_rows, gone)
        return found

    def shown(self) -> pa.Table:
        """The rows that are left, with what lance knows about each."""
        found = self._cache.get("shown")
        if found is None:
            left = [at for at in range(self.physical_rows) if at not in self.deleted]
            addresses = [(self.id << _OFFSET_BITS) + at for at in left]
            known = [[self.row_ids[at] for at in left], addresses]
            known += [[self.created[at] for at in left], [self.updated[at] for at in left]]
            found = self.rows.take(pa.array(left, pa.int64())) if self.deleted else self.rows
            for name, values in zip(_SYSTEM, known, strict=True):
                found = found.append_column(name, pa.array(values, pa.uint64()))
            self._cache["shown"] = found
        return found

    def without(self, offsets: Sequence[int], deletion: tuple[int, int]) -> Fragment:
        """The same with more rows gone."""
        return replace(self, deleted=self.deleted | frozenset(offsets), deletion=deletion, _cache={})

    def described(self) -> list[dict[str, Any]]:
        """Every row of the file as a dictionary, gone ones included; for those who check."""
        found = self._cache.get("described")
        if found is None:
            found = self._cache["described"] = self.rows.to_pylist()
        return list(found)


@dataclass(frozen=True, slots=True)
class Committed:
    """The transaction behind a version, and what decides whether another one may pass it."""

    uuid: str
    read_version: int
    operation: Any
    properties: dict[str, str]
    touched: frozenset[int] = frozenset()  # fragments that it changes or removes
    rows: frozenset[tuple[int, int]] | None = None  # the places of rows it takes away, where it knows them
    keys: frozenset[str] = frozenset()  # what an insertion by key has looked for in vain

    @property
    def kind(self) -> str:
        return type(self.operation).__name__

    @property
    def transaction_properties(self) -> dict[str, str]:
        return self.properties


@dataclass(frozen=True, eq=False)
class Version:
    """One version of one lineage of a dataset."""

    number: int
    schema: pa.Schema = field(repr=False)
    fragments: tuple[Fragment, ...]
    next_row_id: int
    next_fragment_id: int
    transaction: Committed
    timestamp: float
    before: Version | None = field(default=None, repr=False)  # for those who check; nothing is read through it
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    def table(self) -> pa.Table:
        """Every row that the version shows."""
        found = self._cache.get("table")
        if found is None:
            parts = [fragment.shown() for fragment in self.fragments]
            if parts:
                found = pa.concat_tables([part.cast(parts[0].schema) for part in parts])
            else:
                found = _with_system(self.schema.empty_table())
            self._cache["table"] = found
        return found

    def scan(
        self,
        columns: Sequence[str] | None,
        filter: str | None,
        fragments: Sequence[Fragment] | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> pa.Table:
        """Rows as lance's scanner gives them, in the order of the files."""
        found = self.table()
        if fragments is not None:
            parts = [fragment.shown() for fragment in fragments]
            found = pa.concat_tables(parts) if parts else found.slice(0, 0)
        if filter is not None:
            found = found.filter(matches(found, filter))
        found = found.select(list(columns) if columns is not None else self.schema.names)
        return found.slice(offset or 0, limit) if limit is not None or offset else found

    def row_versions(self) -> dict[int, int]:
        """In which version each row came into being, by row id."""
        found = self._cache.get("created")
        if found is None:
            found = {row: made for each in self.fragments for row, made in zip(each.row_ids, each.created, strict=True)}
            self._cache["created"] = found
        return found


def _with_system(table: pa.Table) -> pa.Table:
    for name in _SYSTEM:
        table = table.append_column(name, pa.array([], pa.uint64()))
    return table


# --- filters: the few forms that the storage package writes ------------------------------------------

_IN = re.compile(r"(\w+) IN \((.*)\)", re.DOTALL)
_COMPARED = re.compile(r"(\w+) (=|<=|>=|<|>) ('(?:[^']|'')*'|\w+)")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_KERNELS = {"=": pc.equal, "<=": pc.less_equal, ">=": pc.greater_equal, "<": pc.less, ">": pc.greater}


def matches(table: pa.Table, filter: str) -> Any:
    """Which rows a filter keeps."""
    kept: Any = None
    for part in filter.split(" AND "):
        found = _matches_one(table, part)
        kept = found if kept is None else pc.and_(kept, found)
    return kept


def _matches_one(table: pa.Table, text: str) -> Any:
    listed = _IN.fullmatch(text)
    if listed is not None:
        column = table[listed[1]]
        values = [_value(each) for each in _list(listed[2])]
        return pc.is_in(column, value_set=pa.array(values, column.type))
    compared = _COMPARED.fullmatch(text)
    if compared is None:
        raise ValueError(f"the simulation does not know the filter {text!r}")
    name, sign, other = compared.groups()
    right = table[other] if other in table.column_names else pa.scalar(_value(other), table[name].type)
    return _KERNELS[sign](table[name], right)


def _list(text: str) -> list[str]:
    return [f"'{each}'" for each in _QUOTED.findall(text)] if text.startswith("'") else text.split(",")


def _value(text: str) -> str | int:
    return text[1:-1].replace("''", "'") if text.startswith("'") else int(text)


def numbers(array: np.ndarray) -> list[int]:
    """Plain numbers."""
    return [int(each) for each in array.tolist()]
