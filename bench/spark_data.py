"""The people and edges that `bench/spark_load.py` loads, as Parquet and as graph records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SCHEMA = """
node Person { handle: String @key  name: String  age: I32?  score: F64?  role: enum(admin, user, guest)? }
edge Knows: Person -> Person { weight: F64? }
"""
_GROUP_ROWS = 1 << 18
_WRITTEN_ROWS = 1 << 23  # edges that are made at once


def write_parquet(place: Path, nodes: int, edges: int) -> dict[str, Any]:
    """People and who knows whom, with text ids; returns the mapping that loads them."""
    generator = np.random.default_rng(7)
    numbers = np.arange(nodes)
    handles = pc.binary_join_element_wise("p", pa.array(numbers).cast(pa.utf8()), "")
    people = pa.table(
        {
            "handle": handles,
            "name": pc.binary_join_element_wise("Person number", pa.array(numbers).cast(pa.utf8()), " "),
            "age": pa.array(generator.integers(0, 100, nodes), pa.int32()),
            "score": generator.random(nodes),
            "role": pa.array(["admin", "user", "guest"]).take(pa.array(generator.integers(0, 3, nodes))),
        }
    )
    pq.write_table(people, place / "people.parquet", row_group_size=_GROUP_ROWS)
    shape = pa.schema([("a", pa.utf8()), ("b", pa.utf8()), ("weight", pa.float64())])
    with pq.ParquetWriter(place / "knows.parquet", shape) as file:
        for start in range(0, edges, _WRITTEN_ROWS):
            count = min(_WRITTEN_ROWS, edges - start)
            ends = [handles.take(pa.array(generator.integers(0, nodes, count))) for _ in range(2)]
            knows = pa.table([*ends, pa.array(generator.random(count))], schema=shape)
            file.write_table(knows, row_group_size=_GROUP_ROWS)
    return {
        "sources": {
            "people": {"path": str(place / "people.parquet")},
            "knows": {"path": str(place / "knows.parquet")},
        },
        "nodes": {"Person": {"from": "people"}},
        "edges": {"Knows": {"from": "knows", "src": "a", "dst": "b"}},
    }


def write_jsonl(place: Path) -> Path:
    """The same as graph records."""
    path = place / "records.jsonl"
    with path.open("wb") as file:
        for batch in pq.ParquetFile(place / "people.parquet").iter_batches():
            file.writelines(
                b'{"type":"Person","data":{"handle":"%s","name":"%s","age":%d,"score":%r,"role":"%s"}}\n'
                % (r["handle"].encode(), r["name"].encode(), r["age"], r["score"], r["role"].encode())
                for r in batch.to_pylist()
            )
        for batch in pq.ParquetFile(place / "knows.parquet").iter_batches():
            columns = [batch.column(name).to_pylist() for name in ("a", "b", "weight")]
            file.writelines(
                f'{{"edge":"Knows","from":"{a}","to":"{b}","data":{{"weight":{w!r}}}}}\n'.encode()
                for a, b, w in zip(*columns, strict=True)
            )
    return path
