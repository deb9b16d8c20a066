"""A view for a reader who may not see everything: types it hides do not exist in it, properties it masks are null.

Nothing downstream has to know. A query is compiled against a catalog without the hidden types, so it can neither name
nor reach them; a masked property is a column that this view does not have, so no operator, index or cache can use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TypeAlias

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.views.view import View
from omnigraph.errors import PolicyFailed
from omnigraph.memory.cache import CacheKind
from omnigraph.policy.visibility import Visibility
from omnigraph.storage.manifest.snapshot import TableIdentity

_Shown: TypeAlias = tuple[Catalog, Mapping[str, frozenset[str]]]

_CATALOGS: CacheKind[_Shown] = CacheKind("restricted catalogs", lambda shown: 64 << 10, entries=256)


def restricted(view: View, visibility: Visibility) -> View:
    """The view as this reader sees it; PolicyFailed when the rules name what the schema does not have."""
    catalog, masked = _catalog(view, visibility)
    shown = {_identity(info) for info in table_types(catalog).values()}
    entries = {key: entry for key, entry in view.snapshot.entries.items() if entry.identity in shown}
    return replace(view, snapshot=replace(view.snapshot, entries=entries), catalog=catalog, masked=masked)


def _catalog(view: View, visibility: Visibility) -> _Shown:
    catalogs, whole = view.tables.memory.cache(_CATALOGS), view.catalog
    return catalogs.get_or_build(
        (whole.ir_hash, visibility), lambda: (_visible(whole, visibility), masks_of(whole, visibility))
    )


def _visible(catalog: Catalog, visibility: Visibility) -> Catalog:
    nodes = {name: info for name, info in catalog.nodes.items() if visibility.shows(name)}
    edges = {name: info for name, info in catalog.edges.items() if visibility.shows(name) and _ends_in(info, nodes)}
    used = {name for info in nodes.values() for name in info.implements}
    interfaces = {name: info for name, info in catalog.interfaces.items() if name in used}
    # Compiled queries and layouts are remembered by these hashes; each restriction is a catalog of its own.
    mark = sha256(
        repr((visibility.types and sorted(visibility.types), sorted(_spelled(visibility)))).encode()
    ).hexdigest()
    hashes = {"shape_hash": f"{catalog.shape_hash}/{mark}", "ir_hash": f"{catalog.ir_hash}/{mark}"}
    return Catalog(nodes, edges, interfaces, **hashes)


def _ends_in(edge: EdgeType, nodes: Mapping[str, NodeType]) -> bool:
    return edge.from_type in nodes and edge.to_type in nodes


def without_loose_edges(visibility: Visibility, catalog: Catalog) -> Visibility:
    """The same without the edge types that end at a hidden node type: counts of them would tell of its nodes."""
    if visibility.types is None:
        return visibility
    nodes = {name: info for name, info in catalog.nodes.items() if visibility.shows(name)}
    loose = {name for name, info in catalog.edges.items() if name not in nodes and not _ends_in(info, nodes)}
    return replace(visibility, types=visibility.types - loose)


def _spelled(visibility: Visibility) -> list[tuple[str, list[str]]]:
    return [(name, sorted(properties)) for name, properties in visibility.masked]


def visible_under(visibility: Visibility, now: Catalog, then: Catalog) -> Visibility:
    """What the rules, which speak of the schema of now, show under another one: the same things by identity.

    What the schema of now does not have was never judged by a policy: such types are hidden, such properties masked.
    """
    if now.ir_hash == then.ir_hash:
        return visibility
    masks = masks_of(now, visibility)
    known = {_identity(info): info for info in table_types(now).values()}
    shown: dict[str, bool] = {}
    masked: dict[str, frozenset[str]] = {}
    for info in table_types(then).values():
        current = known.get(_identity(info))
        visible = current is not None and visibility.shows(current.name)
        shown[info.name] = shown.get(info.name, True) and visible  # a node and an edge type may share a name
        if current is None or not visible:
            continue
        bare = {current.property_ids[name] for name in current.properties.keys() - masks.get(current.name, frozenset())}
        hidden = frozenset(name for name, identity in info.property_ids.items() if identity not in bare)
        if hidden:
            masked[info.name] = masked.get(info.name, frozenset()) | hidden
    names = frozenset(name for name, visible in shown.items() if visible)
    return Visibility(names, frozenset((name, hidden) for name, hidden in masked.items() if name in names))


def _identity(info: TableType) -> TableIdentity:
    return TableIdentity(info.type_id, info.incarnation_id)


def masks_of(catalog: Catalog, visibility: Visibility) -> Mapping[str, frozenset[str]]:
    """The masked properties by type; a rule that fits the schema no longer shows nothing rather than too much."""
    masks: dict[str, frozenset[str]] = {}
    for name, properties in visibility.masked:
        info = catalog.nodes.get(name) or catalog.edges.get(name)
        unknown = sorted(properties if info is None else properties - info.properties.keys())
        if info is None or unknown:
            what = f"'{name}'" if info is None else f"'{name}.{unknown[0]}'"
            raise PolicyFailed(f"a rule masks {what}, which the schema does not have")
        masks[name] = properties
        if isinstance(info, NodeType):
            if properties & set(info.key or ()):
                raise PolicyFailed(f"a rule masks the key of '{name}', which its ids would still show")
            # A vector made from a masked text says what the text is about.
            masks[name] |= {target for target, embed in info.embeds.items() if embed.source in properties}
    return masks
