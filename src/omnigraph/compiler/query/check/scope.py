"""Names in scope: parameters, node and edge variables share one namespace; `not` blocks nest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from omnigraph.compiler.catalog.model import Catalog, TypeInfo
from omnigraph.compiler.diagnostics import Diagnostic, TypeCheckError, did_you_mean
from omnigraph.compiler.query.checked import EdgeVar, NodeVar, Parameter, Variable
from omnigraph.compiler.source import Source, Span

ANONYMOUS = "_"


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
        self._outer: Mapping[str, Variable] = {} if parent is None else parent.visible()
        self._serial: Iterator[int] = count(1) if parent is None else parent._serial

    def inner(self) -> Scope:
        """The scope of a `not` block."""
        return Scope(self.catalog, self.source, self.params, self)

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

    def info(self, variable: Variable) -> TypeInfo:
        """The declared type a variable ranges over."""
        if isinstance(variable, NodeVar):
            return self.catalog.nodes[variable.type_name]
        assert isinstance(variable, EdgeVar)
        return self.catalog.edges[variable.type_name]

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
