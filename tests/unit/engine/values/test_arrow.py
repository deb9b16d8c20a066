"""Catalog types as Arrow schemas."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.compiler.catalog import accept_schema
from omnigraph.engine.values.arrow import row_schema, stored_schema, table_types, to_stored
from omnigraph.ids import new_ulid
from omnigraph.storage.lance.blob_cells import BLOB_CELL
from omnigraph.storage.lance.columns import PRIMARY_KEY
from omnigraph.testing.naive.memory_rows import rows_table

CATALOG = accept_schema(
    """
    node N {
      s: String b: Bool? i: I32? l: I64? u: U32? w: U64? f: F32? g: F64? d: Date? t: DateTime?
      v: Vector(3)? xs: [I64]? e: enum(b, a)? doc: Blob?
    }
    edge E: N -> N { z: String? a: I32? }
    """,
    domain=new_ulid(),
).catalog


def test_columns_are_the_id_then_endpoints_then_properties_by_name() -> None:
    assert row_schema(CATALOG.nodes["N"]).names == ["id", *sorted(CATALOG.nodes["N"].properties)]
    assert row_schema(CATALOG.edges["E"]).names == ["id", "src", "dst", "a", "z"]
    assert list(table_types(CATALOG)) == ["edge:E", "node:N"]


def test_each_scalar_has_its_stored_type() -> None:
    schema = row_schema(CATALOG.nodes["N"])
    found = {field.name: field.type for field in schema}
    assert found["d"] == pa.date32()
    assert found["t"] == pa.date64()
    assert found["v"] == pa.list_(pa.float32(), 3)
    assert found["xs"] == pa.list_(pa.int64())
    assert found["e"] == pa.utf8()
    assert [found[n] for n in "ilufgw"] == [
        pa.int32(),
        pa.int64(),
        pa.uint32(),
        pa.float32(),
        pa.float64(),
        pa.uint64(),
    ]
    assert [field.nullable for field in schema if field.name in ("id", "s", "i")] == [False, True, False]


def test_the_id_is_the_primary_key_and_properties_carry_their_stable_ids() -> None:
    info = CATALOG.edges["E"]
    schema = stored_schema(info)
    assert schema.field("id").metadata.items() >= {k.encode(): v.encode() for k, v in PRIMARY_KEY.items()}.items()
    for name in info.properties:
        assert schema.field(name).metadata[b"omnigraph.stable_property_id"] == str(info.property_ids[name]).encode()
        assert info.property_ids[name] > 0


def test_ids_of_edges_and_their_ends_are_stored_compressed_and_nothing_else_is() -> None:
    edge, key = CATALOG.edges["E"], b"lance-encoding:compression"
    stored = stored_schema(edge)
    assert [field.name for field in stored if key in (field.metadata or {})] == ["id", "src", "dst"]
    shown = (*row_schema(edge), *stored_schema(CATALOG.nodes["N"]))
    assert not any(key in (field.metadata or {}) for field in shown)  # what is exported says nothing about Lance


def test_blobs_are_cells_in_rows_and_lance_blobs_in_storage() -> None:
    info = CATALOG.nodes["N"]
    cells = [{"data": b"x"}, None, {"data": b""}, {"uri": "s3://b/o"}]
    rows = rows_table(info, [{"id": str(n), "s": "", "doc": cell} for n, cell in enumerate(cells)])
    assert rows.schema.field("doc").type == BLOB_CELL
    stored = to_stored(info, pa.concat_tables([rows, rows.slice(1)]))
    assert stored.schema.field("doc").type.extension_name == "lance.blob.v2"
    found = [value for chunk in stored["doc"].chunks for value in chunk.storage.to_pylist()]
    assert [value and (value["data"], value["uri"]) for value in found] == [
        (b"x", None),
        *([None, (b"", None), (None, "s3://b/o")] * 2),
    ]
