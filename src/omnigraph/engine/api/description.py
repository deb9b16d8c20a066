"""What a graph holds at a glance: its types with counts and indexes, its branches and its newest commit."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.engine.values.text_table import TextLayout, text_table, value_column


@dataclass(frozen=True, slots=True)
class DescribedType:
    """One type: how many entities it has, how it is declared, and how many of its indexes are built."""

    kind: str
    name: str
    entities: int
    properties: int
    key: str
    indexes: str

    def cells(self) -> tuple[str, str, int, int, str, str]:
        """What a table shows of it."""
        return self.kind, self.name, self.entities, self.properties, self.key, self.indexes


_HEAD = ("kind", "type", "entities", "properties", "key or ends", "indexes")


@dataclass(frozen=True, slots=True)
class Description:
    """A graph at a glance; printed it is a table, in a notebook too."""

    uri: str
    branch: str
    commit: str | None
    types: tuple[DescribedType, ...]
    branches: tuple[str, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """Entities by type."""
        return {each.name: each.entities for each in self.types}

    def document(self) -> dict[str, object]:
        """The same as JSON."""
        names = ("kind", "type", "entities", "properties", "key", "indexes")
        types = [dict(zip(names, each.cells(), strict=True)) for each in self.types]
        return {
            "uri": self.uri,
            "branch": self.branch,
            "commit": self.commit,
            "types": types,
            "branches": list(self.branches),
        }

    def __str__(self) -> str:
        rows = [each.cells() for each in self.types]
        columns = [
            value_column(name, [row[at] for row in rows], [str(row[at]) for row in rows])
            for at, name in enumerate(_HEAD)
        ]
        return "\n".join([self._title(), *(text_table(columns, TextLayout()) if rows else ()), self._tail()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in _HEAD)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in each.cells()) + "</tr>"
            for each in self.types
        )
        title, tail = html.escape(self._title()), html.escape(self._tail())
        return f"<p>{title}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{tail}</p>"

    def _title(self) -> str:
        return f"{self.uri} on branch {self.branch}, commit {self.commit or 'none'}"

    def _tail(self) -> str:
        total = sum(each.entities for each in self.types)
        return f"{total:,} entities of {len(self.types)} types; branches: {', '.join(self.branches)}"
