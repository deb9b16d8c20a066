"""Random programs for the stateful tests: a schema with every kind of constraint, writes over it, and their text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.compiler.types import PropType
from omnigraph.testing.image import (
    Among,
    Both,
    Delete,
    Either,
    Insert,
    IsNull,
    Record,
    Statement,
    Test,
    Update,
    Where,
    type_named,
)

SCHEMA = """
node Person {
  name: String @key
  age: I32?
  mail: String? @unique
  level: enum(low, mid, high)?
  active: Bool?
  score: F64?
  tags: [String]?
  born: Date?
  @range(age, 0..150)
}
node Note { text: String  stars: U64?  @check(text, "^[a-z]") }
edge Knows: Person -> Person @card(0..3) { since: Date?  weight: I64? }
edge Wrote: Person -> Note @card(0..2)
edge Keeps: Person -> Note @card(1..) { label: String? @unique }
"""

_NAMES = st.sampled_from(["ann", "bob", "cy", "d'or", "éve"])
_NOTE_IDS = st.sampled_from(["n1", "n2", "n3"])
_EDGE_IDS = st.sampled_from(["e1", "e2", "e3", "e4"])
_VALUES: Mapping[str, Mapping[str, st.SearchStrategy[Any]]] = {
    "Person": {
        "name": _NAMES,
        "age": st.sampled_from([None, 0, 29, 30, 35, 150, 151]),
        "mail": st.sampled_from([None, None, "x@a", "y@a", "z@a"]),
        "level": st.sampled_from([None, "low", "mid", "high"]),
        "active": st.sampled_from([None, True, False]),
        "score": st.sampled_from([None, 0.0, 0.5, -2.5, 1e9]),
        "tags": st.sampled_from([None, [], ["a"], ["a", "b"]]),
        "born": st.sampled_from([None, "1990-01-01", "2001-12-31"]),
    },
    "Note": {
        "text": st.sampled_from(["alpha", "beta", "gamma", "Upper"]),
        "stars": st.sampled_from([None, 0, 5, 2**63 - 1]),
    },
    "Knows": {
        "since": st.sampled_from([None, "2020-01-01", "2023-06-01"]),
        "weight": st.sampled_from([None, -7, 0, 9007199254740993]),
    },
    "Wrote": {},
    "Keeps": {"label": st.sampled_from([None, None, "l1", "l2"])},
}
_NODES = ("Person", "Note")
_EDGES = ("Knows", "Wrote", "Keeps")
_ORDERED = ("=", "!=", "<", "<=", ">", ">=")


# --- strategies --------------------------------------------------------------------------------------


@st.composite
def mutations(draw: st.DrawFn, note_ids: Sequence[str] = ()) -> list[Statement]:
    """One to three statements, nearly always all constructive or all destructive."""
    constructive = st.one_of(inserts(note_ids), updates())
    kind = draw(st.sampled_from(["write", "write", "write", "delete", "delete", "mixed"]))
    if kind == "mixed" and not draw(st.integers(0, 5)):
        return [draw(constructive), draw(deletes())]
    return draw(st.lists(deletes() if kind == "delete" else constructive, min_size=1, max_size=3))


@st.composite
def inserts(draw: st.DrawFn, note_ids: Sequence[str] = ()) -> Insert:
    """A node or an edge; endpoints may or may not exist."""
    type_name = draw(st.sampled_from((*_NODES, *_EDGES)))
    values = draw(st.fixed_dictionaries(dict(_VALUES[type_name])))
    if type_name in _EDGES:
        values = {"from": draw(_NAMES), "to": draw(_ends(type_name, note_ids)), **values}
    required = {"Person": {"name"}, "Note": {"text"}}.get(type_name, {"from", "to"})
    kept = {name: value for name, value in values.items() if name in required or draw(st.booleans())}
    return Insert(type_name, kept)


@st.composite
def updates(draw: st.DrawFn) -> Update:
    """New constants for some properties of the matching entities."""
    type_name = draw(st.sampled_from(("Person", "Note", "Knows", "Keeps")))
    settable = {name: values for name, values in _VALUES[type_name].items() if (type_name, name) != ("Person", "name")}
    names = draw(st.lists(st.sampled_from(sorted(settable)), min_size=1, max_size=2, unique=True))
    return Update(type_name, {name: draw(settable[name]) for name in names}, draw(wheres(type_name)))


@st.composite
def deletes(draw: st.DrawFn) -> Delete:
    """Nodes (with cascade) or edges."""
    type_name = draw(st.sampled_from((*_NODES, *_EDGES)))
    return Delete(type_name, draw(wheres(type_name)))


def wheres(type_name: str) -> st.SearchStrategy[Where]:
    """Mostly one test; sometimes a conjunction or disjunction of two."""
    single = _tests(type_name)
    return st.one_of(single, single, single, st.builds(Both, single, single), st.builds(Either, single, single))


@st.composite
def loads(draw: st.DrawFn, note_ids: Sequence[str] = ()) -> list[Record]:
    """Up to six records of a few types, with supplied ids often enough that they collide."""
    types = draw(st.lists(st.sampled_from((*_NODES, *_EDGES)), min_size=1, max_size=6))
    return [draw(records(type_name, note_ids)) for type_name in types]


@st.composite
def records(draw: st.DrawFn, type_name: str, note_ids: Sequence[str] = ()) -> Record:
    """One line of a load."""
    values = draw(st.fixed_dictionaries(dict(_VALUES[type_name])))
    if type_name == "Person":
        return Record(type_name, values)
    if type_name == "Note":
        return Record(type_name, values, id=draw(st.none() | _NOTE_IDS))
    ends = draw(_NAMES), draw(_ends(type_name, note_ids))
    return Record(type_name, values, draw(st.none() | _EDGE_IDS), *ends)


def _ends(edge: str, note_ids: Sequence[str]) -> st.SearchStrategy[str]:
    if edge == "Knows":
        return _NAMES
    return _NOTE_IDS | st.sampled_from(sorted(note_ids)) if note_ids else _NOTE_IDS


def _tests(type_name: str) -> st.SearchStrategy[Where]:
    columns = {name: values for name, values in _VALUES[type_name].items() if name != "tags"}
    if type_name in _EDGES:
        columns = {"from": _NAMES, "to": _NAMES if type_name == "Knows" else _NOTE_IDS, **columns}

    @st.composite
    def test(draw: st.DrawFn) -> Where:
        name = draw(st.sampled_from(sorted(columns)))
        value = draw(columns[name])
        form = draw(st.sampled_from(["test", "test", "test", "null", "among"]))
        if form == "null" and name not in ("from", "to"):
            return IsNull(name, draw(st.booleans()))
        if form == "among":
            values = draw(st.lists(columns[name].filter(lambda v: v is not None), min_size=1, max_size=3))
            return Among(name, tuple(values), draw(st.booleans()))
        texts = ("contains", "starts_with") if name in ("name", "mail", "text", "from", "to") else ()
        return Test(name, draw(st.sampled_from((*_ORDERED, *texts))), value)

    return test()


# --- text --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Writer:
    """Renders statements; with `bound` every scalar value travels as a parameter instead of a literal."""

    catalog: Catalog
    bound: bool
    declared: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)

    def query(self, statements: Sequence[Statement]) -> tuple[str, dict[str, Any]]:
        """The mutation's text and its parameters."""
        body = "\n  ".join(self._statement(statement) for statement in statements)
        return f"query q({', '.join(self.declared)}) {{\n  {body}\n}}", self.params

    def _statement(self, statement: Statement) -> str:
        kind = type_named(self.catalog, statement.type_name)
        match statement:
            case Insert(name, values):
                return f"insert {name} {{ {self._assigns(kind, values)} }}"
            case Update(name, values, where):
                return f"update {name} set {{ {self._assigns(kind, values)} }} where {self._where(kind, where)}"
            case Delete(name, where):
                return f"delete {name} where {self._where(kind, where)}"

    def _assigns(self, kind: NodeType | EdgeType, values: Mapping[str, Any]) -> str:
        return ", ".join(f"{name}: {self._value(_type_of(kind, name), value)}" for name, value in values.items())

    def _where(self, kind: NodeType | EdgeType, where: Where) -> str:
        match where:
            case Test(name, op, value):
                return f"{name} {op} {self._value(_type_of(kind, name), value)}"
            case IsNull(name, negated):
                return f"{name} is {'not ' if negated else ''}null"
            case Among(name, values, negated):
                items = ", ".join(literal(_type_of(kind, name), value) for value in values)
                return f"{name} {'not ' if negated else ''}in [{items}]"
            case Both(left, right):
                return f"({self._where(kind, left)}) and ({self._where(kind, right)})"
            case Either(left, right):
                return f"({self._where(kind, left)}) or ({self._where(kind, right)})"

    def _value(self, declared: PropType, value: Any) -> str:
        # A null needs a parameter in a comparison: the literal would never type-check there.
        if not self.bound and value is not None:
            return literal(declared, value)
        name = f"p{len(self.params)}"
        shape = "[String]" if declared.list else ("String" if declared.enum else declared.scalar)
        self.declared.append(f"${name}: {shape}?")
        self.params[name] = value
        return f"${name}"


def literal(declared: PropType, value: Any) -> str:
    """A value as query text."""
    if isinstance(value, list):
        return "[" + ", ".join(json.dumps(item, ensure_ascii=False) for item in value) + "]"
    if declared.scalar == "Date":
        return f'date("{value}")'
    if isinstance(value, float):
        return f"{value:.1f}"
    return json.dumps(value, ensure_ascii=False)


def _type_of(kind: NodeType | EdgeType, name: str) -> PropType:
    return PropType("String") if name in ("from", "to") else kind.properties[name]
