"""Loading and exporting records of an opened graph in one call each, as tests need it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from omnigraph.engine.changes.export import export_jsonl
from omnigraph.engine.intake.ndjson import decode_ndjson
from omnigraph.engine.values.result import LoadMode, LoadResult
from omnigraph.engine.views.core import Core
from omnigraph.engine.write.load import LoadCall, run_load


def load_lines(core: Core, data: bytes | str, mode: LoadMode, branch: str | None = None) -> LoadResult:
    """Load NDJSON text through the real decoder, validator and commit protocol."""
    raw = data.encode() if isinstance(data, str) else data
    return run_load(core, LoadCall(lambda catalog, intake: decode_ndjson(raw, catalog, intake), mode, branch))


def export_text(core: Core, branch: str | None = None, types: Sequence[str] = ()) -> str:
    """The export of a branch as text."""
    return b"".join(export_jsonl(core.view(branch), types)).decode()


def ndjson(records: Iterable[Mapping[str, Any]]) -> str:
    """Records as lines."""
    return "".join(json.dumps(record) + "\n" for record in records)
