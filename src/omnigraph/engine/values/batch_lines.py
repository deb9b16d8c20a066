"""A batch of mutations as callers write it: mappings or pairs, or lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any, NoReturn

from omnigraph.compiler.source import Source
from omnigraph.errors import BadRequest

_MEMBERS = ("query", "name", "params", "line")


def batch_lines(data: bytes) -> list[dict[str, Any]]:
    """Lines of JSON as entries of a batch, each with the number of its line; empty lines are left out."""
    found = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line.decode(), parse_constant=_constant)
        except (ValueError, RecursionError) as error:
            raise BadRequest(f"line {number}: invalid JSON: {error}") from None
        if not isinstance(entry, dict):
            raise BadRequest(f"line {number}: a mutation is a JSON object with query, name and params")
        found.append(dict(batch_entry({**entry, "line": number}, f"line {number}")))
    return found


def batch_entry(given: Any, place: str) -> Mapping[str, Any]:
    """One mutation as a mapping, after looking at its members."""
    if isinstance(given, tuple) and len(given) == 2:
        given = {"query": given[0], "params": given[1]}
    if not isinstance(given, Mapping):
        raise BadRequest(f"{place}: a mutation is a mapping with query, name and params, or a pair of query and params")
    for member in given:
        if member not in _MEMBERS:
            raise BadRequest(f"{place}: unknown member '{member}' (expected query, name, params)")
    query, name, params = given.get("query"), given.get("name"), given.get("params")
    if query is not None and not isinstance(query, str | PathLike | Source):
        raise BadRequest(f"{place}: 'query' is a text or the path of a file")
    if name is not None and not isinstance(name, str):
        raise BadRequest(f"{place}: 'name' is a text")
    if params is not None and not isinstance(params, Mapping):
        raise BadRequest(f"{place}: 'params' is an object")
    return given


def _constant(text: str) -> NoReturn:
    raise ValueError(f"'{text}' is not a JSON value")
