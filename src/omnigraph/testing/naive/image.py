"""One graph state as plain dictionaries, and the obvious way to change it: no Arrow, no storage, no cleverness."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.testing.naive.constraints import Image, Row, row_codes, table_types, violations

KEY_CONFLICT = frozenset({"key_conflict", "W015", "W012"})


class Refused(Exception):
    """The model says no; any of `codes` is the right error."""

    def __init__(self, *codes: str) -> None:
        super().__init__(", ".join(codes))
        self.codes = frozenset(codes)


# --- conditions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Test:
    """`property op value`."""

    property: str
    op: str
    value: Any


@dataclass(frozen=True, slots=True)
class IsNull:
    """`property is [not] null`."""

    property: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Among:
    """`property [not] in [values]`."""

    property: str
    values: tuple[Any, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Both:
    """`left and right`."""

    left: Where
    right: Where


@dataclass(frozen=True, slots=True)
class Either:
    """`left or right`."""

    left: Where
    right: Where


Where: TypeAlias = Test | IsNull | Among | Both | Either


def holds(where: Where, row: Row) -> bool | None:
    """Three-valued truth of a condition for one row."""
    match where:
        case Test(name, op, value):
            return _compare(op, row[name], value)
        case IsNull(name, negated):
            return (row[name] is None) != negated
        case Among(name, values, negated):
            found = _any([_compare("=", row[name], value) for value in values])
            return found if found is None else found != negated
        case Both(left, right):
            answers = holds(left, row), holds(right, row)
            return False if False in answers else (None if None in answers else True)
        case Either(left, right):
            return _any([holds(left, row), holds(right, row)])


def _any(answers: list[bool | None]) -> bool | None:
    return True if True in answers else (None if None in answers else False)


def _compare(op: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, str) and isinstance(right, str) and op in ("<", "<=", ">", ">="):
        left, right = left.encode(), right.encode()
    answers: dict[str, Any] = {
        "=": lambda: left == right,
        "!=": lambda: left != right,
        "<": lambda: left < right,
        "<=": lambda: left <= right,
        ">": lambda: left > right,
        ">=": lambda: left >= right,
        "contains": lambda: right in left,
        "starts_with": lambda: left.startswith(right),
    }
    return bool(answers[op]())


# --- statements --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Insert:
    """`insert Type { … }`; `from` and `to` name the endpoints of an edge."""

    type_name: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Computed:
    """`property op number`, from the row as it was; null stays null."""

    property: str
    op: str
    number: int

    def of(self, row: Row) -> Any:
        """The value for one row."""
        old = row[self.property]
        if old is None:
            return None
        return {"+": old + self.number, "-": old - self.number, "*": old * self.number}[self.op]


@dataclass(frozen=True, slots=True)
class Update:
    """`update Type set { … } where …`; a value may be Computed."""

    type_name: str
    values: Mapping[str, Any]
    where: Where


@dataclass(frozen=True, slots=True)
class Delete:
    """`delete Type where …`."""

    type_name: str
    where: Where


@dataclass(frozen=True, slots=True)
class Along:
    """`match { $a: Person { name: … } $a edge $b }`, then `update $b set { … }`, or `delete $b` without values.

    A Computed value reads the person at the start.
    """

    edge: str
    start: str
    type_name: str
    values: Mapping[str, Any] | None


Statement: TypeAlias = Insert | Update | Delete | Along


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a load; `id` is None where the engine mints one."""

    type_name: str
    values: Mapping[str, Any]
    id: str | None = None
    source: str | None = None
    target: str | None = None

    def line(self) -> str:
        """The record as one line of a load file."""
        data = dict(self.values) if self.id is None else {"id": self.id, **self.values}
        if self.source is None:
            return json.dumps({"type": self.type_name, "data": data}, ensure_ascii=False)
        head = {"edge": self.type_name, "from": self.source, "to": self.target}
        return json.dumps({**head, "data": data}, ensure_ascii=False)


