"""What a load leads to, in a form that can be compared: an error with its details, or the graph afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from load_cases import Case

import omnigraph as og
from omnigraph.engine.api.runners import LoadRequest, run
from omnigraph.engine.values.result import LoadResult
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.lifecycle import create_graph, open_graph
from omnigraph.engine.write.load_rows import parse_mode
from omnigraph.testing.loads import export_text, load_lines

ULID = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
Load = Callable[[Core, LoadRequest], LoadResult]


def inline(core: Core, request: LoadRequest) -> LoadResult:
    """The plain load of this process."""
    return run(core, request, "inline")


def outcome(place: Path, case: Case, load: Load) -> dict[str, Any]:
    """Play a case on a fresh graph. Generated ids differ from run to run, so only their order is kept."""
    create_graph(place / "graph", case.schema)
    core = open_graph(place / "graph")
    if case.before:
        load_lines(core, case.before, "overwrite")
    file = place / "input.jsonl"
    file.write_bytes(case.data)
    head = core.state(None).effective_head
    try:
        done = load(core, LoadRequest(data=str(file), mode=parse_mode(case.mode)))
    except og.OmnigraphError as error:
        found: dict[str, Any] = {
            "error": type(error).__name__,
            "code": error.code,
            "message": plain(str(error), place),
            "details": plain(str(error.details()), place),
        }
    else:
        found = {"nodes": dict(done.nodes), "edges": dict(done.edges), "committed": done.commit is not None}
    found["moved"] = core.state(None).effective_head != head
    found["graph"] = plain(export_text(core), place)
    found["left"] = sorted(path.name for path in (place / "graph" / "__loads").glob("*"))
    return found


def plain(text: str, place: Path) -> str:
    """A text without what differs between two runs."""
    return ULID.sub("<id>", text).replace(str(place), "")
