"""`%%gq` runs cells."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import omnigraph as og


@pytest.fixture
def shell(roads: og.Graph) -> Iterator[Any]:
    own = sys.modules["__main__"]  # a shell puts its own module there, and processes are spawned by what that one says
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "omnigraph")
    made.user_ns.update(g=roads)
    yield made
    made.reset()
    InteractiveShell.clear_instance()
    sys.modules["__main__"] = own


def test_a_cell_is_a_query_with_variables_as_parameters(shell: Any) -> None:
    shell.user_ns["code"] = "B"
    text = "query q($code: String) { match { $c: City { code: $code } } return { $c.name } }"
    found = shell.run_cell_magic("gq", "g", text)
    assert found.rows() == [{"c.name": "Bern"}]
    assert shell.run_cell_magic("gq", "-o kept", "match { $c: City } return { count($c) as n }") is None
    assert shell.user_ns["kept"].scalar() == 3
    assert shell.run_cell_magic("gq", "--at HEAD~1", "match { $c: City } return { count($c) as n }").scalar() == 0


def test_plans_drawings_and_changes(shell: Any) -> None:
    assert "scan" in str(shell.run_cell_magic("gq", "g --explain", "match { $c: City } return { $c.name }"))
    assert shell.run_cell_magic("gq", "--draw", "match { $c: City } return { $c }").startswith("<svg")
    shell.user_ns["g"].branches.create("try")
    done = shell.run_cell_magic("gq", "--branch try", 'insert Line { slug: "green", about: "new" }')
    assert done.affected_nodes == 1


def test_a_mistake_is_a_message(shell: Any, tmp_path: Any) -> None:
    for line, text, said in (
        ("", "match { $c: City } return { $c.name }", "name a graph first"),
        (f"{tmp_path}/none", "x", "is neither a variable with a graph nor the place of one"),
        ("g", "match { $c: Cty } return { $c.name }", "did you mean 'City'"),
        ("g --colour", "x", "unrecognized arguments"),
        ("g --at HEAD", 'insert Line { slug: "grey", about: "new" }', "nothing can be changed at HEAD"),
    ):
        with pytest.raises(UsageError, match=said):
            shell.run_cell_magic("gq", line, text)
    assert shell.run_line_magic("gq", "g") is shell.user_ns["g"]
    place = str(shell.user_ns["g"].uri)
    assert shell.run_cell_magic("gq", place, "match { $c: City } return { count($c) as n }").scalar() == 3
