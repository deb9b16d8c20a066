"""What stands in a box: which property is the title of an entity, and in which order its others follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from omnigraph.compiler.catalog.model import Catalog, NodeType, TypeInfo
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.errors import BadRequest
from omnigraph.render.picture import Box

_TITLES = ("name", "title")
_TITLE_ENDS = ("_name", "_title", "Name", "Title")
_LINES_EACH = ((8, 4), (16, 3), (30, 2), (60, 1))  # at most so many boxes: so many lines in each
_SHOWN_TEXT = 36


class Gettable(Protocol):
    """Anything that returns one entity."""

    def get(self, type_name: str, entity_id: str) -> dict[str, Any] | None: ...


@dataclass(frozen=True, slots=True)
class Labels:
    """How entities are labelled; `source` is the schema text, which knows the order of declaration."""

    catalog: Catalog
    wanted: Mapping[str, str] = field(default_factory=dict)  # node type → property
    source: str | None = None

    def box(self, kind: str, entity_id: str, found: Mapping[str, Any], *, lines_each: int = 4) -> Box:
        """An entity: its name, title or key, then its key and its first plain properties."""
        info = self.catalog.nodes[kind]
        names = [name for name in ordered(info, self.source) if _plain(found.get(name))]
        title = self._title(info, names)
        shown = short(", ".join(str(found[name]) for name in title)) if title else entity_id
        lines = tuple(f"{name}: {short(found[name])}" for name in names if name not in title)
        return Box(f"{kind}/{entity_id}", shown, kind, lines[:lines_each], entity_id)

    def boxes(self, graph: Gettable, entities: Iterable[tuple[str, str]]) -> tuple[Box, ...]:
        """The boxes of several entities, each with fewer lines the more there are."""
        chosen = list(entities)
        lines_each = next((lines for most, lines in _LINES_EACH if len(chosen) <= most), 0)
        return tuple(self.box(kind, name, graph.get(kind, name) or {}, lines_each=lines_each) for kind, name in chosen)

    def _title(self, info: NodeType, names: Sequence[str]) -> tuple[str, ...]:
        """The properties that say what an entity is called: the one asked for, its name or title, or its key."""
        asked = [name for name in (self.wanted.get(info.name, ""), *_TITLES) if name in names]
        found = asked or [name for name in names if name.endswith(_TITLE_ENDS) and name not in info.declared_key]
        return tuple(found[:1]) or (info.declared_key if set(info.declared_key) <= set(names) else ())


def labels_of(catalog: Catalog, wanted: str | Iterable[str] = (), source: str | None = None) -> Labels:
    """Labels from `name` or `Type.name`; BadRequest when no type has such a property."""
    chosen: dict[str, str] = {}
    for each in (wanted,) if isinstance(wanted, str) else tuple(wanted):
        kind, _, name = each.rpartition(".")
        if kind and kind not in catalog.nodes:
            near = did_you_mean(kind, catalog.nodes)
            raise BadRequest(
                f"cannot label by '{each}': the schema has no node type '{kind}'{f'; {near}' if near else ''}"
            )
        having = [info.name for info in catalog.nodes.values() if name in info.properties and kind in ("", info.name)]
        if not having:
            known = {each for info in catalog.nodes.values() if kind in ("", info.name) for each in info.properties}
            near = did_you_mean(name, sorted(known))
            raise BadRequest(f"cannot label by '{each}': no such property{f'; {near}' if near else ''}")
        chosen.update(dict.fromkeys(having, name))
    return Labels(catalog, chosen, source)


def ordered(info: TypeInfo, source: str | None) -> tuple[str, ...]:
    """The properties of a type: its key first, the rest as they were declared, those of interfaces last."""
    key = info.declared_key if isinstance(info, NodeType) else ()
    declared = _declared(source).get(info.name, ()) if source is not None else ()
    return tuple(name for name in dict.fromkeys((*key, *declared, *info.properties)) if name in info.properties)


def _declared(source: str) -> dict[str, tuple[str, ...]]:
    return {each.name: tuple(prop.name for prop in each.properties) for each in parse_schema(source).declarations}


def _plain(value: Any) -> bool:
    """Vectors and nulls say nothing to a reader of a picture."""
    return value is not None and not isinstance(value, (list, bytes, dict))


def short(value: Any) -> str:
    """A value on one line that is not too long.

    >>> short("one\\ntwo")
    'one two'
    """
    text = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    return text if len(text) <= _SHOWN_TEXT else text[: _SHOWN_TEXT - 1] + "…"
