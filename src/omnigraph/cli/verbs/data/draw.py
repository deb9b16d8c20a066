"""`draw` and `schema draw`: pictures in a file, or a tree on the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.cli.address.target import AnyGraph, in_storage, read_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.params import params_of
from omnigraph.cli.input.query_text import declared_query, source_of, text_params
from omnigraph.cli.terminal import output
from omnigraph.display import counted
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.compiler.catalog.model import Catalog
    from omnigraph.render.neighbourhood import Readable
    from omnigraph.render.picture import Picture


def draw_types(call: Call) -> None:
    """The schema as a picture."""
    from omnigraph.render.types import draw_schema

    with read_target(call).reader() as graph:
        source = graph.schema.source
        picture = draw_schema(_declared(source), source)
    _show(call, picture)


def draw(call: Call) -> None:
    """An entity and what is around it, or what a query found."""
    with read_target(call).reader() as graph:
        picture = _picture(call, graph)
    _show(call, picture)


def _picture(call: Call, graph: AnyGraph) -> Picture:
    from omnigraph.render.answer import draw_answer
    from omnigraph.render.labels import labels_of
    from omnigraph.render.neighbourhood import draw_neighbourhood

    place, source = _place(call, graph)
    labels = labels_of(_declared(source), call.many("--label"), source)
    limit = _at_least_one(call, "--limit")
    centre = call.text("--from")
    if centre is not None:
        kind, _, name = centre.partition(":")
        if not name:
            raise BadRequest(f"--from takes TYPE:ID, as in Person:alice, not '{centre}'")
        return draw_neighbourhood(place, labels, kind, name, depth=_at_least_one(call, "--depth"), limit=limit)
    with source_of(call) as text:
        if text is None:
            raise BadRequest("say what to draw: --from TYPE:ID, --query FILE or -e TEXT")
        query = call.argument("NAME")
        params = params_of(call, lambda: text_params(declared_query(text, query)))
        return draw_answer(place, labels, text, query, params, limit=limit)


def _place(call: Call, graph: AnyGraph) -> tuple[Readable, str]:
    """What is drawn, and the text of its schema; a server has only the current one."""
    snapshot = call.text("--snapshot")
    stored = in_storage(graph)
    if stored is not None:
        place = stored.at(snapshot) if snapshot is not None else stored.branch(call.value("--branch"))
        return place, place.schema.source
    return (graph.branch(call.value("--branch")) if snapshot is None else _Past(graph, snapshot)), graph.schema.source


@dataclass(frozen=True, slots=True)
class _Past:
    """A served graph as of a commit."""

    graph: AnyGraph
    snapshot: str

    def query(self, source: str, name: str | None = None, params: dict[str, Any] | None = None) -> Any:
        return self.graph.query(source, name, params, at=self.snapshot)

    def get(self, type_name: str, entity_id: str) -> dict[str, Any] | None:
        return self.graph.get(type_name, entity_id, at=self.snapshot)


def _declared(source: str) -> Catalog:
    """The types of a schema text, which a server returns as well."""
    from omnigraph.compiler.catalog import compile_schema

    return compile_schema(source)


def _show(call: Call, picture: Picture) -> None:
    path = call.text("--out")
    if path is None:
        from omnigraph.render.text import to_tree

        output.write(to_tree(picture))
        return
    write_picture(path, picture)
    counts = counted(len(picture.boxes), "node"), counted(picture.edges, "edge")
    output.line(f"wrote {path}: {', '.join(counts)}")
    if picture.cut:
        output.note("some nodes were left out; raise --limit to see them")


def write_picture(path: str, picture: Picture) -> None:
    """Write a picture in the form that the file's ending asks for."""
    from omnigraph.render.render import render

    data = render(picture, path)
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise BadRequest(f"cannot write '{path}': {error.strerror}") from error


def _at_least_one(call: Call, name: str) -> int:
    found = call.number(name)
    if found is None or found < 1:
        raise BadRequest(f"{name} must be at least 1")
    return found
