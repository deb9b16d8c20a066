"""Command-line arguments against the command table: a parsed call, a request for help, or a usage error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from omnigraph.cli.commands import (
    COMMANDS,
    ELSEWHERE_COMMANDS,
    ELSEWHERE_OPTIONS,
    FORMER_COMMANDS,
    FORMER_OPTIONS,
    GROUPS,
    MISUNDERSTOOD,
    find,
)
from omnigraph.cli.table.globals import GLOBAL_OPTIONS, global_option
from omnigraph.cli.table.model import Argument, Command, Option
from omnigraph.cli.table.place import Misplaced, place

_HELP = ("--help", "-h")
_VERSION = ("--version", "-v")


class UsageError(Exception):
    """The arguments do not fit the table; `path` is as far as a command was recognized."""

    def __init__(self, message: str, path: tuple[str, ...] = (), hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Help:
    """Help was asked for, or is all that can be said: then `asked` is false."""

    path: tuple[str, ...]
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Version:
    """The release was asked for."""


@dataclass(slots=True)
class Parsed:
    """A command with the values given for its options and arguments; switches hold an empty text."""

    command: Command
    options: dict[str, list[str]] = field(default_factory=dict)
    arguments: dict[str, list[str]] = field(default_factory=dict)


def parse(argv: Sequence[str]) -> Parsed | Help | Version:
    """What the arguments ask for; UsageError when they make no sense."""
    return _Reader(list(argv)).read()


class _Reader:
    """One pass over the arguments."""

    def __init__(self, argv: list[str]) -> None:
        self.rest = argv
        self.path: tuple[str, ...] = ()
        self.command: Command | None = None
        self.options: dict[str, list[str]] = {}
        self.positionals: list[str] = []

    def read(self) -> Parsed | Help | Version:
        while self.rest:
            token = self.rest.pop(0)
            if token == "--" and self.command is not None:
                self.positionals += self.rest
                break
            if token in _HELP:
                return Help(self.path)
            if token in _VERSION and not self.path:
                return Version()
            if token.startswith("-") and len(token) > 1:
                self._option(token)
            elif self.command is None:
                self._descend(token)
            else:
                self.positionals.append(token)
        if self.command is None:
            return Help(self.path, asked=False)
        return _checked(Parsed(self.command, self.options, self._placed(self.command)))

    # --- commands --------------------------------------------------------------------------------

    def _descend(self, word: str) -> None:
        path = (*self.path, word)
        self.command = find(path)
        if self.command is None and not (len(path) == 1 and word in GROUPS):
            raise UsageError(f"unrecognized command '{' '.join(path)}'", self.path, _nearest(path))
        self.path = path if self.command is None else self.command.path

    # --- options ---------------------------------------------------------------------------------

    def _option(self, token: str) -> None:
        name, value = _split(token)
        option = global_option(name) or (self.command.option(name) if self.command is not None else None)
        if option is None:
            raise UsageError(f"unexpected argument '{name}' found", self.path, self._replacement(name))
        given = self.options.setdefault(option.name, [])
        if option.metavar is None:
            if value is not None:
                raise UsageError(f"'{option.name}' takes no value, but '{value}' was given", self.path)
            given[:] = [""]
            return
        if value is None:
            value = self._value_of(option)
        if global_option(option.name) is not None:
            given[:] = [value]  # the deepest one wins
        elif given and not option.repeats:
            raise UsageError(f"the argument '{option.shown}' cannot be used multiple times", self.path)
        else:
            given.append(value)
        _check_value(option, value, self.path)
        while option.pairs and self.rest and self.rest[0].partition("=")[0] in option.pairs and "=" in self.rest[0]:
            given.append(self.rest.pop(0))

    def _value_of(self, option: Option) -> str:
        if not self.rest or (self.rest[0].startswith("--") and self._knows(self.rest[0])):
            hint = MISUNDERSTOOD.get((" ".join(self.path), option.name))
            raise UsageError(f"a value is required for '{option.shown}' but none was given", self.path, hint)
        return self.rest.pop(0)

    def _knows(self, token: str) -> bool:
        name, _ = _split(token)
        return global_option(name) is not None or (self.command is not None and self.command.option(name) is not None)

    def _replacement(self, name: str) -> str | None:
        if self.command is None:
            return "options of a command come after its name"
        other = self.command.option(ELSEWHERE_OPTIONS.get(name, ""))
        if other is not None:
            return f"use {other.shown}"
        return FORMER_OPTIONS.get(name) or _nearest_option(name, self.command)

    # --- positional arguments --------------------------------------------------------------------

    def _placed(self, command: Command) -> dict[str, list[str]]:
        try:
            placed = place(command, self.positionals, self.options)
        except Misplaced as error:
            raise UsageError(error.message, self.path, error.hint) from None
        for argument in command.arguments:
            if argument.name in placed:
                _check_choice(argument, placed[argument.name][0], self.path)
        return placed


def _split(token: str) -> tuple[str, str | None]:
    """`--name=value`, or `-evalue`, in two."""
    if token.startswith("--"):
        name, separator, value = token.partition("=")
        return name, value if separator else None
    return token[:2], token[2:].removeprefix("=") or None


def _check_value(option: Option, value: str, path: tuple[str, ...]) -> None:
    if option.choices and value not in option.choices:
        raise _not_a_choice(value, option.shown, option.choices, path)
    if option.pairs and (value.partition("=")[0] not in option.pairs or "=" not in value):
        known = ", ".join(f"{name}=…" for name in option.pairs)
        raise UsageError(f"invalid value '{value}' for '{option.shown}' [possible values: {known}]", path)
    if option.number and not (value.isascii() and value.isdigit() and len(value) <= 20 and int(value) < 2**option.bits):
        wanted = f"a whole number below 2^{option.bits}"
        raise UsageError(f"invalid value '{value}' for '{option.shown}': expected {wanted}", path)


def _check_choice(argument: Argument, value: str, path: tuple[str, ...]) -> None:
    if argument.choices and value not in argument.choices:
        raise _not_a_choice(value, argument.shown, argument.choices, path)


def _not_a_choice(value: str, shown: str, choices: Sequence[str], path: tuple[str, ...]) -> UsageError:
    near = nearest_word(value, choices)
    hint = f"did you mean `{near}`?" if near else None
    return UsageError(f"invalid value '{value}' for '{shown}' [possible values: {', '.join(choices)}]", path, hint)


def _checked(parsed: Parsed) -> Parsed:
    command = parsed.command
    for one, other in command.conflicts:
        if one in parsed.options and other in parsed.options:
            names = [option.shown if (option := command.option(name)) else name for name in (one, other)]
            raise UsageError(f"the argument '{names[0]}' cannot be used with '{names[1]}'", command.path)
    missing = [option.shown for option in command.options if option.required and option.name not in parsed.options]
    missing += [each.shown for each in command.arguments if each.required and each.name not in parsed.arguments]
    missing += [needed for name, needed in command.needs if name in parsed.options and needed not in parsed.options]
    if command.either and not any(name in parsed.options for name in command.either):
        ways = [command.option(name) or global_option(name) for name in command.either]
        missing.append(" or ".join(option.shown for option in ways if option is not None))
    if missing:
        raise UsageError(f"required arguments were not provided: {', '.join(missing)}", command.path)
    return parsed


def _nearest_option(name: str, command: Command) -> str | None:
    near = nearest_word(name, [option.name for option in (*command.listed_options, *GLOBAL_OPTIONS)])
    return f"did you mean `{near}`?" if near else None


def _nearest(path: tuple[str, ...]) -> str | None:
    if len(path) == 1 and path[0] in FORMER_COMMANDS:
        return f"`{path[0]}` is now `omnigraph {FORMER_COMMANDS[path[0]]}`"
    if len(path) == 1 and path[0] in ELSEWHERE_COMMANDS:
        return f"try `omnigraph {ELSEWHERE_COMMANDS[path[0]]}`"
    level = len(path) - 1
    known = {command.path[level] for command in COMMANDS if command.path[:level] == path[:level]}
    near = nearest_word(path[-1], sorted(known))
    return f"did you mean `{' '.join((*path[:-1], near))}`?" if near else None


def nearest_word(word: str, known: Sequence[str]) -> str | None:
    """The word that was probably meant: one with the same letters in another order before any other.

    >>> nearest_word("inti", ["init", "lint"]), nearest_word("lnit", ["lint", "init"]), nearest_word("x", ["init"])
    ('init', 'lint', None)
    """
    from difflib import get_close_matches

    found = get_close_matches(word, known, n=3)
    return next((each for each in found if sorted(each) == sorted(word)), found[0] if found else None)
