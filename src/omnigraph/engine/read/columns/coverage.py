"""Which indexes a table has at one version, and whether one answers a predicate without looking at every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from omnigraph.compiler.ir import expr as ir
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.lance.tables import IndexInfo

ORDERED = "BTREE"
_INDEXES: CacheKind[Mapping[tuple[str, str], IndexInfo]] = CacheKind(
    "indexes of tables", lambda found: 1_024 * (len(found) + 1), share=1 / 16, entries=1_024
)


def index_on(entities: Entities, name: str, index_type: str) -> IndexInfo | None:
    """The index of a type on a column at this version; none under another schema, where names may mean others."""
    if not entities.as_named:
        return None
    known = entities.memory.cache(_INDEXES)
    found = known.get(entities.version_key)
    if found is None:
        indexes = entities.handle.indices()
        found = {(each.columns[0], each.index_type.upper()): each for each in indexes if len(each.columns) == 1}
        known.put(entities.version_key, found)
    return found.get((name, index_type))


def selective(entities: Entities, predicates: Iterable[ir.Condition]) -> bool:
    """Whether an ordered index that covers every row answers an equality, a list or a prefix among the predicates."""
    return any(_is_covered(entities, name) for predicate in predicates for name in _looked_up(predicate))


def _looked_up(predicate: ir.Condition) -> Iterable[str]:
    match predicate:
        case ir.Compare("=", ir.Property(name=name), ir.Const() | ir.Param()):
            yield name
        case ir.In(ir.Property(name=name), ir.Const() | ir.Param(), negated=False):
            yield name
        case ir.TextTest("starts_with", ir.Property(name=name), ir.Const() | ir.Param()):
            yield name


def _is_covered(entities: Entities, name: str) -> bool:
    index = index_on(entities, name, ORDERED)
    return index is not None and entities.handle.fragment_ids() <= index.fragments
