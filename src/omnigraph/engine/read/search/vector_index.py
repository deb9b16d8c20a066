"""How a vector index is built and searched; measured with `python -m bench search`.

One byte per dimension orders the candidates, their exact distances decide. Up to a quarter of a million vectors form
one partition, which is searched whole: whatever the data look like, nothing is missed but for the quantisation. More
are partitioned, and a search looks through as many vectors again.
"""

from __future__ import annotations

INDEX_TYPE = "IVF_SQ"
# Of this many times the wanted vectors the exact distance is taken.
REFINE = 4
PROBES = 32
_PARTITION = 8_192


def partitions(rows: int) -> int:
    """How many partitions an index over so many vectors has."""
    return 1 if rows <= _PARTITION * PROBES else rows // _PARTITION
