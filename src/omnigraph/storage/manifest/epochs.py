"""Which batches of a stream a branch has: the commit that brings the rows of a batch says which one it is."""

from __future__ import annotations

from omnigraph.errors import BadRequest
from omnigraph.storage.manifest.commits import Lineage
from omnigraph.storage.manifest.note import Epoch


class EpochSeen(Exception):
    """The branch has this batch; there is nothing to do."""


def require_next(lineage: Lineage, epoch: Epoch) -> None:
    """Refuse a batch that the branch has, and one that another checkpoint has numbered, which it may have or not."""
    last = lineage.latest_epoch(epoch.stream)
    if last is None:
        return
    if last.checkpoint != epoch.checkpoint:
        raise BadRequest(
            f"stream '{epoch.stream}' has written batches 0 to {last.batch} from another checkpoint"
            f" ({last.checkpoint}, now {epoch.checkpoint}), so batches cannot be told apart: give the stream of a"
            " new checkpoint a new name"
        )
    if epoch.batch <= last.batch:
        raise EpochSeen
