"""Tables of text."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.engine.values.text_table import TextColumn, TextLayout, text_table, value_column


def shown(values: list[Any]) -> TextColumn:
    return value_column("v", values, ["null" if value is None else str(value) for value in values])


def test_numbers_stand_on_the_right_and_everything_else_on_the_left() -> None:
    lines = text_table([shown([1, 200]), value_column("w", ["a", "bb"], ["a", "bb"])], TextLayout())
    assert lines == ["  v | w ", "----+---", "  1 | a ", "200 | bb"]


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([0.1 + 0.2, 1.0], ["0.3", "1.0"]),
        ([1 / 3, 2.5], ["0.3333", "2.5000"]),
        ([3.0, None], ["3.0", "null"]),
        ([1234567.891, 12.0], ["1234567.891", "12.000"]),
        ([1e-9, 1e300, 0.0], ["1e-09", "1e+300", "0.0"]),
        ([float("inf"), 1.25], ["inf", "1.25"]),
        ([2**60, -1], [str(2**60), "-1"]),
    ],
)
def test_floats_are_rounded_with_their_points_aligned(values: list[Any], cells: list[str]) -> None:
    column = shown(values)
    assert (list(column.cells), column.numeric) == (cells, True)


@pytest.mark.parametrize("values", [[True, False], [1, "x"], [None, None], [[1], [2]]])
def test_what_is_not_all_numbers_is_text(values: list[Any]) -> None:
    assert not shown(values).numeric


def test_control_characters_are_written_out() -> None:
    assert list(shown(["a\nb", "\x1b[31mred", "Zoë"]).cells) == ["a\\nb", "\\x1b[31mred", "Zoë"]


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    names = value_column("n", ["李雷", "Zoe\u0308", "Ada"], ["李雷", "Zoe\u0308", "Ada"])
    lines = text_table([names, shown([1, 2, 3])], TextLayout())
    assert lines == ["n    | v", "-----+--", "李雷 | 1", "Zoe\u0308  | 2", "Ada  | 3"]


@pytest.mark.parametrize(
    ("layout", "rows"),
    [
        (TextLayout(8), ["你好你… |", "abcdefg…|"]),
        (TextLayout(8, wraps=True), ["你好你好|", "世界    |", "abcdefgh|", "ijkl    |"]),
    ],
)
def test_wide_cells_are_cut_and_wrapped_by_what_they_take_on_the_screen(layout: TextLayout, rows: list[str]) -> None:
    texts = ["你好你好世界", "abcdefghijkl"]
    lines = text_table([value_column("n", texts, texts)], layout)
    assert [f"{line}|" for line in lines[2:]] == rows
