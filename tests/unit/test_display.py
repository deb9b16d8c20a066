"""Everything public shows itself readably, at a prompt and in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og


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
    found |= {"blame": graph.commits.blame("P", "b"), "history": graph.commits.history("P", "b")}
    found |= {"transaction": graph.transaction(), "log": graph.commits.log(), "listing": graph.commits.list()}
    found |= {"names": graph.branches.list(), "named": graph.tags.list(), "described": graph.describe()}
    found |= {"prepared": graph.prepare("match { $p: P } return { $p.k }"), "indexes": graph.indexes()}
    found |= {
        "page": graph.commits.changes("HEAD"),
        "feed": graph.changes.poll(start="beginning"),
        "check": graph.check(),
    }
    found |= {"plan": graph.schema.plan("node P { k: String @key more: I32? }\nedge E: P -> P")}
    found |= {"cleanup": graph.cleanup(keep=1), "snapshot": graph.snapshot(), "neighbours": graph.neighbours("P", "b")}
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


def test_options_show_what_differs_from_the_defaults(shown: dict[str, Any]) -> None:
    assert repr(shown["settings"]) == "Settings()"
    assert repr(og.Settings(memory="2GiB", sync=False)) == "Settings(memory='2GiB', sync=False)"
    assert repr(og.Limits(seconds=5, rows=None)) == "Limits(seconds=5, rows=None)"  # None lifts a ceiling
    html = shown["settings"]._repr_html_()
    assert ">lease_ttl_ms</th>" in html
    assert "None" not in html


def test_what_happened_is_a_table(shown: dict[str, Any]) -> None:
    head = shown["commit"].graph_commit_id
    for name, words in {
        "blame": (">k</td>", ">&#x27;b&#x27;</td>", head, ">one more</td>"),
        "history": (head, ">insert</td>", "k: None -&gt; &#x27;b&#x27;"),
        "difference": (">insert</td>", ">P</td>", ">b</td>"),
        "listing": (head, ">mutate</td>", ">P: +1</td>", " UTC</td>"),
        "log": (">main, t</td>", head),
        "names": (">main</td>",),
        "named": (">t</td>", head),
        "page": (head, ">insert</td>"),
        "plan": ("supported: yes",),
    }.items():
        for word in words:
            assert word in shown[name]._repr_html_(), (name, word, shown[name]._repr_html_())
    assert repr(shown["difference"]).endswith(" of 'main': 1 inserted, 0 updated, 0 deleted>")
    assert repr(shown["transaction"]).endswith("shown0/g.omni', not entered>")
    assert repr(shown["prepared"]) == "Prepared(unnamed())"
    assert repr(shown["names"]) == "['main']"
