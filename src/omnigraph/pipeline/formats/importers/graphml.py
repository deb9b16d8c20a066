"""GraphML files: declared keys become typed columns; labels as Neo4j, TinkerPop and our own export write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa

from omnigraph.engine.intake.inputs.files import list_files, open_stream
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.importers.bundle import Bundle, Links, Nodes, attributes, bundle, columns_of

# Where writers put the kind of a node or an edge, beside a `labels` or `label` attribute of the element itself.
_LABELS = ("labels", "label", "labelV", "labelE", "type")
_PLAIN = {"int": int, "long": int, "integer": int, "float": float, "double": float}


@dataclass(slots=True)
class _Found:
    """What was read so far: attribute dicts by label."""

    nodes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    links: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    kind: str
    default: str | None


def read_graphml(sources: Sequence[str]) -> Bundle:
    """Nodes and edges of all files together; an edge's own direction wins over the graph's default."""
    found = _Found()
    for source in sources:
        for file in list_files(source, [".graphml", ".xml"]):
            _read(file.path, found)
    nodes = {label: pa.table(columns_of(rows)) for label, rows in found.nodes.items()}
    if not nodes:
        raise BadRequest("the files contain no nodes")
    links = {label: pa.table(columns_of(rows)) for label, rows in found.links.items()}
    return bundle(
        [Nodes(label, rows) for label, rows in nodes.items()], [Links(label, rows) for label, rows in links.items()]
    )


def _read(path: str, found: _Found) -> None:
    keys: dict[str, _Key] = {}
    try:
        with open_stream(path) as file:
            for element in _elements(file):
                match _tag(element):
                    case "key":
                        name = str(element.get("attr.name") or element.get("id", ""))
                        default = next((each.text for each in element if _tag(each) == "default"), None)
                        keys[element.get("id", "")] = _Key(name, element.get("attr.type", "string"), default)
                    case "node":
                        data = _data(path, element, keys, "node")
                        label = _label(element, data, "Node")
                        # Ids of a file are unique in it, ours within a type: an export keeps ours as data.
                        own = str(data.pop("id", element.get("id", "")))
                        found.places[element.get("id", "")] = (label, own)
                        found.nodes.setdefault(label, []).append({"id": own, **attributes(data)})
                    case "edge":
                        data = _data(path, element, keys, "edge")
                        label = _label(element, data, "Edge")
                        found.links.setdefault(label, []).append(_ends(path, element, found) | attributes(data))
    except ElementTree.ParseError as error:
        raise BadRequest(f"'{path}' is not XML: {error}") from error


def _elements(file: Any) -> Iterator[ElementTree.Element]:
    """Keys, nodes and edges as they are complete; what was handed out is forgotten, so a large file stays small."""
    for _, element in ElementTree.iterparse(file, events=("end",)):
        if _tag(element) in ("key", "node", "edge"):
            yield element
            element.clear()


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _data(path: str, element: ElementTree.Element, keys: dict[str, _Key], kind: str) -> dict[str, Any]:
    given = {each.get("key", ""): each.text or "" for each in element if _tag(each) == "data"}
    if _own_label(element):
        # Neo4j says it twice: in an attribute of the element, and as data under a key of that very name.
        given = {identity: text for identity, text in given.items() if identity not in _LABELS}
    found: dict[str, Any] = {}
    for identity, text in given.items():
        key = keys.get(identity, _Key(identity, "string", None))
        found[key.name] = _value(path, key, text)
    for identity, key in keys.items():
        if key.default is not None and identity not in given and kind == "node":
            found.setdefault(key.name, _value(path, key, key.default))
    return found


def _ends(path: str, element: ElementTree.Element, found: _Found) -> dict[str, str]:
    ends: dict[str, str] = {}
    for name, attribute in (("from", "source"), ("to", "target")):
        place = found.places.get(element.get(attribute, ""))
        if place is None:
            raise BadRequest(
                f"'{path}': an edge has '{element.get(attribute)}' as its {attribute}, which is not a node"
            )
        ends |= {name: place[1], f"{name}_label": place[0]}
    return ends


def _value(path: str, key: _Key, text: str) -> Any:
    try:
        if key.kind == "boolean":
            return {"true": True, "false": False, "1": True, "0": False}[text.strip().lower()]
        return _PLAIN.get(key.kind, str)(text)
    except (ValueError, KeyError):
        raise BadRequest(f"'{path}': '{text}' is not a value of {key.kind}, the type of '{key.name}'") from None


def _label(element: ElementTree.Element, data: dict[str, Any], default: str) -> str:
    """The first label; where the element itself has none it is taken out of the data, and is not a property then."""
    inside = next((name for name in _LABELS if isinstance(data.get(name), str)), None)
    given = _own_label(element) or (data.pop(inside) if inside is not None else "")
    parts = [part for part in given.split(":") if part]
    return parts[0] if parts else default


def _own_label(element: ElementTree.Element) -> str:
    return element.get("labels") or element.get("label") or ""
