"""The public importers: each reads one kind of source into a bundle and loads it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, Unpack

from omnigraph.engine.api.graph import Graph
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.importers.bundle import Bundle, Imported, LoadOptions
from omnigraph.pipeline.formats.importers.graphml import read_graphml
from omnigraph.pipeline.formats.importers.kuzu_database import read_kuzu
from omnigraph.pipeline.formats.importers.neo4j_csv import read_neo4j_csv
from omnigraph.pipeline.formats.importers.neo4j_json import read_neo4j_json
from omnigraph.pipeline.formats.importers.ntriples import read_ntriples
from omnigraph.pipeline.formats.importers.objects import read_igraph, read_networkx

StrPath: TypeAlias = str | os.PathLike[str]
Into: TypeAlias = Graph | StrPath

_READERS: dict[str, Callable[[Sequence[str]], Bundle]] = {
    "neo4j-csv": read_neo4j_csv,
    "neo4j-json": read_neo4j_json,
    "graphml": read_graphml,
    "ntriples": read_ntriples,
    "kuzu": read_kuzu,
}
FORMATS = tuple(_READERS)


class ImportOptions(LoadOptions, total=False):
    """What every importer takes: the options of `Graph.load`, and who acts when the graph is opened for it."""

    actor: str | None


def read_from(format: str, *sources: StrPath) -> Bundle:
    """Read files (or a directory, or a database) of a format without writing anything."""
    if format not in _READERS:
        raise BadRequest(f"unknown import format '{format}' (expected {', '.join(FORMATS)})")
    if not sources:
        raise BadRequest("name what to import")
    return _READERS[format]([os.fspath(source) for source in sources])


def import_from(format: str, *sources: StrPath, into: Into, **options: Unpack[ImportOptions]) -> Imported:
    """Import by the name of a format, as the command line does; `options` are those of `Graph.load`, and `actor`."""
    return read_from(format, *sources).load(into, **options)


def from_neo4j_csv(*sources: StrPath, into: Into, **options: Unpack[ImportOptions]) -> Imported:
    """CSV files with the headers of `neo4j-admin import`, or directories of them."""
    return import_from("neo4j-csv", *sources, into=into, **options)


def from_neo4j_json(*sources: StrPath, into: Into, **options: Unpack[ImportOptions]) -> Imported:
    """JSON lines as `apoc.export.json` writes them."""
    return import_from("neo4j-json", *sources, into=into, **options)


def from_graphml(*sources: StrPath, into: Into, **options: Unpack[ImportOptions]) -> Imported:
    """GraphML files."""
    return import_from("graphml", *sources, into=into, **options)


def from_ntriples(*sources: StrPath, into: Into, **options: Unpack[ImportOptions]) -> Imported:
    """RDF as N-Triples: types become node types, literals properties, everything else edges."""
    return import_from("ntriples", *sources, into=into, **options)


def from_kuzu(database: StrPath, into: Into, **options: Unpack[ImportOptions]) -> Imported:
    """A kuzu database; needs kuzu."""
    return import_from("kuzu", database, into=into, **options)


def from_networkx(
    graph: Any, into: Into, *, type_attribute: str = "type", **options: Unpack[ImportOptions]
) -> Imported:
    """A NetworkX graph; the attribute `type_attribute` of nodes and edges names their types where there is one."""
    return read_networkx(graph, type_attribute).load(into, **options)


def from_igraph(graph: Any, into: Into, *, type_attribute: str = "type", **options: Unpack[ImportOptions]) -> Imported:
    """An igraph graph; vertices are identified by `name` where they have one."""
    return read_igraph(graph, type_attribute).load(into, **options)
