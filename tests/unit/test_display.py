"""Everything public shows itself readably, at a prompt and in a notebook."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

# Protocols are shown by what implements them, errors by their message, words by themselves.
_NOT_SHOWN = {"Analytics", "SparkView", "OmnigraphError", "MergeOutcome"}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place: Path = tmp_path_factory.mktemp("shown")
    graph = og.init(place / "g.omni", "node P { k: String @key }\nedge E: P -> P")
    found: dict[str, Any] = {"load": graph.load(b'{"type":"P","data":{"k":"<a>"}}\n')}
    found["mutation"] = graph.mutate('insert P { k: "b" }', message="one more")
    found["explanation"] = graph.explain("match { $p: P } return { $p.k }")
    found["result"] = graph.query("match { $p: P } return { $p }")
    found["drawing"] = found["result"].draw()
    found |= {"graph": graph, "at": graph.at("HEAD"), "schema": graph.schema, "difference": graph.diff("HEAD~1")}
    found |= {"branches": graph.branches, "commits": graph.commits, "tags": graph.tags, "changes": graph.changes}
    found |= {"commit": graph.commits.list()[0], "tag": graph.tags.create("t"), "analytics": graph.analytics}
    found |= {"blame": graph.commits.blame("P", "b"), "transaction": graph.transaction()}
    found |= {"clone": og.clone(graph.uri, place / "copy.omni"), "settings": og.Settings(), "limits": og.Limits()}
    return found


def test_no_value_is_shown_as_an_address_or_a_wall(shown: dict[str, Any]) -> None:
    for name, value in shown.items():
        assert " object at 0x" not in repr(value), name
        assert len(repr(value)) < 1500, (name, repr(value))
        html = value._repr_svg_() if hasattr(value, "_repr_svg_") else value._repr_html_()
        assert html.startswith("<"), name
        assert " object at 0x" not in html, name
    assert "<a>" not in shown["result"]._repr_html_()


def test_what_is_not_set_is_not_shown(shown: dict[str, Any]) -> None:
    text = repr(shown["mutation"])
    assert text.startswith("MutationResult(branch='main', query_name='unnamed', affected_nodes=1")
    assert "actor_id" not in text
    assert "…" in text
    assert "affected_nodes</th>" in shown["mutation"]._repr_html_()
    assert "one more" in repr(shown["commit"])
    assert repr(shown["branches"]).startswith("<Branches of '")
    assert repr(shown["explanation"]).startswith("scan $p: P")
    assert "entities" in shown["graph"]._repr_html_()


def test_every_public_class_can_be_shown() -> None:
    for name in og.__all__:
        found = getattr(og, name)
        if inspect.isclass(found) and name not in _NOT_SHOWN:
            assert hasattr(found, "_repr_html_") or hasattr(found, "_repr_svg_"), name
            assert found.__repr__ is not object.__repr__, name
