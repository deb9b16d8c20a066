"""Stored queries: named texts of a graph, described without its schema and compiled when they are invoked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.compiler.query.ast import Query
from omnigraph.compiler.query.descriptor import describe_type
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.source import Source
from omnigraph.errors import BadRequest


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """One query that callers invoke by name."""

    name: str
    source: Source
    query: Query

    @property
    def is_mutation(self) -> bool:
        return self.query.is_mutation

    def to_json(self) -> dict[str, Any]:
        """Its entry in the catalog."""
        notes = {"description": self.query.description, "instruction": self.query.instruction}
        return {
            "name": self.name,
            "tool_name": self.name,
            **{key: text for key, text in notes.items() if text is not None},
            "mutation": self.is_mutation,
            "params": [
                {
                    "name": param.name,
                    **describe_type(param.type),
                    "nullable": param.type.nullable,
                    "has_default": param.default is not None,
                }
                for param in self.query.params
            ],
        }


def registry(sources: Mapping[str, str]) -> dict[str, StoredQuery]:
    """Stored queries by name, in name order; each text must declare the query it is named after."""
    return {name: _declared(name, Source(sources[name], name)) for name in sorted(sources)}


def declared_in(sources: Iterable[Source]) -> dict[str, str]:
    """Every query of some texts, by name; a name may occur once."""
    found: dict[str, str] = {}
    for source in sources:
        for query in parse_queries(source).queries:
            if query.name in found:
                raise BadRequest(f"{source.name}: the query '{query.name}' is declared twice")
            found[query.name] = source.text
    return found


def _declared(name: str, source: Source) -> StoredQuery:
    for query in parse_queries(source).queries:
        if query.name == name:
            return StoredQuery(name, source, query)
    raise BadRequest(f"the text of the stored query '{name}' declares no query of that name")
