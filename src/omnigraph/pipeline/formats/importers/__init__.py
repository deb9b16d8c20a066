"""Importers: what people already have becomes a schema and one load commit.

Every `from_…` takes what to import and `into`: the place of a new graph, whose schema is drafted from the data, or a
graph that has fitting types already.
"""

from __future__ import annotations

from omnigraph.pipeline.formats.importers.bundle import Bundle, Imported
from omnigraph.pipeline.formats.importers.entry import (
    FORMATS,
    from_graphml,
    from_igraph,
    from_kuzu,
    from_neo4j_csv,
    from_neo4j_json,
    from_networkx,
    from_ntriples,
    import_from,
)

__all__ = [
    "FORMATS",
    "Bundle",
    "Imported",
    "from_graphml",
    "from_igraph",
    "from_kuzu",
    "from_neo4j_csv",
    "from_neo4j_json",
    "from_networkx",
    "from_ntriples",
    "import_from",
]
