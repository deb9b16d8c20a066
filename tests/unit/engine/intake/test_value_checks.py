"""Rules of single rows are about the same rows however a table is cut into chunks."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest

from omnigraph.compiler.catalog import compile_schema
from omnigraph.engine.intake.frames import decode_frame
from omnigraph.engine.intake.value_checks import value_findings
from omnigraph.testing.naive.memory_rows import rows_table

CATALOG = compile_schema("""node N {
    f: F64?  xs: [F64]?  v: Vector(2)?  kind: enum(a, b)?
    n: I32? @range(n, 0..9)  text: String? @check(text, "^x")
}""")
INFO = CATALOG.nodes["N"]
NAN = float("nan")


def row(at: int) -> dict[str, object]:
    return {
        "id": f"{at:02}",
        "f": NAN if at % 5 == 0 else 1.0,
        "xs": [1.0, NAN] if at % 6 == 0 else [2.0],
        "v": None if at % 4 == 0 else [1.0, NAN if at % 3 == 0 else 2.0],
        "kind": "b",
        "n": at % 11,
        "text": "y" if at % 7 == 0 else "x",
    }


@pytest.mark.parametrize("cuts", [(), (7,), (1, 2, 20)])
def test_findings_are_about_rows_of_the_whole_table(cuts: tuple[int, ...]) -> None:
    whole = rows_table(INFO, [row(at) for at in range(30)])
    ends = (0, *cuts, 30)
    cut = pa.concat_tables([whole.slice(low, high - low) for low, high in pairwise(ends)])
    found = {finding.property_name: finding.rows.tolist() for finding in value_findings(INFO, cut)}
    assert found == {
        "f": list(range(0, 30, 5)),
        "xs": list(range(0, 30, 6)),
        "v": [at for at in range(30) if at % 3 == 0 and at % 4],
        "n": [at for at in range(30) if at % 11 == 10],
        "text": list(range(0, 30, 7)),
    }


def test_vectors_of_the_stored_type_are_neither_copied_nor_joined() -> None:
    count, dim = 70_000, 32  # more than one batch of a frame
    catalog = compile_schema(f"node Doc {{ code: String @key  v: Vector({dim}) }}")
    numbers = pa.array([0.5] * (count * dim), pa.float32())
    frame = pa.table({
        "code": [f"d{at}" for at in range(count)],
        "v": pa.FixedSizeListArray.from_arrays(numbers, dim),
    })  # fmt: skip
    vectors = count * dim * 4
    before = pa.total_allocated_bytes()
    rows = decode_frame(frame, catalog, type="Doc").types["node:Doc"].rows
    assert value_findings(catalog.nodes["Doc"], rows) == []
    assert pa.total_allocated_bytes() - before < vectors / 2
    assert rows["v"].chunk(0).values.buffers()[1].address == numbers.buffers()[1].address
