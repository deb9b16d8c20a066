"""No public object shows itself as an address, and none that a notebook can show is without HTML."""

from __future__ import annotations

import enum
import inspect
import re
from typing import Any

import omnigraph as og
from omnigraph import aio
from omnigraph.display import ShownList
from omnigraph.engine.api.analytics import Analytics
from omnigraph.engine.api.spark import BatchSink, SparkView
from omnigraph.engine.read.shape.result import Pictured
from omnigraph.pipeline.analytics.api import GraphAnalytics
from omnigraph.pipeline.formats.importers.entry import Imported
from omnigraph.pipeline.formats.infer import Inference
from omnigraph.pipeline.spark.reader import SparkReader
from tests.public_types import Place, reachable

# How something is done, not what is done: reached from public objects, but not a part of the documented SDK.
_INSIDE = (
    "omnigraph.compiler.ir",
    "omnigraph.compiler.catalog.accepted",
    "omnigraph.compiler.catalog.steps",
    "omnigraph.compiler.diagnostics",
    "omnigraph.engine.views.partners",
    "omnigraph.engine.views.view",
    "omnigraph.memory",
    "omnigraph.render.picture",
    "omnigraph.storage.base",
    "omnigraph.storage.lance",
    "omnigraph.storage.manifest.rows",
)
# The declarations inside a catalog: a readable repr is enough, the schema draws itself.
_DECLARATIONS = ("omnigraph.compiler.catalog", "omnigraph.compiler.types", "omnigraph.compiler.source")
_PROTOCOLS = {Analytics, BatchSink, SparkView, Pictured}  # shown by what implements them
_LIST = re.compile(r"\blist\[([A-Z]\w+)\]")


def _public() -> dict[type, list[Place]]:
    named: dict[str, Any] = {name: getattr(og, name) for name in og.__all__}
    named |= {name: getattr(aio, name) for name in aio.__all__}
    classes = [each for each in named.values() if inspect.isclass(each)]
    classes += [GraphAnalytics, Imported, Inference, SparkReader]
    found = reachable({each.__name__: each for each in classes}, inside=_INSIDE)
    return {each: places for each, places in found.items() if each not in _PROTOCOLS}


def _shows_itself(kind: type) -> bool:
    """Errors have their message; words, numbers and tuples with names are shown as such."""
    return not issubclass(kind, BaseException | enum.Enum | tuple | str | int)


def test_the_walk_reaches_what_people_hold() -> None:
    names = {each.__name__ for each in _public()}
    assert names >= {"Difference", "EntityChange", "Blame", "BlamedProperty", "EntityHistory", "EntityEvent"}
    assert names >= {"GraphCommit", "LogEntry", "Tag", "Description", "Prepared", "Transaction", "Plan", "CheckReport"}
    assert names >= {"RemoteCommits", "RemotePrepared", "RemoteBlob", "AsyncTags", "AsyncGraphAt", "RemoteDifference"}


def test_no_public_class_has_the_repr_of_object() -> None:
    bare = {each.__name__: places for each, places in _public().items() if each.__repr__ is object.__repr__}
    assert bare == {}


def test_every_public_class_has_html() -> None:
    bare = {
        each.__name__: places
        for each, places in _public().items()
        if _shows_itself(each)
        and not each.__module__.startswith(_DECLARATIONS)
        and not hasattr(each, "_repr_html_")
        and not hasattr(each, "_repr_svg_")
    }
    assert bare == {}


def test_every_list_of_objects_shows_itself_as_a_table() -> None:
    plain = {
        place.member
        for places in _public().values()
        for place in places
        if _LIST.search(place.annotation) and not place.member.startswith("FeedPage.")
    }
    assert plain == set()


def test_a_long_list_is_cut_and_says_so() -> None:
    found = ShownList([og.Tag(f"t{number}", "01A", None, 1, 0) for number in range(70)])
    assert repr(found).count("\n") == 52
    assert repr(found).endswith("… and 20 more\n]")
    assert found._repr_html_().count("<tr>") == 51
    assert "<p>… and 20 more</p>" in found._repr_html_()
    assert repr(ShownList(["main"])) == "['main']"
    assert ShownList()._repr_html_() == "<p>none</p>"
    assert ">1970-01-01 00:00:00 UTC<" in found._repr_html_()


def test_the_parts_of_a_served_graph_name_its_address() -> None:
    with og.connect("http://localhost:1", graph="flights") as graph:
        for part in (graph.branches, graph.commits, graph.tags, graph.changes, graph.schema, graph.queries):
            assert "http://localhost:1/graphs/flights" in repr(part), part
            assert part._repr_html_().startswith("<pre>&lt;Remote")
        ask = graph.prepare("match { $a: Airport } return { $a.name }")
        assert repr(ask) == "RemotePrepared(match { $a: Airport } return { $a.name })"
