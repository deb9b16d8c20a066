"""References to objects outside the graph that an operation brings in: how many, and whether the objects are there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from omnigraph.engine.intake.records import TypeRows
from omnigraph.errors import ExternalBlobSource, ResourceLimitExceeded
from omnigraph.storage.base.external_objects import probed
from omnigraph.storage.lance.blob_cells import references

MAX_CELLS = 8_192


def require_reachable(uris: Sequence[str]) -> None:
    """Look for every object that is referred to, without reading it; the first that is not there is raised."""
    require_few(uris)
    for uri, trouble in probed(list(dict.fromkeys(uris))):
        if trouble is not None:
            raise ExternalBlobSource(uri, trouble)


def require_few(uris: Sequence[str]) -> None:
    """Refuse more references than one operation may bring in."""
    if len(uris) > MAX_CELLS:
        raise ResourceLimitExceeded("external Blob reference cells", limit=MAX_CELLS, actual=len(uris))


def new_references(parts: Iterable[TypeRows]) -> list[str]:
    """Every URI in rows that come in."""
    return [
        uri for part in parts for name in sorted(part.info.blobs) for uri in references(part.rows[name]).to_pylist()
    ]