def record_of(document: Mapping[str, Any]) -> Record:
    """A line of a load file, read."""
    values = {name: value for name, value in document.get("data", {}).items() if name != "id"}
    entity = document.get("data", {}).get("id")
    if "edge" in document:
        return Record(document["edge"], values, entity, document["from"], document["to"])
    return Record(document["type"], values, entity)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a write did: the new image and how many entities it touched."""

    image: Image
    nodes: int
    edges: int

    @property
    def written(self) -> int:
        return self.nodes + self.edges

    @property
    def has_effect(self) -> bool:
        return bool(self.nodes or self.edges)


class Placeholders:
    """Stands in for ids that only the engine knows; the machine replaces them after each commit."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self) -> str:
        self._next += 1
        return f"?{self._next}"

    @staticmethod
    def is_one(entity_id: str) -> bool:
        return entity_id.startswith("?")


def empty_image(catalog: Catalog) -> Image:
    """A graph without rows."""
    return {kind.table_key: {} for kind in table_types(catalog)}


def copy_image(image: Image) -> Image:
    """A deep enough copy: rows are replaced, never edited in place."""
    return {key: dict(rows) for key, rows in image.items()}


def mutate(catalog: Catalog, before: Image, statements: Sequence[Statement], mint: Placeholders) -> Outcome:
    """Run statements in order, then validate once; Refused leaves nothing behind."""
    if len({_deletes(statement) for statement in statements}) > 1:
        raise Refused("T28", "W022")
    after = copy_image(before)
    counts: Counter[bool] = Counter()
    for statement in statements:
        kind = type_named(catalog, statement.type_name)
        is_edge = isinstance(kind, EdgeType)
        match statement:
            case Insert(_, values):
                row = _inserted(kind, values, mint)
                after[kind.table_key][row["id"]] = row
                counts[is_edge] += 1
            case Update(_, values, where):
                matched = [row for row in after[kind.table_key].values() if holds(where, _visible(row)) is True]
                for row in matched:
                    after[kind.table_key][row["id"]] = {**row, **_computed(values, row)}
                counts[is_edge] += len(matched)
            case Along(edge, start, _, values):
                ends = {row["dst"] for row in after[f"edge:{edge}"].values() if row["src"] == start}
                counts[False] += len(ends)
                if values is None:
                    for end in ends:
                        del after[kind.table_key][end]
                    assert isinstance(kind, NodeType)
                    counts[True] += _cascade(catalog, after, kind, ends)
                    continue
                given = _computed(values, before["node:Person"].get(start, {})) if ends else {}
                for end in ends:
                    after[kind.table_key][end] = {**after[kind.table_key][end], **given}
            case Delete(_, where):
                matched = [row for row in after[kind.table_key].values() if holds(where, _visible(row)) is True]
                for row in matched:
                    del after[kind.table_key][row["id"]]
                counts[is_edge] += len(matched)
                if isinstance(kind, NodeType):
                    counts[True] += _cascade(catalog, after, kind, {row["id"] for row in matched})
    validate(catalog, before, after)
    return Outcome(after, counts[False], counts[True])


def _deletes(statement: Statement) -> bool:
    return isinstance(statement, Delete) or (isinstance(statement, Along) and statement.values is None)


def _computed(values: Mapping[str, Any], row: Row) -> Row:
    return {name: value.of(row) if isinstance(value, Computed) else value for name, value in values.items()}


