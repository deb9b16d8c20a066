"""Names in scope: parameters, node, edge and path variables share one namespace; blocks nest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, TypeInfo
from omnigraph.compiler.diagnostics import Diagnostic, TypeCheckError, did_you_mean
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query.checked import (
    EdgeVar,
    ExistsMatch,
    NodeVar,
    Parameter,
    PathVar,
    RowVar,
    Variable,
)
from omnigraph.compiler.source import Source, Span
from omnigraph.compiler.types import PropType, union_members

ANONYMOUS = "_"
_LISTED = 8
_IDS = PropType("String", list=True)
# What every path has, beside the values along it.
PATH = TypeInfo("a path", {"length": PropType("I64"), "nodes": _IDS, "edges": _IDS})
_ROW = TypeInfo("a row", {})


class Scope:
    """The variables one clause list may use, and the way to report what it may not."""

    def __init__(
        self,
        catalog: Catalog,
        source: Source,
        params: Mapping[str, Parameter],
        parent: Scope | None = None,
    ) -> None:
        self.catalog = catalog
        self.source = source
        self.params = params
        self.local: dict[str, Variable] = {}
        # Values with a name but no variable: columns of the stage before, and items of lists.
        self.columns: dict[str, ir.Property] = {} if parent is None else dict(parent.columns)
        self.marks: list[ExistsMatch] = []
        self._marked: dict[ExistsMatch, str] = {}
        self.dropped: frozenset[str] = frozenset() if parent is None else parent.dropped  # by the stages before
        self.partial: dict[str, Span] = {}  # bound in some alternatives of an `either` block only
        self.narrowed: Mapping[str, NodeVar] = {}  # what its bindings say together about a variable of this list
        self._outer: Mapping[str, Variable] = {} if parent is None else parent.visible()
        self._serial: Iterator[int] = count(1) if parent is None else parent._serial

    def inner(self) -> Scope:
        """The scope of a block."""
        return Scope(self.catalog, self.source, self.params, self)

    def beside(self) -> Scope:
        """A scope that knows the same parameters and nothing else; hidden names stay different."""
        scope = Scope(self.catalog, self.source, self.params)
        scope._serial = self._serial
        return scope

    def visible(self) -> dict[str, Variable]:
        """Every variable that a clause here may read."""
        return {**self._outer, **self.local}

    def find(self, name: str) -> Variable | None:
        """The node or edge variable of this name."""
        return self.local.get(name) or self._outer.get(name)

    def is_outer(self, name: str) -> bool:
        """Whether the variable belongs to an enclosing list."""
        return name in self._outer

    def bind(self, name: str, variable: Variable) -> None:
        """Introduce a variable here."""
        self.local[name] = variable

    def resolve(self, name: str) -> str:
        """The internal name: each `$_` is a fresh hidden variable."""
        return f"_#{next(self._serial)}" if name == ANONYMOUS else name

    def mark(self, found: ExistsMatch) -> str:
        """The hidden variable that has the answer of a pattern; equal patterns share one."""
        known = self._marked.get(found)
        if known is None:
            known = self._marked[found] = self.fresh("exists" if found.call is None else "fold")
            self.marks.append(replace(found, var=known))
        return known

    def fresh(self, what: str) -> str:
        """A hidden name that no other variable of the query has."""
        return f"{what}#{next(self._serial)}"

    def info(self, variable: Variable) -> TypeInfo:
        """What can be read of a variable: its declared type, its interface, or what a union has in common."""
        match variable:
            case PathVar():
                return self._path(variable)
            case RowVar():
                return _ROW
            case NodeVar(_, str() as name):
                return NodeType(name, self.catalog.interfaces[name].properties)
            case NodeVar(name) if name in self.catalog.nodes:
                return self.catalog.nodes[name]
            case NodeVar(name):
                return NodeType(name, _shared([self.catalog.nodes[each] for each in union_members(name)]))
            case EdgeVar(name) if name in self.catalog.edges:
                return self.catalog.edges[name]
            case EdgeVar(name):
                return EdgeType(name, _shared([self.catalog.edges[each] for each in union_members(name)]))

    def _path(self, path: PathVar) -> TypeInfo:
        """What can be read of a path: ids, and the values of properties along it as lists."""
        found = dict(PATH.properties)
        if path.has_cost:
            found["cost"] = PropType("F64")
        for word, kind in (("nodes", NodeVar(path.nodes)), ("edges", EdgeVar(path.edges))):
            for name, each in self.info(kind).properties.items():
                if each.is_plain_scalar and each.scalar != "Blob":
                    found[f"{word}.{name}"] = replace(each, list=True, nullable=False)
        return TypeInfo("a path", found)

    def refuse_parameter(self, name: str, span: Span) -> None:
        """A variable may not carry the name of a parameter."""
        if name in self.params:
            raise self.error("T33", f"${name} is a parameter and cannot be bound as well", span, "rename the variable")

    def error(self, code: str, message: str, span: Span, help: str | None = None) -> TypeCheckError:
        """The error to raise for the first thing that is wrong."""
        return TypeCheckError(Diagnostic(code, message, span, help), self.source)

    @staticmethod
    def suggest(name: str, among: Iterable[str]) -> str | None:
        """Help for a misspelled name."""
        return did_you_mean(name, among)

    @staticmethod
    def suggest_or_list(name: str, among: Sequence[str], what: str) -> str | None:
        """The same; where nothing is near, what there is, unless that is much."""
        few = f"the {what} are {', '.join(among)}" if 1 < len(among) <= _LISTED else None
        only = f"the only one is {among[0]}" if len(among) == 1 else None
        return did_you_mean(name, among) or few or only


def _shared(types: Sequence[TypeInfo]) -> Mapping[str, PropType]:
    """The properties that all types have, with one type each; null where any of them may be null."""
    found: dict[str, PropType] = {}
    for name in types[0].properties if types else ():
        kinds = [info.properties[name] for info in types if name in info.properties]
        if len(kinds) == len(types) and len({kind.with_nullable(False) for kind in kinds}) == 1:
            found[name] = kinds[0].with_nullable(any(kind.nullable for kind in kinds))
    return found
