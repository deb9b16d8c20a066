"""The front end in one place: text and catalog in, checked query and plan out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.catalog.accepted import compile_schema
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.ir.lower import lower
from omnigraph.compiler.ir.ops import Plan
from omnigraph.compiler.ir.optimize import optimize
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.checked import Checked, Parameter
from omnigraph.compiler.query.params import ParamValue, bind_params
from omnigraph.compiler.query.parse import SYNTAX, parse_queries
from omnigraph.compiler.query.typecheck import check_query, refuse_repeated_name
from omnigraph.compiler.source import Source
from omnigraph.errors import BadRequest, QueryNotFound

__all__ = ["CompiledQuery", "compile_query", "compile_schema", "compile_uncached"]

_CACHE_ENTRIES = 256
# A longer text is compiled each time, so that the cache stays small whatever is sent.
_CACHE_TEXT = 64 * 1024


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """One query, ready to run: bind its parameters, then execute its plan."""

    checked: Checked
    plan: Plan

    @property
    def name(self) -> str:
        """The query's name."""
        return self.checked.name

    @property
    def is_mutation(self) -> bool:
        """Whether it writes."""
        return self.checked.is_mutation

    @property
    def params(self) -> tuple[Parameter, ...]:
        """The declared parameters."""
        return self.checked.params

    def bind(self, given: Mapping[str, object] | None) -> dict[str, ParamValue]:
        """Parameter values from JSON (P001–P007)."""
        return bind_params(self.checked.query, given)


def compile_query(
    text: Source | str | bytes, catalog: Catalog, name: str | None = None, *, mutation: bool | None = None
) -> CompiledQuery:
    """The named query of a text, or its only one; CompileError or QueryNotFound (R001) when there is none.

    Refused when it is not of the wanted kind (R002), before anything else is said about its body.
    """
    source = to_source(text, code=SYNTAX)
    key = _cache_key(source, catalog, name)
    found = _cache.get(key) if key is not None else None
    if found is not None:
        _require_kind(found.checked.query, mutation)
        return found
    found = compile_uncached(source, catalog, name, mutation=mutation)
    if key is not None:
        _cache.put(key, found)
    return found


def compile_uncached(
    source: Source, catalog: Catalog, name: str | None = None, *, mutation: bool | None = None
) -> CompiledQuery:
    """What `compile_query` does on a miss."""
    query = _pick(parse_queries(source), name, source)
    _require_kind(query, mutation)
    checked = check_query(query, catalog, source)
    return CompiledQuery(checked, optimize(lower(checked)))


def _pick(file: ast.QueryFile, name: str | None, source: Source) -> ast.Query:
    if name is None and len(file.queries) == 1:
        return file.queries[0]
    same = tuple(query for query in file.queries if query.name == name)
    if not same:
        raise QueryNotFound(name, [query.name for query in file.queries])
    refuse_repeated_name(same, source)
    return same[0]


def _require_kind(query: ast.Query, mutation: bool | None) -> None:
    if mutation is not None and query.is_mutation != mutation:
        kind, other = ("mutation", "a read") if query.is_mutation else ("read", "a mutation")
        raise BadRequest(f"R002: query '{query.name}' is a {kind}, not {other}", code="R002")


_Key: TypeAlias = tuple[str, str, str, str | None]


def _cache_key(source: Source, catalog: Catalog, name: str | None) -> _Key | None:
    if not catalog.shape_hash or len(source.text) > _CACHE_TEXT:
        return None
    return source.text, catalog.shape_hash, catalog.ir_hash, name


class _Cache:
    """Compiled queries, least recently used first out; safe to share between threads."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._lock = threading.Lock()
        self._found: OrderedDict[_Key, CompiledQuery] = OrderedDict()

    def get(self, key: _Key) -> CompiledQuery | None:
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: _Key, compiled: CompiledQuery) -> None:
        with self._lock:
            self._found[key] = compiled
            self._found.move_to_end(key)
            while len(self._found) > self._entries:
                self._found.popitem(last=False)

    def __len__(self) -> int:
        return len(self._found)


_cache = _Cache(_CACHE_ENTRIES)
