"""Walking plans and expressions: every stage that looks inside nodes does it through here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.compiler.types import PropType

NodeT = TypeVar("NodeT")


def expressions(node: object) -> Iterator[object]:
    """The node and every node inside it, depth first."""
    yield node
    for child in children(node):
        yield from expressions(child)


def rebuild(node: NodeT, change: Callable[[Any], Any]) -> NodeT:
    """The node with `change` applied to each child; the same object when nothing changed."""
    if type(node) in _LEAVES:
        return node
    updates: dict[str, Any] = {}
    for name in _names(type(node)):
        value = getattr(node, name)
        if type(value) is tuple:
            changed = tuple([change(item) if _names(type(item)) else item for item in value])
            if any(new is not old for new, old in zip(changed, value, strict=True)):
                updates[name] = changed
        elif _names(type(value)):
            new = change(value)
            if new is not value:
                updates[name] = new
    return replace(node, **updates) if updates else node  # type: ignore[type-var]


def variables(node: object) -> frozenset[str]:
    """Variables whose columns the expression or condition reads."""
    found: set[str] = set()
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, _READS_A_VARIABLE):
            found.add(part.var)
        if type(part) not in _LEAVES:
            pending.extend(children(part))
    return frozenset(found)


def properties(node: object) -> Iterator[tuple[str, str]]:
    """(variable, column) pairs that the expression or condition reads."""
    match node:
        case ir.Property(var, name) | ir.Nearest(var, name) | ir.Bm25(var, name):
            yield var, name
        case ir.Node(var, _, names):
            yield var, "id"
            for name in names:
                yield var, name
        case ir.SameNode():
            return  # identity is the row id, which every frame carries
        case ir.AggregateCall("count", ir.Node()):
            yield from (read for part in (node.where, node.key) for read in properties(part))
            return
    for child in children(node):
        yield from properties(child)


_READS_A_VARIABLE = (ir.Property, ir.Node, ir.Nearest, ir.Bm25)


def children(node: object) -> list[object]:
    """The nodes directly inside a node."""
    found: list[object] = []
    if type(node) in _LEAVES:
        return found
    for name in _names(type(node)):
        value = getattr(node, name)
        if type(value) is tuple:
            found.extend(item for item in value if _names(type(item)))
        elif _names(type(value)):
            found.append(value)
    return found


# Nothing inside them is a node; a constant may be a list of very many values.
_LEAVES = frozenset({ir.Const, ir.Param, ir.Now, ir.Property, ir.Score})

# Types and dates are values, not parts of a tree. Empty for whatever has no parts.
_FIELDS: dict[type, tuple[str, ...]] = dict.fromkeys((PropType, ir.NodeObject, Date, DateTime), ())


def _names(kind: type) -> tuple[str, ...]:
    known = _FIELDS.get(kind)
    if known is None:
        known = _FIELDS[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
    return known
