"""Values between the engine's Arrow types and Spark's, and errors from workers back to the driver."""

from __future__ import annotations

import base64
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps

import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.types import PropType
from omnigraph.engine.intake.columns.property_columns import column_from_arrow
from omnigraph.engine.values.arrow import arrow_type, relisted
from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.spark.datasource import shown_as, spark_type
from omnigraph.pipeline.tasks.watching import translated

Batches = Iterator[pa.RecordBatch]
Work = Callable[[Batches], Batches]

_CARRIED = re.compile(r"omnigraph\[([A-Za-z0-9+/=]+)\]")


def carrier(kind: PropType) -> pa.DataType:
    """The Arrow type under which Spark holds values of a property type; a lone null has to be of some type."""
    return pa.bool_() if kind == ir.NULL else spark_type(arrow_type(kind))


def to_spark(values: pa.Array, kind: PropType) -> pa.Array:
    """An engine column as Spark takes it."""
    if kind == ir.NULL:
        return pa.nulls(len(values), pa.bool_())
    return shown_as(values, carrier(kind))


def from_spark(values: pa.Array, kind: PropType) -> pa.Array:
    """A column of a Spark frame as the engine has it."""
    wanted = pa.null() if kind == ir.NULL else arrow_type(kind)
    if values.type.equals(wanted):
        return values
    if kind == ir.NULL:
        return pa.nulls(len(values))
    if kind.dim is not None:
        return column_from_arrow("", kind, values)[0]
    if kind.members is not None and kind.list:
        return relisted(values, from_spark(values.flatten(), kind.item))
    if kind.members is not None:
        parts = [from_spark(values.field(name), each) for name, each in kind.members]
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=values.is_null())
    if kind.scalar == "DateTime":
        if kind.list:
            return values.cast(pa.list_(pa.timestamp("ms", "UTC"))).cast(pa.list_(pa.int64())).cast(wanted)
        return values.cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).cast(wanted)
    return values.cast(wanted)


def reporting(work: Work) -> Work:
    """A worker's function whose errors about the data keep their class on the way to the driver."""

    @wraps(work)
    def guarded(batches: Batches) -> Batches:
        return reported(work(batches))

    return guarded


def reported(batches: Batches) -> Batches:
    """What a worker makes, with errors that are carried to the driver."""
    try:
        yield from batches
    except OmnigraphError as error:
        packed = pickle.dumps((type(error), error.args, error.__dict__))
        raise RuntimeError(f"omnigraph[{base64.b64encode(packed).decode()}] {error}") from error


@contextmanager
def unpacked(stage: str) -> Iterator[None]:
    """Raise what a worker reported as the error it was, anything else as a failure of Spark."""
    try:
        yield
    except OmnigraphError:
        raise
    except Exception as error:
        found = _CARRIED.search(str(error))
        if found is None:
            with translated(stage):
                raise
        cls, args, state = pickle.loads(base64.b64decode(found.group(1)))
        carried = cls.__new__(cls, *args)
        carried.args = args
        carried.__dict__.update(state)
        raise carried from None
