"""Random small graphs, loaded twice: into OmniGraph and, as plain tables, into DuckDB."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import duckdb

import omnigraph as og

SCHEMA = """
interface Named { name: String? }
node Person implements Named {
  k: String @key  name: String?  n: I32?  m: I64?  big: I64?  u: U64?  f: F64?  g: F32?  b: Bool?  d: Date?  at: DateTime?
  grade: enum(a, b, c)?  tags: [String]?  nums: [I64]?  words: String?  v: Vector(2)?
}
node Firm implements Named { k: String @key  name: String?  n: I64?  f: F64?  words: String? }
node Lone { k: String @key  n: I32? }
edge Knows: Person -> Person { w: I32?  s: String?  words: String? }
edge Works: Person -> Firm { w: I32?  d: Date? }
edge Owns: Firm -> Person { w: I32?  s: String? }
"""
NODES = ("Person", "Firm", "Lone")
NAMED = ("Firm", "Person")
EDGES = {"Knows": ("Person", "Person"), "Works": ("Person", "Firm"), "Owns": ("Firm", "Person")}
# The families of values, and what DuckDB stores them as. Numbers of `small` families never overflow what is done with them.
PROPERTIES: dict[str, dict[str, tuple[str, str]]] = {
    "Person": {
        "k": ("text", "VARCHAR"), "name": ("text", "VARCHAR"), "n": ("int", "INTEGER"), "m": ("int", "BIGINT"),
        "big": ("large", "BIGINT"), "u": ("large", "UBIGINT"), "f": ("float", "DOUBLE"), "g": ("single", "FLOAT"),
        "b": ("bool", "BOOLEAN"), "d": ("date", "DATE"), "at": ("instant", "TIMESTAMP"), "grade": ("text", "VARCHAR"),
        "tags": ("texts", "VARCHAR[]"), "nums": ("ints", "BIGINT[]"), "words": ("words", "VARCHAR"),
        "v": ("vector", "FLOAT[]"),
    },
    "Firm": {
        "k": ("text", "VARCHAR"), "name": ("text", "VARCHAR"), "n": ("int", "BIGINT"), "f": ("float", "DOUBLE"),
        "words": ("words", "VARCHAR"),
    },
    "Lone": {"k": ("text", "VARCHAR"), "n": ("int", "INTEGER")},
    "Knows": {"w": ("int", "INTEGER"), "s": ("text", "VARCHAR"), "words": ("words", "VARCHAR")},
    "Works": {"w": ("int", "INTEGER"), "d": ("date", "DATE")},
    "Owns": {"w": ("int", "INTEGER"), "s": ("text", "VARCHAR")},
}  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "int": [-2, -1, 0, 1, 2, 3],
    "large": [0, 1, 7, 2**53, 2**53 + 1, 2**62, 2**63 - 1],
    "float": [-1.5, 0.0, 0.5, 2.0, 3.0, float(2**53)],
    "single": [0.5, 2.0, -1.5, 0.1, 3.0],
    "bool": [True, False],
    "date": ["1969-12-31", "2020-02-29", "2024-01-01"],
    "instant": ["2020-02-29T00:00:00.000Z", "2024-01-01T10:20:30.456Z", "1969-12-31T23:59:59.999Z"],
    "texts": [[], ["a"], ["a", "b"], ["ab", "a"]],
    "ints": [[], [1], [1, 2], [-1, 3]],
    "words": ["oak", "elm fir", "Oak, elm oak", "fir-ash oak elm", "ash"],
    "vector": [[0.0, 0.0], [1.0, 0.0], [3.0, 4.0], [0.0, 4.0]],
}
TEXTS = ["", "a", "b", "ab", "ba", "ä", "B", "a'b"]
GRADES = ["a", "b", "c"]


def shared(types: tuple[str, ...], *, interface: bool) -> dict[str, str]:
    """The properties that can be read of a variable over some types: name → family."""
    if interface:
        return {"name": "text"}
    return {name: kind[0] for name, kind in PROPERTIES[types[0]].items() if _declared(types, name)}


def _declared(types: tuple[str, ...], name: str) -> bool:
    """Whether all types have a property with one type; DuckDB's types follow the declared ones."""
    kinds = {PROPERTIES[each].get(name) for each in types}
    return len(kinds) == 1 and None not in kinds


