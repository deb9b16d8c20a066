"""Canonical shape → catalog: the same view for a fresh text and for an accepted schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from omnigraph.compiler.catalog.codec import shape_hash
from omnigraph.compiler.catalog.defaults import Default, default_of
from omnigraph.compiler.catalog.model import Annotation, Catalog, Check, EdgeType, Embed, InterfaceType, NodeType, Range
from omnigraph.compiler.catalog.shape import (
    EdgeShape,
    Index,
    InterfaceShape,
    Key,
    NodeShape,
    PropertyShape,
    SchemaShape,
    Unique,
)
from omnigraph.compiler.types import PropType


def assemble(shape: SchemaShape, *, ir_hash: str = "") -> Catalog:
    """The catalog of a shape; identity comes along when the shape carries it."""
    return Catalog(
        nodes={each.name: _node(each) for each in shape.nodes},
        edges={each.name: _edge(each) for each in shape.edges},
        interfaces={each.name: _interface(each) for each in shape.interfaces},
        shape_hash=shape_hash(shape),
        ir_hash=ir_hash,
    )


def _interface(shape: InterfaceShape) -> InterfaceType:
    return InterfaceType(shape.name, _types(shape.properties), shape.type_id, _ids(shape.properties))


def _node(shape: NodeShape) -> NodeType:
    ids = _ids(shape.properties)
    key = _key(shape, ids)
    declared = _columns(shape, Index)
    return NodeType(
        name=shape.name,
        properties=_types(shape.properties),
        unique=_columns(shape, Unique),
        indices=(key, *(each for each in declared if set(each) != set(key))) if key is not None else declared,
        annotations=shape.annotations,
        property_annotations=_annotations(shape.properties),
        defaults=_defaults(shape.properties),
        type_id=shape.type_id,
        incarnation_id=shape.incarnation_id,
        property_ids=ids,
        implements=shape.implements,
        key=key,
        declared_key=_declared_key(shape),
        ranges=tuple(each for each in shape.constraints if isinstance(each, Range)),
        checks=tuple(each for each in shape.constraints if isinstance(each, Check)),
        embeds=_embeds(shape.properties),
        metrics=_metrics(shape.properties),
    )


def _edge(shape: EdgeShape) -> EdgeType:
    return EdgeType(
        name=shape.name,
        properties=_types(shape.properties),
        unique=_columns(shape, Unique),
        indices=_columns(shape, Index),
        annotations=shape.annotations,
        property_annotations=_annotations(shape.properties),
        defaults=_defaults(shape.properties),
        type_id=shape.type_id,
        incarnation_id=shape.incarnation_id,
        property_ids=_ids(shape.properties),
        from_type=shape.from_type,
        to_type=shape.to_type,
        card=shape.card,
    )


def _key(shape: NodeShape, ids: Mapping[str, int]) -> tuple[str, ...] | None:
    # Stored ids list their parts in this order. Names break the tie while no identity exists (every id is 0).
    for each in shape.constraints:
        if isinstance(each, Key):
            return tuple(sorted(each.columns, key=lambda name: (ids[name], name)))
    return None


def _declared_key(shape: NodeShape) -> tuple[str, ...]:
    return next((each.columns for each in shape.constraints if isinstance(each, Key)), ())


def _columns(shape: NodeShape | EdgeShape, kind: type[Unique] | type[Index]) -> tuple[tuple[str, ...], ...]:
    return tuple(each.columns for each in shape.constraints if isinstance(each, kind))


def _types(properties: Iterable[PropertyShape]) -> Mapping[str, PropType]:
    return {each.name: each.type for each in properties}


def _ids(properties: Iterable[PropertyShape]) -> Mapping[str, int]:
    return {each.name: each.property_id for each in properties}


def _annotations(properties: Iterable[PropertyShape]) -> Mapping[str, tuple[Annotation, ...]]:
    return {each.name: each.annotations for each in properties if each.annotations}


def _defaults(properties: Iterable[PropertyShape]) -> dict[str, Default]:
    found = {each.name: default_of(each.type, each.annotations) for each in properties}
    return {name: value for name, value in found.items() if value is not None}


def _embeds(properties: Iterable[PropertyShape]) -> dict[str, Embed]:
    found: dict[str, Embed] = {}
    for prop in properties:
        for each in prop.annotations:
            if each.name == "embed" and each.value is not None:
                found[prop.name] = Embed(each.value, dict(each.kwargs).get("model"))
    return found


def _metrics(properties: Iterable[PropertyShape]) -> dict[str, str]:
    found: dict[str, str] = {}
    for prop in properties:
        if prop.type.is_vector:
            declared = [each.value for each in prop.annotations if each.name == "metric" and each.value]
            found[prop.name] = declared[0] if declared else "l2"
    return found
