"""Arguments against the command table."""

from __future__ import annotations

import pytest

from omnigraph.cli.commands import COMMANDS, GROUPS
from omnigraph.cli.table.globals import ADDRESSING, GLOBAL_OPTIONS
from omnigraph.cli.table.parse import Help, Parsed, UsageError, Version, parse


def parsed(*argv: str) -> Parsed:
    found = parse(argv)
    assert isinstance(found, Parsed)
    return found


def test_global_options_stand_anywhere_and_the_deepest_wins() -> None:
    for argv in (
        ("--store", "g", "branch", "list"),
        ("branch", "--store", "g", "list"),
        ("branch", "list", "--store=g"),
        ("--store", "x", "branch", "list", "--store", "g"),
    ):
        assert parsed(*argv).options == {"--store": ["g"]}


def test_values_are_taken_with_equals_glued_or_next() -> None:
    assert parsed("query", "-eQ", "--params=", "--branch", "b").options == {
        "--query-string": ["Q"],
        "--params": [""],
        "--branch": ["b"],
    }


def test_an_option_may_look_like_one_when_it_is_a_value() -> None:
    assert parsed("query", "-e", "--nothing").options == {"--query-string": ["--nothing"]}
    with pytest.raises(UsageError, match="a value is required for '--query <FILE>'"):
        parse(["query", "--query", "--json"])


def test_two_dashes_end_the_options() -> None:
    assert parsed("alias", "who", "--", "--json").arguments == {"NAME": ["who"], "ARG": ["--json"]}


def test_repeatable_options_add_up_and_others_do_not() -> None:
    assert parsed("export", "--type", "A", "--type", "B").options == {"--type": ["A", "B"]}
    with pytest.raises(UsageError, match="cannot be used multiple times"):
        parse(["query", "--branch", "a", "--branch", "b"])


@pytest.mark.parametrize("number", ["x", "-1", "1.5", "4294967296", ""])
def test_numbers_are_checked(number: str) -> None:
    with pytest.raises(UsageError, match="whole number"):
        parse(["cleanup", f"--keep={number}"])


def test_help_is_for_as_much_as_was_said() -> None:
    assert parse(["--help"]) == Help(())
    assert parse(["branch", "-h"]) == Help(("branch",))
    assert parse(["branch", "merge", "--help"]) == Help(("branch", "merge"))
    assert parse(["schema"]) == Help(("schema",), asked=False)
    assert parse(["-v"]) == Version()


def test_the_table_is_sound() -> None:
    names = {option.name for option in GLOBAL_OPTIONS}
    paths = [command.path for command in COMMANDS]
    assert len(paths) == len(set(paths))
    for command in COMMANDS:
        assert len(command.path) == 1 or command.path[0] in GROUPS, command.name
        own = [option.name for option in command.options]
        assert len(own) == len(set(own)), command.name
        assert not names & set(own), f"{command.name} hides a global option"
        assert command.accepts <= set(ADDRESSING), command.name
        for pair in (*command.conflicts, *command.needs):
            assert set(pair) <= set(own) | command.accepts, f"{command.name}: {pair}"
        if "--store" in command.accepts and command.path not in (("alias",), ("import",)):
            assert command.graph is not None, f"{command.name} takes --store and no graph as an argument"
        optional = [argument.required for argument in command.arguments]
        assert optional == sorted(optional, reverse=True), command.name