def load(catalog: Catalog, before: Image, mode: str, records: Sequence[Record], mint: Placeholders) -> Outcome:
    """Land records in one of the three modes; Refused leaves nothing behind."""
    rows = [(type_named(catalog, record.type_name), record) for record in records]
    built = [(kind, _loaded(kind, record, mint)) for kind, record in rows]
    wrong = {code for kind, row in built for code in row_codes(kind, row)}
    if wrong:
        raise Refused(*wrong)
    _refuse_repeats(built, mode)
    after = copy_image(before)
    if mode == "overwrite":
        after.update({kind.table_key: {} for kind, _ in built})
    for kind, row in built:
        if mode == "append" and row["id"] in before[kind.table_key]:
            raise Refused(*KEY_CONFLICT, *violations(catalog, before, _with(after, built)))
        after[kind.table_key][row["id"]] = row
    validate(catalog, before, after, touched={(kind.table_key, row["id"]) for kind, row in built})
    written = {(isinstance(kind, EdgeType), kind.table_key, row["id"]) for kind, row in built}
    edges = sum(is_edge for is_edge, _, _ in written)
    return Outcome(after, len(written) - edges, edges)


def validate(catalog: Catalog, before: Image, after: Image, *, touched: Iterable[tuple[str, str]] = ()) -> None:
    """Refuse an image that breaks a constraint; the first broken family decides the code."""
    codes = violations(catalog, before, after, touched=touched)
    if codes:
        raise Refused(*codes)


def derived_id(kind: NodeType, values: Mapping[str, Any]) -> str | None:
    """The id a key gives a node; None without a key. Keys of the model's schemas are strings, integers or booleans."""
    if kind.key is None:
        return None
    texts = [_key_text(values[name]) for name in kind.key]
    return texts[0] if len(texts) == 1 else json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def type_named(catalog: Catalog, name: str) -> NodeType | EdgeType:
    """A node type, else an edge type."""
    node = catalog.nodes.get(name)
    return node if node is not None else catalog.edges[name]


def _inserted(kind: NodeType | EdgeType, values: Mapping[str, Any], mint: Placeholders) -> Row:
    row: Row = {name: values.get(name) for name in kind.properties}
    if isinstance(kind, EdgeType):
        return {"id": mint(), "src": values["from"], "dst": values["to"], **row}
    if kind.key is not None and any(row[name] is None for name in kind.key):
        raise Refused("W001", "T12")
    return {"id": derived_id(kind, row) or mint(), **row}


def _loaded(kind: NodeType | EdgeType, record: Record, mint: Placeholders) -> Row:
    row: Row = {name: record.values.get(name) for name in kind.properties}
    if isinstance(kind, EdgeType):
        return {"id": record.id or mint(), "src": record.source, "dst": record.target, **row}
    return {"id": derived_id(kind, row) or record.id or mint(), **row}


def _visible(row: Row) -> Row:
    """A row as mutation predicates see it: endpoints answer to `from` and `to`."""
    return {**row, "from": row["src"], "to": row["dst"]} if "src" in row else row


def _cascade(catalog: Catalog, image: Image, kind: NodeType, gone: set[str]) -> int:
    removed = 0
    for edge in catalog.incident_edges[kind.name]:
        ends = [column for column, end in (("src", edge.from_type), ("dst", edge.to_type)) if end == kind.name]
        rows = image[edge.table_key]
        for edge_id in [name for name, row in rows.items() if any(row[end] in gone for end in ends)]:
            del rows[edge_id]
            removed += 1
    return removed


def _refuse_repeats(built: Sequence[tuple[NodeType | EdgeType, Row]], mode: str) -> None:
    for kind in {kind.table_key: kind for kind, _ in built}.values():
        rows = [row for owner, row in built if owner.table_key == kind.table_key]
        groups = [*kind.unique, *([kind.key] if isinstance(kind, NodeType) and kind.key else [])]
        for group in groups:
            tuples = [tuple(row[name] for name in group) for row in rows]
            if any(count > 1 and None not in values for values, count in Counter(tuples).items()):
                raise Refused("W012", "W015", "key_conflict")
        if mode != "merge" and max(Counter(row["id"] for row in rows).values()) > 1:
            raise Refused(*KEY_CONFLICT)


def _with(image: Image, built: Sequence[tuple[NodeType | EdgeType, Row]]) -> Image:
    landed = copy_image(image)
    for kind, row in built:
        landed[kind.table_key][row["id"]] = row
    return landed


def _key_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
