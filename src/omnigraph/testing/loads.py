"""Loading and exporting records of an opened graph in one call each, as tests need it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from omnigraph.engine.core import Core
from omnigraph.engine.export import export_jsonl
from omnigraph.engine.write.commit import Committed, commit
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.load import LoadCounts, LoadInput, LoadMode, PreparedLoad, prepare_load
from omnigraph.engine.write.ndjson import decode_ndjson
from omnigraph.storage.capture import Txn
from omnigraph.storage.writeset import WriteSet


def load_lines(
    core: Core, data: bytes | str, mode: LoadMode, branch: str | None = None
) -> tuple[Committed, LoadCounts]:
    """Load NDJSON text through the real decoder, validator and commit protocol."""
    raw = data.encode() if isinstance(data, str) else data
    given = LoadInput(lambda catalog: decode_ndjson(raw, catalog))
    prepared: list[PreparedLoad] = []

    def prepare(txn: Txn) -> WriteSet:
        view = core.view_in(txn)
        prepared.append(prepare_load(given.under(view.catalog), mode, view.catalog, PinnedRows(view)))
        return prepared[-1].write_set

    return commit(core.store, branch, prepare), prepared[-1].counts


def export_text(core: Core, branch: str | None = None, types: Sequence[str] = ()) -> str:
    """The export of a branch as text."""
    return b"".join(export_jsonl(core.view(branch), types)).decode()


def ndjson(records: Iterable[Mapping[str, Any]]) -> str:
    """Records as lines."""
    return "".join(json.dumps(record) + "\n" for record in records)
