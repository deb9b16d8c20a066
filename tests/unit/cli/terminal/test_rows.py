"""The five formats of rows."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.cli.terminal.rows import Envelope, render
from omnigraph.engine.values.text_table import TextLayout

WIDE = TextLayout()


def answer(*rows: Any, columns: tuple[str, ...] = ("a", "b"), **more: Any) -> Envelope:
    return Envelope("q", more.get("branch", "main"), more.get("snapshot"), columns, rows)


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("table", "0 rows from branch main via q\na | b\n--+--\n"),
        ("kv", "0 rows from branch main via q\n(no rows)\n"),
        ("csv", "a,b\n"),
        ("jsonl", ""),
    ],
)
def test_no_rows(format: str, expected: str) -> None:
    assert render(answer(), format, WIDE) == expected


def test_a_table_without_columns_says_so() -> None:
    assert render(answer(columns=()), "table", WIDE) == "0 rows from branch main via q\n(no rows)\n"


def test_absent_columns_are_left_out_of_the_document_and_found_in_the_rows() -> None:
    found = answer({"b": 1}, {"a": 2}, columns=())
    assert "columns" not in found.to_json()
    assert "graph_commit_id" not in found.to_json()
    assert render(found, "csv", WIDE) == "a,b\nnull,1\n2,null\n"


def test_rows_that_are_no_objects_become_values() -> None:
    assert render(answer(3, "x", columns=()), "csv", WIDE) == "value\n3\nx\n"


def test_csv_quotes_only_what_needs_it() -> None:
    rows = [{"a": 'say "hi"', "b": "x,y"}, {"a": "two\nlines", "b": None}, {"a": [1, 2], "b": {"k": "ü"}}]
    expected = 'a,b\n"say ""hi""","x,y"\n"two\nlines",null\n"[1,2]","{""k"":""ü""}"\n'
    assert render(answer(*rows), "csv", WIDE) == expected


def test_kv_separates_rows_by_a_blank_line() -> None:
    text = render(answer({"a": 1, "b": True}, {"a": 2**60, "b": None}), "kv", WIDE)
    assert text == f"2 rows from branch main via q\nrow 1\na: 1\nb: true\n\nrow 2\na: {2**60}\nb: null\n"


def test_long_cells_are_cut() -> None:
    text = render(answer({"a": "x" * 30, "b": "a\nb"}), "table", TextLayout(max_width=10))
    assert text.splitlines()[1:] == ["a          | b   ", "-----------+-----", "xxxxxxxxx… | a\\nb"]


def test_long_cells_wrap() -> None:
    text = render(answer({"a": "0123456789abc", "b": "z"}), "table", TextLayout(max_width=10, wraps=True))
    assert text.splitlines()[3:] == ["0123456789 | z", "abc        |  "]


def test_header_names_are_never_cut() -> None:
    text = render(answer({"a-very-long-name": 1}, columns=("a-very-long-name",)), "table", TextLayout(max_width=3))
    assert text.splitlines()[1] == "a-very-long-name"


def test_the_headline_names_the_snapshot_or_nothing() -> None:
    assert render(answer(branch=None, snapshot="01J"), "kv", WIDE).startswith("0 rows from snapshot 01J via q")
    assert render(answer(branch=None), "kv", WIDE).startswith("0 rows from target via q")
