"""What a load leads to, in a form that can be compared: an error with its details, or the graph afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from load_cases import Case

import omnigraph as og
from omnigraph.engine.api.access import Access, access
from omnigraph.engine.api.runners import LoadRequest, run_load
from omnigraph.engine.values.result import LoadResult, parse_mode
from omnigraph.pipeline.runners import RUNNERS
from omnigraph.testing.graphs.loads import export_text, load_lines

ULID = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
Load = Callable[[Access, LoadRequest], LoadResult]


def inline(graph: Access, request: LoadRequest) -> LoadResult:
    """The plain load of this process."""
    return run_load(RUNNERS, graph, request, "inline")


def outcome(place: Path, case: Case, load: Load) -> dict[str, Any]:
    """Play a case on a fresh graph. Generated ids differ from run to run, so only their order is kept."""
    graph = og.init(place / "graph", case.schema)
    if case.before:
        load_lines(graph._core, case.before, "overwrite")
    file = place / "input.jsonl"
    file.write_bytes(case.data)
    head = graph.commits.head()
    try:
        done = load(access(graph), LoadRequest(data=str(file), mode=parse_mode(case.mode)))
    except og.OmnigraphError as error:
        found: dict[str, Any] = {
            "error": type(error).__name__,
            "code": error.code,
            "message": plain(str(error), place),
            "details": plain(str(error.details()), place),
        }
    else:
        found = {"nodes": dict(done.nodes), "edges": dict(done.edges), "committed": done.commit is not None}
    found["moved"] = graph.commits.head() != head
    found["graph"] = plain(export_text(graph._core), place)
    found["left"] = sorted(path.name for path in (place / "graph" / "__loads").glob("*"))
    return found


def plain(text: str, place: Path) -> str:
    """A text without what differs between two runs."""
    return ULID.sub("<id>", text).replace(str(place), "")
