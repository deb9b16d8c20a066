"""One value table for every property type: what it is called elsewhere, and the values that are easy to lose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

import omnigraph as og

INSTANT = pa.timestamp("ms", tz="UTC")
FULL = 5
"""How many rows have every value; one more row has none."""


@dataclass(frozen=True)
class Kind:
    """A property type: how Arrow, pandas, Polars and Spark call it, and values as records hold them."""

    name: str
    declared: str
    arrow: pa.DataType
    pandas: str
    with_nulls: str
    polars: pl.DataType | type[pl.DataType]
    spark: str
    values: tuple[Any, ...]


def _listed(name: str, declared: str, item: pa.DataType, inner: Any, spark: str, items: list[Any]) -> Kind:
    values = (items, items[:1], [], items[::-1], items * 2)
    return Kind(name, f"[{declared}]", pa.list_(item), "object", "object", pl.List(inner), f"array<{spark}>", values)


_TEXTS = ["", 'ä "x"\\,;\n\t\r|', "null", "2024-01-01", "\N{GRINNING FACE} e\u0301"]
_DATES = ["1970-01-01", "2024-02-29", "1969-12-31", "0001-01-01", "9999-12-31"]
_INSTANTS = [
    "2024-02-29T23:59:59.999Z",
    "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00.000Z",
    "0001-01-01T00:00:00.001Z",
    "9999-12-31T23:59:59.999Z",
]
_I64 = [0, 2**53 + 1, -(2**63), 2**63 - 1, -1]
_U64 = [0, 2**53 + 1, 2**63, 2**64 - 1, 1]
_F32 = [0.5, 0.10000000149011612, -3.4028234663852886e38, 1.401298464324817e-45, 16777216.0]
_F64 = [0.1, 1e308, -5e-324, 123456789.123456789, 0.0]

KINDS = (
    Kind("text", "String", pa.utf8(), "str", "str", pl.String, "string", tuple(_TEXTS)),
    Kind("word", "enum(a, b-c, null)", pa.utf8(), "str", "str", pl.String, "string", ("a", "b-c", "null", "a", "a")),
    Kind("flag", "Bool", pa.bool_(), "bool", "boolean", pl.Boolean, "boolean", (True, False, True, False, True)),
    Kind("i32", "I32", pa.int32(), "int32", "Int32", pl.Int32, "int", (0, -(2**31), 2**31 - 1, 1, -1)),
    Kind("i64", "I64", pa.int64(), "int64", "Int64", pl.Int64, "bigint", tuple(_I64)),
    Kind("u32", "U32", pa.uint32(), "uint32", "UInt32", pl.UInt32, "bigint", (0, 2**32 - 1, 2**31, 1, 7)),
    Kind("u64", "U64", pa.uint64(), "uint64", "UInt64", pl.UInt64, "decimal(20,0)", tuple(_U64)),
    Kind("f32", "F32", pa.float32(), "float32", "float32", pl.Float32, "float", tuple(_F32)),
    Kind("f64", "F64", pa.float64(), "float64", "float64", pl.Float64, "double", tuple(_F64)),
    Kind("day", "Date", pa.date32(), "object", "object", pl.Date, "date", tuple(_DATES)),
    Kind(
        "moment",
        "DateTime",
        INSTANT,
        "datetime64[ms, UTC]",
        "datetime64[ms, UTC]",
        pl.Datetime("ms", "UTC"),
        "timestamp",
        tuple(_INSTANTS),
    ),
    Kind(
        "vector",
        "Vector(2)",
        pa.list_(pa.float32(), 2),
        "object",
        "object",
        pl.Array(pl.Float32, 2),
        "array<float>",
        tuple([low, high] for low, high in zip(_F32, _F32[::-1], strict=True)),
    ),
    _listed("texts", "String", pa.utf8(), pl.String, "string", _TEXTS),
    _listed("flags", "Bool", pa.bool_(), pl.Boolean, "boolean", [True, False]),
    _listed("i32s", "I32", pa.int32(), pl.Int32, "int", [0, -(2**31), 2**31 - 1]),
    _listed("i64s", "I64", pa.int64(), pl.Int64, "bigint", _I64),
    _listed("u32s", "U32", pa.uint32(), pl.UInt32, "bigint", [0, 2**32 - 1]),
    _listed("u64s", "U64", pa.uint64(), pl.UInt64, "decimal(20,0)", _U64),
    _listed("f32s", "F32", pa.float32(), pl.Float32, "float", _F32),
    _listed("f64s", "F64", pa.float64(), pl.Float64, "double", _F64),
    _listed("days", "Date", pa.date32(), pl.Date, "date", _DATES),
    _listed("moments", "DateTime", INSTANT, pl.Datetime("ms", "UTC"), "timestamp", _INSTANTS),
)
BLOBS = ("base64:", "base64:AAEC/w==", "base64:SGVsbG8=", "base64:aHR0cDovL3g=", "base64:IA==")

SCHEMA = (
    "node T { k: String @key\n  blob: Blob?\n"
    + "".join(f"  {kind.name}: {kind.declared}?\n" for kind in KINDS)
    + "}\nedge E: T -> T {\n"
    + "".join(f"  {kind.name}: {kind.declared}?\n" for kind in KINDS)
    + "}\n"
)
RETURNED = ", ".join(f"$t.{kind.name} as {kind.name}" for kind in KINDS)
EVERY = f"query every() {{ match {{ $t: T }} return {{ $t.k as k, {RETURNED} }} order {{ k }} }}"
FILLED = f'query filled() {{ match {{ $t: T $t.k != "empty" }} return {{ $t.k as k, {RETURNED} }} order {{ k }} }}'
OBJECTS = "query objects() { match { $t: T } return { $t } order { $t.k } }"
EDGES = f"query edges() {{ match {{ $a: T  $a $t:e $b }} return {{ {RETURNED} }} order {{ $t.id }} }}"


def records(*, blobs: bool = True) -> list[dict[str, Any]]:
    """Rows with every value, and one with none."""
    rows = [{kind.name: kind.values[at] for kind in KINDS} for at in range(FULL)]
    nodes = [
        {"type": "T", "data": {"k": f"n{at}", **row, **({"blob": BLOBS[at]} if blobs else {})}}
        for at, row in enumerate(rows)
    ]
    edges = [
        {"edge": "E", "from": "n0", "to": f"n{at}", "data": {"id": f"e{at}", **row}} for at, row in enumerate(rows)
    ]
    return [*nodes, {"type": "T", "data": {"k": "empty"}}, *edges]


def typed_graph(place: Path, *, blobs: bool = True) -> og.Graph:
    """A graph with all of them."""
    graph = og.init(place, SCHEMA)
    graph.load(records(blobs=blobs))
    return graph


def exported(graph: og.Graph, place: Path, *types: str) -> bytes:
    """Every entity in the one spelling that tells all values apart."""
    graph.export(place, types=types)
    return place.read_bytes()
