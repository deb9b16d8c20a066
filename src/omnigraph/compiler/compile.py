"""The front end in one place: text and catalog in, checked query and plan out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from omnigraph.compiler.catalog.accepted import compile_schema
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.ir.lower import lower
from omnigraph.compiler.ir.optimize import optimize
from omnigraph.compiler.ir.plan import Plan
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.checked import Checked, Parameter
from omnigraph.compiler.query.params import ParamValue, bind_params
from omnigraph.compiler.query.parse import SYNTAX, declare_advice, is_bare, parse_runnable
from omnigraph.compiler.query.typecheck import check_query, refuse_repeated_name
from omnigraph.compiler.source import Source
from omnigraph.errors import BadRequest, QueryNotFound
from omnigraph.memory.budget import NOTHING_KEPT, MemoryBudget
from omnigraph.memory.cache import CacheKind

__all__ = ["CompiledQuery", "compile_query", "compile_schema", "known_query"]

# A longer text is compiled each time, so that the cache stays small whatever is sent.
_CACHE_TEXT = 64 * 1024


# What trees and plans take for each character of their text, about, and at least.
_BYTES_PER_CHARACTER, _LEAST_BYTES = 64, 16 << 10


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
    text: Source | str | bytes,
    catalog: Catalog,
    name: str | None = None,
    *,
    mutation: bool | None = None,
    memory: MemoryBudget = NOTHING_KEPT,
) -> CompiledQuery:
    """The named query of a text, or its only one; CompileError or QueryNotFound (R001) when there is none.

    Refused when it is not of the wanted kind (R002), before anything else is said about its body. What was compiled is
    kept in `memory`.
    """
    source = to_source(text, code=SYNTAX)
    kept = known_query(source, catalog, name, memory)
    if kept is not None:
        _require_kind(kept.checked.query, mutation)
        return kept
    found, key = _compiled(source, catalog, name, mutation=mutation), _cache_key(source, catalog, name)
    if key is not None:
        memory.cache(_COMPILED).put(key, _Kept(found, len(source.text)))
    return found


def known_query(source: Source, catalog: Catalog, name: str | None, memory: MemoryBudget) -> CompiledQuery | None:
    """The named query of a text if it was compiled before and is still kept."""
    key = _cache_key(source, catalog, name)
    kept = None if key is None else memory.cache(_COMPILED).get(key)
    return None if kept is None else kept.query


def _compiled(source: Source, catalog: Catalog, name: str | None, *, mutation: bool | None) -> CompiledQuery:
    query = _pick(parse_runnable(source), name, source)
    _require_kind(query, mutation)
    try:
        checked = check_query(query, catalog, source)
    except CompileError as error:
        raise (_advised(error, source) if is_bare(source.text) else error) from None
    return CompiledQuery(checked, optimize(lower(checked)))


def _advised(error: CompileError, source: Source) -> CompileError:
    """A complaint about a body alone, with what to do where it lacks a parameter."""
    found = error.diagnostic
    advice = found.help or declare_advice(found.message)
    return type(error)(replace(found, help=advice), source)


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


class _Kept(NamedTuple):
    query: CompiledQuery
    length: int  # of its text


def _bytes(kept: _Kept) -> int:
    return max(_LEAST_BYTES, _BYTES_PER_CHARACTER * kept.length)


_COMPILED: CacheKind[_Kept] = CacheKind("compiled queries", _bytes, share=1 / 16, largest=1.0, entries=256)
