"""Short texts about what a name stands for: types, properties, edges and functions, as Markdown."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import Annotation, EdgeType, InterfaceType, NodeType, TypeInfo
from omnigraph.compiler.functions import AGGREGATES, FUNCTIONS
from omnigraph.compiler.functions.search import SPECIAL
from omnigraph.compiler.functions.windows import WINDOWS


def call_text(name: str) -> str:
    """The signature of a function or aggregate, what it does, and an example."""
    function = FUNCTIONS.get(name)
    if function is not None:
        return f"{function.signature}\n\n{function.summary}\n\n`{function.example}` is `{function.answer}`"
    aggregate = AGGREGATES.get(name)
    if aggregate is not None:
        more = "".join(f", {each}" for each in aggregate.more)
        head = f"{name}({aggregate.takes}{more}) -> {aggregate.gives}"
        return f"{head}\n\n{aggregate.summary}\n\n`{aggregate.example}` is `{aggregate.answer}`"
    window = WINDOWS.get(name)
    if window is not None:
        return f"{window.call} -> {window.gives}\n\n{window.summary}\n\n`{window.example}`"
    special = SPECIAL.get(name)
    if special is None:
        return f"{name}(…)"
    example = f"\n\n`{special.example}` is `{special.answer}`" if special.example else ""
    return f"{special.signature}\n\n{special.summary}{example}"


def node_text(node: NodeType | InterfaceType) -> str:
    """A node type or interface with its properties."""
    word = "interface" if isinstance(node, InterfaceType) else "node"
    parents = node.implements if isinstance(node, NodeType) else ()
    head = f"{word} {node.name}" + (f" implements {', '.join(parents)}" if parents else "")
    return _with_properties(head, node)


def edge_text(edge: EdgeType) -> str:
    """An edge type with its ends and properties."""
    high = "" if edge.card.max is None else edge.card.max
    card = f" @card({edge.card.min}..{high})" if edge.card.min or edge.card.max is not None else ""
    return _with_properties(f"edge {edge.name}: {edge.from_type} -> {edge.to_type}{card}", edge)


def property_text(info: TypeInfo, name: str) -> str:
    """A property with its type, its annotations and its description."""
    if name == "id" and name not in info.properties:
        return "id: String\n\nWhat identifies the entity in the whole graph."
    annotations = info.property_annotations.get(name, ())
    marks = [f" @{each.name}" for each in annotations if each.name not in ("description", "instruction")]
    if isinstance(info, NodeType) and name in (info.key or ()):
        marks.insert(0, " @key")
    return f"{name}: {info.properties[name]}{''.join(dict.fromkeys(marks))}{_described(annotations)}"


def _with_properties(head: str, info: TypeInfo | InterfaceType) -> str:
    described = _described(info.annotations) if isinstance(info, TypeInfo) else ""
    listed = "".join(f"\n- `{name}: {kind}`" for name, kind in info.properties.items())
    return f"{head}{described}" + (f"\n{listed}" if listed else "")


def _described(annotations: tuple[Annotation, ...]) -> str:
    texts = [each.value for each in annotations if each.name == "description" and each.value]
    return "".join(f"\n\n{text}" for text in texts)
