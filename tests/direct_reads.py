"""Direct reads beside the executor: both give the same rows, in every form, and count the same rows on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.read import query as query_module


def executed(graph: Any, text: str, params: Mapping[str, Any] | None) -> og.Result:
    """What the executor answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_module, "direct_answer", lambda *given: None)
        return graph.query(text, params=params)  # type: ignore[no-any-return]


def same_answers(graph: Any, text: str, params: Iterable[Mapping[str, Any] | None]) -> None:
    """Ask for each set of parameters, and compare with what the executor answers; `graph` may be an older state."""
    for each in params:
        expected, found = executed(graph, text, each), graph.query(text, params=each)
        assert found.to_arrow().equals(expected.to_arrow()), (text, each)
        assert found.to_arrow().schema == expected.to_arrow().schema
        assert (found.columns, found.rows(), len(found)) == (expected.columns, expected.rows(), len(expected))
        assert (found.tuples(), found.rows(js_safe=True)) == (expected.tuples(), expected.rows(js_safe=True))
        assert [*found[:1], *found[1:]] == expected.rows()
        steps = [
            [(step.depth, step.op, step.rows) for step in each.explanation.profile.steps] for each in (found, expected)
        ]
        assert steps[0] == steps[1], text
