"""Damage and wrong input at the door are named for what they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.compiler.diagnostics import ParseError
from omnigraph.errors import BadRequest, NotFound, StorageError

SCHEMA = "node Hut { code: String @key }"


def test_a_manifest_with_a_missing_data_file_is_damage_and_not_an_empty_place(tmp_path: Path) -> None:
    og.init(tmp_path / "g", schema=SCHEMA)
    shutil.rmtree(tmp_path / "g" / "__manifest" / "data")
    with pytest.raises(StorageError, match="Not found"):
        og.open(tmp_path / "g")


def test_an_empty_place_is_no_graph(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is not a graph; create it with init"):
        og.open(tmp_path / "nothing")


def test_a_file_that_is_not_utf8_is_a_syntax_error_with_its_name(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pg"
    bad.write_bytes(b"node Hut { \xff }")
    with pytest.raises(ParseError, match=r"S000: byte 0xFF at offset 11 is not UTF-8[\s\S]*bad\.pg:1:12"):
        og.init(tmp_path / "g", schema=bad)


def test_a_directory_is_no_query(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    with pytest.raises(BadRequest, match="cannot be read: Is a directory"):
        graph.query(tmp_path)
