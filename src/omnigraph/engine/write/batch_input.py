"""What a caller of `mutate_many` may give, as mutations with their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from omnigraph.compiler.source import Source
from omnigraph.engine.values.batch_lines import batch_entry
from omnigraph.engine.views.lifecycle import Text, read_source
from omnigraph.engine.write.batch import Mutation
from omnigraph.errors import BadRequest


def mutations_of(given: Iterable[Any], source: Text | None = None) -> list[Mutation]:
    """The mutations of a batch; one without a `query` of its own is a query of `source`."""
    if isinstance(given, str | bytes | Mapping | PathLike):
        raise BadRequest("mutate_many takes a list of mutations; for a single one use mutate")
    texts: dict[Any, Source] = {}
    shared = None if source is None else read_source(source)

    def text_of(query: Any) -> Source:
        if query not in texts:
            texts[query] = read_source(query)
        return texts[query]

    found = []
    for index, each in enumerate(given):
        place = f"mutations[{index}]"
        entry = batch_entry(each, place)
        line = entry.get("line")
        place = place if line is None else f"line {line}"
        query = entry.get("query")
        if query is None and shared is None:
            raise BadRequest(f"{place}: 'query' is missing; give it here, or `source` for all of them")
        text = shared if query is None else text_of(query)
        assert text is not None
        found.append(Mutation(text, entry.get("name"), entry.get("params"), place))
    return found
