"""Values of nodes as edges between nodes: to the first of a group, or from where distances were measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def group_links(values: pa.Table) -> pa.Table:
    """Every node that is not the first of its group, with that first one; `value` is the group."""
    groups = values.column(2).to_numpy()
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    leader = first[place]
    others = pa.array(leader != np.arange(len(groups)))
    heads = values.take(pa.array(leader))
    return _links(values, heads, values.column(2)).filter(others)


def distance_links(source: Sequence[str], values: pa.Table) -> pa.Table:
    """The source with every other node it reaches; `value` is the distance."""
    reached = values.filter(pc.greater(values.column(2), 0))
    at = pc.index(pc.equal(values.column(2), 0), True).as_py()
    start = values.slice(at, 1)
    assert start["id"][0].as_py() == source[0]
    tails = start.take(pa.array(np.zeros(reached.num_rows, np.int64)))
    return _links(tails, reached, reached.column(2))


def _links(tails: pa.Table, heads: pa.Table, value: pa.ChunkedArray) -> pa.Table:
    return pa.table(
        {
            "from": tails["id"],
            "from_type": tails["type"],
            "to": heads["id"],
            "to_type": heads["type"],
            "value": value,
        }
    )
