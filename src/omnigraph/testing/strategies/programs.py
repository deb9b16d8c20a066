"""Random programs for the stateful tests: a schema with every kind of constraint, writes over it, and their text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.compiler.types import PropType
from omnigraph.testing.naive.image import (
    Along,
    Among,
    Both,
    Computed,
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


def schema_with(extras: Sequence[str]) -> str:
    """The same schema with further optional numbers on people."""
    added = "".join(f"\n  {name}: I32?" for name in extras)
    return SCHEMA.replace("  born: Date?", f"  born: Date?{added}")


NAMES = ("ann", "bob", "cy", "d'or", "éve")
NOTES = ("n1", "n2", "n3")
_EDGE_IDS = st.sampled_from(["e1", "e2", "e3", "e4", "e5", "e6"])
_NODES = ("Person", "Note")
_EDGES = ("Knows", "Wrote", "Keeps")
_ORDERED = ("=", "!=", "<", "<=", ">", ">=")
_COMPUTABLE = ("age", "weight")


def _mostly(usual: Sequence[Any], rare: Sequence[Any] = ()) -> st.SearchStrategy[Any]:
    """Values of which the rare ones, which break a rule or name nothing, come up about once in ten."""
    return st.integers(0, 9).flatmap(lambda at: st.sampled_from(rare if rare and at == 9 else usual))


_VALUES: Mapping[str, Mapping[str, st.SearchStrategy[Any]]] = {
    "Person": {
        "name": st.sampled_from(NAMES),
        "age": _mostly([None, 0, 29, 30, 35, 150], [151, -1]),
        "mail": _mostly([None, "u@a", "v@a", "w@a", "x@a", "y@a", "z@a"]),
        "level": st.sampled_from([None, "low", "mid", "high"]),
        "active": st.sampled_from([None, True, False]),
        "score": st.sampled_from([None, 0.0, 0.5, -2.5, 1e9]),
        "tags": st.sampled_from([None, [], ["a"], ["a", "b"]]),
        "born": st.sampled_from([None, "1990-01-01", "2001-12-31"]),
    },
    "Note": {
        "text": _mostly(["alpha", "beta", "gamma"], ["Upper"]),
        "stars": st.sampled_from([None, 0, 5, 2**63 - 1]),
    },
    "Knows": {
        "since": st.sampled_from([None, "2020-01-01", "2023-06-01"]),
        "weight": st.sampled_from([None, -7, 0, 9007199254740993]),
    },
    "Wrote": {},
    "Keeps": {"label": _mostly([None, None, "l1", "l2", "l3"])},
}

# A graph to start from, so that predicates have something to match from the first step on.
SEED = (
    Record("Person", {"name": "ann", "age": 30, "mail": "x@a", "level": "low", "active": True, "tags": ["a"]}),
    Record("Person", {"name": "bob", "age": 29, "score": 0.5, "born": "1990-01-01"}),
    Record("Person", {"name": "cy", "mail": "y@a", "level": "high", "active": False}),
    Record("Person", {"name": "d'or", "age": 35, "score": -2.5, "tags": []}),
    Record("Note", {"text": "alpha", "stars": 5}, id="n1"),
    Record("Note", {"text": "beta"}, id="n2"),
    Record("Knows", {"since": "2020-01-01", "weight": 0}, "e1", "ann", "bob"),
    Record("Knows", {"weight": -7}, "e2", "bob", "ann"),
    Record("Knows", {}, "e3", "cy", "cy"),
    Record("Wrote", {}, "e4", "ann", "n1"),
    Record("Keeps", {"label": "l1"}, "e5", "bob", "n1"),
    Record("Keeps", {}, "e6", "bob", "n2"),
)


@dataclass(frozen=True, slots=True)
class Known:
    """The node ids that exist where a program is about to write."""

    people: tuple[str, ...] = NAMES
    notes: tuple[str, ...] = NOTES

    def ends(self, edge: str) -> tuple[st.SearchStrategy[str], st.SearchStrategy[str]]:
        """Endpoints for an edge type, nearly always existing ones."""
        people = _mostly(self.people or NAMES, NAMES)
        return people, people if edge == "Knows" else _mostly(self.notes or NOTES, NOTES)


# --- strategies --------------------------------------------------------------------------------------


def constructive(known: Known) -> st.SearchStrategy[list[Statement]]:
    """Inserts and updates; sometimes one update that a match drives."""
    plain = st.lists(st.one_of(inserts(known), updates(known), updates(known)), min_size=1, max_size=3)
    return st.one_of(plain, plain, plain, driven_updates(known).map(lambda statement: [statement]))


def destructive(known: Known) -> st.SearchStrategy[list[Statement]]:
    """Deletes; sometimes one that a match drives."""
    plain = st.lists(deletes(known), min_size=1, max_size=2)
    return st.one_of(plain, plain, plain, driven_deletes(known).map(lambda statement: [statement]))


def mixtures(known: Known) -> st.SearchStrategy[list[Statement]]:
    """What no mutation may be: inserts or updates together with deletes."""
    return st.tuples(st.one_of(inserts(known), updates(known)), deletes(known)).map(list)


@st.composite
def inserts(draw: st.DrawFn, known: Known) -> Insert:
    """A node, or an edge between nodes that nearly always exist."""
    type_name = draw(st.sampled_from((*_NODES, *_EDGES)))
    values = draw(st.fixed_dictionaries(dict(_VALUES[type_name])))
    if type_name in _EDGES:
        source, target = known.ends(type_name)
        values = {"from": draw(source), "to": draw(target), **values}
    required = {"Person": {"name"}, "Note": {"text"}}.get(type_name, {"from", "to"})
    kept = {name: value for name, value in values.items() if name in required or draw(st.booleans())}
    return Insert(type_name, kept)


@st.composite
def updates(draw: st.DrawFn, known: Known) -> Update:
    """New constants, or computations with old values, for some properties of the matching entities."""
    type_name = draw(st.sampled_from(("Person", "Person", "Note", "Knows", "Keeps")))
    settable = {name: values for name, values in _VALUES[type_name].items() if (type_name, name) != ("Person", "name")}
    names = draw(st.lists(st.sampled_from(sorted(settable)), min_size=1, max_size=2, unique=True))
    values = {name: draw(settable[name]) for name in names}
    values |= {name: draw(_computations(name)) for name in names if name in _COMPUTABLE and draw(st.booleans())}
    return Update(type_name, values, draw(wheres(type_name, known)))


@st.composite
def driven_updates(draw: st.DrawFn, known: Known) -> Along:
    """Everybody a person knows, or every note of hers, gets a constant or a number computed from her."""
    edge, type_name, name = draw(st.sampled_from([("Knows", "Person", "age"), ("Wrote", "Note", "stars")]))
    # A number of stars is never negative.
    value = draw(_computations("age", "+-*" if edge == "Knows" else "+*") | _VALUES[type_name][name])
    return Along(edge, draw(st.sampled_from(known.people or NAMES)), type_name, {name: value})


@st.composite
def driven_deletes(draw: st.DrawFn, known: Known) -> Along:
    """What a person wrote, or everybody she knows."""
    edge, type_name = draw(st.sampled_from([("Wrote", "Note"), ("Wrote", "Note"), ("Knows", "Person")]))
    return Along(edge, draw(st.sampled_from(known.people or NAMES)), type_name, None)


def _computations(name: str, operators: str = "+-*") -> st.SearchStrategy[Computed]:
    return st.builds(Computed, st.just(name), st.sampled_from(operators), st.integers(0, 3))


@st.composite
def deletes(draw: st.DrawFn, known: Known) -> Delete:
    """Nodes (with cascade) or edges; mostly few of them, so that programs do not run out of rows."""
    type_name = draw(st.sampled_from((*_NODES, *_EDGES)))
    if type_name == "Person" and draw(st.integers(0, 3)):
        return Delete("Person", Test("name", "=", draw(st.sampled_from(NAMES))))
    return Delete(type_name, draw(wheres(type_name, known)))


def wheres(type_name: str, known: Known) -> st.SearchStrategy[Where]:
    """Mostly one test; sometimes a conjunction or disjunction of two."""
    single = _tests(type_name, known)
    return st.one_of(single, single, single, st.builds(Both, single, single), st.builds(Either, single, single))


@st.composite
def loads(draw: st.DrawFn, known: Known) -> list[Record]:
    """Up to six records of a few types, with supplied ids often enough that they collide."""
    types = draw(st.lists(st.sampled_from((*_NODES, *_EDGES)), min_size=1, max_size=6))
    people = [name for name in NAMES if name in known.people]
    found: list[Record] = []
    for type_name in sorted(types, key=lambda name: name not in _NODES):
        record = draw(records(type_name, Known(tuple(people), known.notes)))
        people += [record.values["name"]] if type_name == "Person" else []
        found.append(record)
    return draw(st.permutations(found))


@st.composite
def records(draw: st.DrawFn, type_name: str, known: Known) -> Record:
    """One line of a load."""
    values = draw(st.fixed_dictionaries(dict(_VALUES[type_name])))
    if type_name == "Person":
        return Record(type_name, values)
    if type_name == "Note":
        return Record(type_name, values, id=draw(st.none() | st.sampled_from(NOTES)))
    source, target = known.ends(type_name)
    return Record(type_name, values, draw(st.none() | _EDGE_IDS), draw(source), draw(target))


def _tests(type_name: str, known: Known) -> st.SearchStrategy[Where]:
    columns = {name: values for name, values in _VALUES[type_name].items() if name != "tags"}
    if type_name in _EDGES:
        columns = {**dict(zip(("from", "to"), known.ends(type_name), strict=True)), **columns}

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
            case Along(edge, start, _, values):
                person = self._value(PropType("String"), start)
                match_ = f"match {{ $a: Person {{ name: {person} }} $a {edge.lower()} $b }}"
                if values is None:
                    return f"{match_} delete $b"
                return f"{match_} update $b set {{ {self._assigns(kind, values, '$a.')} }}"

    def _assigns(self, kind: NodeType | EdgeType, values: Mapping[str, Any], row: str = "") -> str:
        texts = (
            f"{name}: {row}{value.property} {value.op} {value.number}"
            if isinstance(value, Computed)
            else f"{name}: {self._value(_type_of(kind, name), value)}"
            for name, value in values.items()
        )
        return ", ".join(texts)

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
