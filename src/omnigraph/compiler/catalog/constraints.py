"""Constraints of one type: property-level marks and body forms, checked against the properties they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from omnigraph.compiler.catalog.defaults import NAME as DEFAULT
from omnigraph.compiler.catalog.expand import Effective
from omnigraph.compiler.catalog.model import Check, Range
from omnigraph.compiler.catalog.shape import Constraint, Index, Key, Kind, Unique, canonical_constraints
from omnigraph.compiler.diagnostics import SchemaError, did_you_mean, fail
from omnigraph.compiler.regex import regex_problem
from omnigraph.compiler.schema import ast
from omnigraph.compiler.source import Source, Span
from omnigraph.compiler.types import PropType

_ENDPOINTS = ("src", "dst")
_NODES_ONLY = frozenset({"key", "range", "check"})
# Longer than any number that fits a double, short enough for float() and int() to stay cheap.
_MAX_DIGITS = 400
# RE2 would refuse a pattern of megabytes too, but only after logging a line per subexpression.
_LONGEST_PATTERN = 32_768


class ConstraintReader:
    """Collects the constraints of one node or edge."""

    def __init__(self, kind: Kind, owner: str, properties: Mapping[str, Effective], source: Source) -> None:
        self._kind = kind
        self._owner = owner
        self._properties = properties
        self._source = source
        self._found: list[Constraint] = []

    def mark(self, name: str, prop: str, span: Span) -> None:
        """A property-level @key, @unique or @index."""
        self._check_kind(name, span)
        self._columns(name, [(prop, span)], span)

    def body(self, constraint: ast.Constraint) -> None:
        """A constraint from the body."""
        self._check_kind(constraint.name, constraint.span)
        match constraint.name:
            case "range":
                self._range(constraint)
            case "check":
                self._check(constraint)
            case name:
                self._columns(name, [self._name(arg, name) for arg in constraint.args], constraint.span)

    def finish(self) -> tuple[Constraint, ...]:
        """Everything found, in canonical order."""
        return canonical_constraints(self._found)

    def _check_kind(self, name: str, span: Span) -> None:
        if self._kind == "edge" and name in _NODES_ONLY:
            self._fail("S021", f"@{name} is not allowed on edges (edge '{self._owner}')", span)

    def _columns(self, name: str, columns: list[tuple[str, Span]], span: Span) -> None:
        for column, where in columns:
            self._check_column(name, column, where)
        names = dict.fromkeys(column for column, _ in columns)
        if name == "key":
            if any(isinstance(each, Key) for each in self._found):
                help_text = "name all key properties in one @key(a, b)"
                self._fail("S022", f"node '{self._owner}' has more than one key", span, help_text)
            self._found.append(Key(tuple(names)))
        else:
            kind = Unique if name == "unique" else Index
            self._found.append(kind(tuple(sorted(names))))

    def _check_column(self, name: str, column: str, span: Span) -> None:
        if self._kind == "edge" and column in _ENDPOINTS:
            return
        kind = self._type_of(name, column, span)
        place = f"'{self._owner}.{column}'"
        if name == "key" and kind.nullable:
            self._fail("S023", f"key property {place} must not be nullable", span)
        if name == "key" and any(each.name == DEFAULT for each in self._properties[column].property.annotations):
            self._fail("S032", f"key property {place} cannot have a @default: rows would share one id", span)
        allowed = kind.is_plain_scalar or (name == "index" and kind.is_vector)
        if not allowed:
            self._fail("S024", f"{place} is {kind}, which cannot be used in @{name}", span)

    def _range(self, constraint: ast.Constraint) -> None:
        name, span, bounds = self._two_arguments(constraint, "bounds", "@range(property, low..high)")
        assert isinstance(bounds.value, ast.Bounds)
        kind = self._type_of("range", name, span)
        if kind.list:
            self._fail("S052", f"@range does not apply to the list '{self._owner}.{name}'", span)
        if not kind.is_numeric:
            self._fail("S025", f"@range needs a numeric property; '{self._owner}.{name}' is {kind}", span)
        low, high = self._bound(bounds.value.low, bounds.span), self._bound(bounds.value.high, bounds.span)
        if low is not None and high is not None and low > high:
            self._fail("S051", f"the lower bound {low} is larger than the upper bound {high}", bounds.span)
        self._found.append(Range(name, low, high))

    def _bound(self, text: str | None, span: Span) -> int | float | None:
        if text is None:
            return None
        if len(text) > _MAX_DIGITS or abs(float(text)) == float("inf"):
            self._fail("S027", "a bound of @range does not fit a double", span)
        # `5` and `5.0` are one bound and must have one text and one hash; so must `0` and `-0.0`.
        value = float(text) if "." in text else int(text)
        return int(value) if isinstance(value, int) or value.is_integer() else value

    def _check(self, constraint: ast.Constraint) -> None:
        name, span, argument = self._two_arguments(constraint, "string", '@check(property, "regex")')
        assert isinstance(argument.value, str)
        kind = self._type_of("check", name, span)
        if kind.list:
            self._fail("S052", f"@check does not apply to the list '{self._owner}.{name}'", span)
        if kind.scalar != "String":
            self._fail("S026", f"@check needs a String property; '{self._owner}.{name}' is {kind}", span)
        problem = regex_problem(argument.value, _LONGEST_PATTERN)
        if problem is not None:
            self._fail("S050", f"invalid regular expression: {problem}", argument.span, "patterns use RE2 syntax")
        self._found.append(Check(name, argument.value))

    def _two_arguments(self, constraint: ast.Constraint, kind: str, form: str) -> tuple[str, Span, ast.ConstraintArg]:
        args = constraint.args
        if len(args) != 2 or args[0].kind != "name" or args[1].kind != kind:
            self._fail("S027", f"@{constraint.name} is written {form}", constraint.span)
        name, span = self._name(args[0], constraint.name)
        return name, span, args[1]

    def _name(self, argument: ast.ConstraintArg, constraint: str) -> tuple[str, Span]:
        if argument.kind != "name" or not isinstance(argument.value, str):
            self._fail("S027", f"@{constraint} takes property names", argument.span)
        return argument.value, argument.span

    def _type_of(self, constraint: str, name: str, span: Span) -> PropType:
        found = self._properties.get(name)
        if found is None:
            known = [*self._properties, *(_ENDPOINTS if self._kind == "edge" else ())]
            message = f"@{constraint} names '{name}', which is not a property of {self._kind} '{self._owner}'"
            endpoint = self._kind == "edge" and name in ("from", "to")
            help_text = "the endpoints of an edge are src and dst" if endpoint else did_you_mean(name, known)
            self._fail("S020", message, span, help_text)
        return found.property.type

    def _fail(self, code: str, message: str, span: Span, help: str | None = None) -> NoReturn:
        fail(SchemaError, self._source, code, message, span, help=help)
