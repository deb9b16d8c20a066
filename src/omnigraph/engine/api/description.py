"""What a graph holds at a glance: its types with counts and indexes, its branches and its newest commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.compiler.catalog.steps import type_text
from omnigraph.display import Displayed, DisplayedText, counted, html_table, text_cell
from omnigraph.engine.changes.divergence import Divergence
from omnigraph.engine.maintenance.indexes import IndexReport
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.values.text_table import TextLayout, text_table, value_column
from omnigraph.engine.views.view import View
from omnigraph.memory.sizes import size_text
from omnigraph.storage.lance.version_contents import version_contents


@dataclass(frozen=True, slots=True, repr=False)
class DescribedProperty(Displayed):
    """One property as it is declared; `masked` ones are empty for this reader, whatever is stored."""

    name: str
    type: str
    nullable: bool
    key: bool
    unique: bool
    indexed: bool
    masked: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class DescribedType(Displayed):
    """One type: how many entities it has, how it is declared, and how many of its indexes are built.

    `bytes` is the size of its data files as far as they say it; None where it would tell of masked values.
    """

    kind: str
    name: str
    entities: int
    properties: int
    key: str
    indexes: str
    bytes: int | None = None
    from_type: str | None = None
    to_type: str | None = None
    declared: tuple[DescribedProperty, ...] = ()

    def cells(self) -> tuple[str, str, int, int, str, str]:
        """What a table shows of it."""
        return self.kind, self.name, self.entities, self.properties, self.key, self.indexes


_HEAD = ("kind", "type", "entities", "properties", "key or ends", "indexes")


@dataclass(frozen=True, slots=True, repr=False)
class Description(DisplayedText):
    """A graph at a glance; printed it is a table, in a notebook too."""

    uri: str
    branch: str
    commit: str | None
    types: tuple[DescribedType, ...]
    branches: tuple[str, ...]
    divergence: tuple[Divergence, ...] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """Entities by type."""
        return {each.name: each.entities for each in self.types}

    def document(self) -> dict[str, object]:
        """The same as JSON."""
        names = ("kind", "type", "entities", "properties", "key", "indexes")
        types = [
            {
                **dict(zip(names, each.cells(), strict=True)),
                "bytes": each.bytes,
                "from": each.from_type,
                "to": each.to_type,
                "declared": [asdict(one) for one in each.declared],
            }
            for each in self.types
        ]
        return {
            "uri": self.uri,
            "branch": self.branch,
            "commit": self.commit,
            "types": types,
            "branches": list(self.branches),
            "divergence": [asdict(each) for each in self.divergence],
        }

    def __str__(self) -> str:
        rows = [each.cells() for each in self.types]
        columns = [
            value_column(name, [row[at] for row in rows], [str(row[at]) for row in rows])
            for at, name in enumerate(_HEAD)
        ]
        return "\n".join([self._title(), *(text_table(columns, TextLayout()) if rows else ()), self._tail()])

    def _repr_html_(self) -> str:
        numeric = [name in ("entities", "properties") for name in _HEAD]
        table = html_table(_HEAD, [each.cells() for each in self.types], numeric, text_cell)
        return f"<p>{text_cell('', self._title())}</p>{table}<p>{text_cell('', self._tail())}</p>"

    def _title(self) -> str:
        return f"{self.uri} on branch {self.branch}, commit {self.commit or 'none'}"

    def _tail(self) -> str:
        total = sum(each.entities for each in self.types)
        known = [each.bytes for each in self.types if each.bytes is not None]
        size = f", {size_text(sum(known))}" if known and len(known) == len(self.types) else ""
        entities, types = counted(total, "entity", grouped=True), counted(len(self.types), "type")
        return f"{entities} of {types}{size}; branches: {', '.join(self.branches)}"


def described_types(view: View, indexes: Iterable[IndexReport]) -> Iterator[DescribedType]:
    """Every type that a view shows, nodes before edges, by name."""
    built: dict[str, list[IndexReport]] = {}
    for each in indexes:
        built.setdefault(each.type_key, []).append(each)
    declared = table_types(view.catalog)
    for key, info in sorted(declared.items(), key=lambda each: (isinstance(each[1], EdgeType), each[0])):
        yield _described(view, key, info, built.get(key, []))


def _described(view: View, key: str, info: TableType, indexes: Sequence[IndexReport]) -> DescribedType:
    entry, ready = view.find(info), sum(each.name is not None for each in indexes)
    edge = info if isinstance(info, EdgeType) else None
    return DescribedType(
        kind=key.partition(":")[0],
        name=info.name,
        entities=0 if entry is None else entry.row_count,
        properties=len(info.properties),
        key=f"{edge.from_type} -> {edge.to_type}" if edge else ", ".join(_key(info)),
        indexes=f"{ready} of {len(indexes)}" if indexes else "none",
        bytes=_size(view, info),
        from_type=edge.from_type if edge else None,
        to_type=edge.to_type if edge else None,
        declared=tuple(_properties(view, info)),
    )


def _size(view: View, info: TableType) -> int | None:
    if view.masks(info):
        return None
    if view.find(info) is None:
        return 0
    return sum(file.size or 0 for file in version_contents(view.table(info)))


def _properties(view: View, info: TableType) -> Iterator[DescribedProperty]:
    indexed = {columns[0] for columns in info.indices if len(columns) == 1}
    unique = {columns[0] for columns in info.unique if len(columns) == 1}
    for name, kind in info.properties.items():
        yield DescribedProperty(
            name,
            type_text(kind),
            kind.nullable,
            name in _key(info),
            name in unique,
            name in indexed,
            name in view.masks(info),
        )


def _key(info: TableType) -> tuple[str, ...]:
    return info.declared_key if isinstance(info, NodeType) else ()
