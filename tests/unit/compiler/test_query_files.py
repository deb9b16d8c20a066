"""Query files the way people write them: they parse, print stably and fit the schema beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.compiler.compile import compile_query, compile_schema
from omnigraph.compiler.query.format import format_queries
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.source import Source

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = sorted((GOLDEN / "queries").glob("*.gq"))
SCHEMA_OF = {"extensions": "social"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_real_file_parses_and_prints(path: Path, golden: Callable[[str, str], None]) -> None:
    file = parse_queries(path.read_bytes())
    text = format_queries(file)
    assert parse_queries(text) == file
    assert format_queries(parse_queries(text)) == text
    golden(f"queries/formatted/{path.stem}.gq", text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_real_file_fits_its_schema(path: Path) -> None:
    schema = GOLDEN / "schemas" / f"{SCHEMA_OF.get(path.stem, path.stem)}.pg"
    catalog = compile_schema(schema.read_bytes())
    source = Source(path.read_bytes().decode(), path.name)
    for query in parse_queries(source).queries:
        assert compile_query(source, catalog, name=query.name).name == query.name


def test_there_are_files_to_read() -> None:
    assert len(FILES) >= 10