@dataclass
class World:
    """One graph in both systems."""

    graph: og.Graph
    db: duckdb.DuckDBPyConnection
    rows: dict[str, list[dict[str, Any]]]
    tables: dict[Any, str] = field(default_factory=dict)  # what the translator has derived so far

    def node(self, type_name: str, node_id: str) -> dict[str, Any]:
        return next(row for row in self.rows[type_name] if row["id"] == node_id)


def make_world(rng: Random, place: Path) -> World:
    """A graph of a few nodes with parallel edges, loops, nulls and ids that two types share."""
    rows = _rows(rng)
    graph = og.init(place / "graph.omni", schema=SCHEMA)
    graph.load([_record(kind, row) for kind, found in rows.items() for row in found])
    # A path that SQL enumerates row by row took 17 GB once; a temporary directory would let it go on for hours instead.
    db = duckdb.connect(config={"threads": 1, "memory_limit": "3GB", "max_temp_directory_size": "0B"})
    db.execute("SET TimeZone = 'UTC'")
    for kind, found in rows.items():
        _fill(db, kind, found)
    return World(graph, db, rows)


def _rows(rng: Random) -> dict[str, list[dict[str, Any]]]:
    names = {
        "Person": [f"p{at}" for at in range(rng.randint(2, 7))],
        "Lone": [f"l{at}" for at in range(rng.randint(0, 2))],
    }
    # Some firms are called like persons.
    names["Firm"] = rng.sample(["p0", "p1", "f0", "f1", "P2"], rng.randint(0, 4))
    rows: dict[str, list[dict[str, Any]]] = {}
    for kind in NODES:
        rows[kind] = [{"id": name, "k": name, **_values(rng, kind)} for name in names[kind]]
        rng.shuffle(rows[kind])
    for kind, (source, target) in EDGES.items():
        count = rng.choice([0, 3, 6, 9, 12]) if names[source] and names[target] else 0
        rows[kind] = [
            {"id": f"{kind[0]}{rng.randint(0, 9)}{at}", "src": rng.choice(names[source]), "dst": rng.choice(names[target]),
             **_values(rng, kind)}
            for at in range(count)
        ]  # fmt: skip
    return rows


def _values(rng: Random, kind: str) -> dict[str, Any]:
    found = {}
    for name, (family, _) in PROPERTIES[kind].items():
        if name == "k":
            continue
        options = GRADES if name == "grade" else TEXTS if family == "text" else VALUES[family]
        if name == "u":
            options = [*options, 2**64 - 1]
        found[name] = None if rng.random() < 0.25 else rng.choice(options)
    return found


def _record(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    values = {name: row[name] for name in PROPERTIES[kind] if row[name] is not None}
    if kind in NODES:
        return {"type": kind, "data": values}
    return {"edge": kind, "from": row["src"], "to": row["dst"], "data": {"id": row["id"], **values}}


def _fill(db: duckdb.DuckDBPyConnection, kind: str, rows: list[dict[str, Any]]) -> None:
    ends = [] if kind in NODES else ["src", "dst"]
    columns = {"_t": "VARCHAR", "id": "VARCHAR", **dict.fromkeys(ends, "VARCHAR")}
    columns |= {name: stored for name, (_, stored) in PROPERTIES[kind].items()}
    declared = ", ".join(f'"{name}" {stored}' for name, stored in columns.items())
    db.execute(f"CREATE TABLE {kind} ({declared})")
    places = ", ".join("CAST(? AS TIMESTAMP)" if stored == "TIMESTAMP" else "?" for stored in columns.values())
    for row in rows:
        values = [kind if name == "_t" else row[name] for name in columns]
        values = [
            value.removesuffix("Z") if columns[name] == "TIMESTAMP" and value else value
            for name, value in zip(columns, values, strict=True)
        ]
        db.execute(f"INSERT INTO {kind} VALUES ({places})", values)
