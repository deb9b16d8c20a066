"""Light maintenance: commits stay fast and small because writers fold and trim what commits leave behind.

Everything here preserves content, so the next writer builds on it, an interruption leaves nothing to recover, and a
failure is not worth more than a log line.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.publication import Published
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.compact import mark
from omnigraph.storage.lance.reclaim import drop_transactions
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import address_of
from omnigraph.storage.protocol import fence
from omnigraph.storage.protocol.drafts import note_newest
from omnigraph.storage.protocol.reserve import keep_reserve
from omnigraph.storage.protocol.trim import trim_manifest

_TRANSACTIONS = 8  # as many stay in a lineage at most, so that listing them costs microseconds

_log = logging.getLogger(__name__)


def after_commit(store: Store, published: Published, written: Iterable[TableHandle], own: Collection[str]) -> None:
    """Compact and trim the manifest, and compact the tables just written, past their thresholds; never raises.

    `own` are the operations that were published just now, whose sidecars are still there.
    """
    settings = store.settings
    keep_reserve(store.root)
    try:
        if 0 < settings.manifest_compact_fragments <= published.fragments:
            place = address_of(store.root, published.state.branch)
            manifest.compact_manifest(place, state=published.state)
            if keep := settings.manifest_keep_versions:
                trim_manifest(place, keep=keep, at_least=keep, state=published.state, own=own)
            _drop_transactions(place)
        for handle in {handle.address: handle for handle in written}.values():  # the newest one of each
            if 0 < settings.table_compact_fragments <= handle.fragment_count():
                _compact_table(handle)
            _drop_transactions(handle.address)
    except Exception as error:
        _log.info("compaction after commit %s was left out: %s", published.commit.graph_commit_id, error)


def _drop_transactions(address: Address) -> None:
    # On object stores every one of them would be a request more; there they go with a cleanup.
    if address.root.is_local:
        drop_transactions(address, at_least=_TRANSACTIONS)


def _compact_table(handle: TableHandle) -> None:
    compacted = tables.compact(handle, tiered=True)
    if compacted.version != handle.version:
        marked = mark(compacted, since=handle)
        if fence.content_equal(marked, handle.version):  # asked once, and not by each of those who prepare meanwhile
            note_newest(marked, handle.version)
