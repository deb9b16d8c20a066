"""Arrays that tasks leave in files for the process that puts them together, and room for what it makes of them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.intake.inputs.files import open_input, open_output

_TYPE = b"type"
_COPIED_BYTES = 4 << 20


def write_arrays(path: str, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Write arrays of whatever lengths: a table of one row, whose values are mapped as they are; the path."""
    fields = [pa.field(name, pa.large_binary(), metadata={_TYPE: values.dtype.str}) for name, values in arrays.items()]
    table = pa.Table.from_arrays([_bytes(values) for values in arrays.values()], schema=pa.schema(fields))
    with open_output(path) as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path


def map_arrays(path: str, near: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, mapped; what is in an object store is copied to `near` first."""
    place = Path(path)
    if not place.is_file():
        place = near
        with open_input(path) as source, open(near, "wb") as target:
            shutil.copyfileobj(source, target, _COPIED_BYTES)
    with pa.memory_map(str(place)) as file:
        table = pa.ipc.open_file(file).read_all()
    types = {field.name: field.metadata[_TYPE].decode() for field in table.schema}
    return {name: np.frombuffer(table[name][0].as_buffer(), kind) for name, kind in types.items()}


def file_array(path: Path, kind: Any, count: int) -> npt.NDArray[Any]:
    """An array to be filled whose memory is a file of this machine."""
    return np.memmap(path, kind, "w+", shape=(count,)) if count else np.empty(0, kind)


def _bytes(values: npt.NDArray[Any]) -> pa.Array:
    ends = pa.py_buffer(np.array([0, values.nbytes]))
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(np.ascontiguousarray(values))])
