"""What retrievers of every framework share: a query that takes a text, and its rows as passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnigraph.errors import BadRequest

_SCORES = ("score", "_score")


@dataclass(frozen=True, slots=True)
class Passage:
    """One row: the text of it, the rest as metadata, and its rank value where it has a column for that."""

    text: str
    metadata: dict[str, Any]
    score: float | None


@dataclass(frozen=True, slots=True)
class QueryCall:
    """A query that is run for each text: a stored one of a served graph, or one of a file or text.

    `parameter` takes the text, `params` are the same every time, and `content` is the column that is the passage.
    """

    graph: Any
    name: str | None
    content: str
    source: str | Path | None = None
    parameter: str = "text"
    params: Mapping[str, Any] = field(default_factory=dict)

    def passages(self, text: str) -> list[Passage]:
        """The rows for a text, in the order of the query."""
        params = {**self.params, self.parameter: text}
        if self.source is not None:
            found = self.graph.query(self.source, self.name, params)
        elif hasattr(self.graph, "queries"):
            found = self.graph.queries.run(self.name, params)
        else:
            raise BadRequest("only a served graph has stored queries; pass source=, a .gq file or a query")
        if self.content not in found.columns:
            raise BadRequest(f"the query returns no column '{self.content}'; it returns {', '.join(found.columns)}")
        return [_passage(row, self.content) for row in found.rows()]


def _passage(row: dict[str, Any], content: str) -> Passage:
    rest = {name: value for name, value in row.items() if name != content}
    score = next((rest[name] for name in _SCORES if isinstance(rest.get(name), (int, float))), None)
    return Passage("" if row[content] is None else str(row[content]), rest, score)
