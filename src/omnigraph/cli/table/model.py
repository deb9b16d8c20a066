"""The vocabulary of the command table: options, arguments, commands and what they may be addressed with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Capability(Enum):
    """What a command needs to reach: the value is how messages call it."""

    DATA = "data"
    SERVED = "served"
    DIRECT = "direct (storage-native)"
    CONTROL = "cluster control"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Option:
    """One option; without a `metavar` it is a switch."""

    name: str
    help: str
    metavar: str | None = None
    short: str | None = None
    choices: tuple[str, ...] = ()
    repeats: bool = False
    required: bool = False
    number: bool = False
    bits: int = 32
    default: str | None = None
    pairs: tuple[str, ...] = ()  # the option takes `name=value` with these names, as many as follow
    former: bool = False  # an older spelling: taken, but neither listed nor offered

    @property
    def shown(self) -> str:
        """How messages and usage lines spell it: `--mode <MODE>`."""
        return self.name if self.metavar is None else f"{self.name} <{self.metavar}>"


@dataclass(frozen=True, slots=True)
class Argument:
    """One positional argument."""

    name: str
    help: str
    required: bool = False
    repeats: bool = False
    choices: tuple[str, ...] = ()
    graph: bool = False  # says which graph; --store may say it instead

    @property
    def shown(self) -> str:
        """How usage lines spell it: `<URI>`, `[URI]`, `[ARG]...`."""
        name = f"<{self.name}>" if self.required else f"[{self.name}]"
        return f"{name}..." if self.repeats else name


@dataclass(frozen=True, slots=True)
class Command:
    """One leaf of the command line.

    `accepts` names the addressing options it can consume; `label` is what messages about addressing call it;
    `handler` is `module.function` below `omnigraph.cli.verbs`; `conflicts` are pairs that exclude each other;
    of `either` at least one has to be given.
    """

    path: tuple[str, ...]
    capability: Capability
    summary: str
    handler: str
    accepts: frozenset[str] = frozenset()
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    needs: tuple[tuple[str, str], ...] = ()
    either: tuple[str, ...] = ()
    label: str = ""
    notes: str = ""
    also: str | None = None

    @property
    def name(self) -> str:
        return " ".join(self.path)

    @property
    def addressed_as(self) -> str:
        """The command's name in messages about addressing."""
        return self.label or self.name

    @property
    def graph(self) -> Argument | None:
        """The argument that says which graph the command works on."""
        return next((argument for argument in self.arguments if argument.graph), None)

    @property
    def listed_options(self) -> tuple[Option, ...]:
        """The options that help, completion and the reference show."""
        return tuple(option for option in self.options if not option.former)

    def option(self, name: str) -> Option | None:
        """The option with this long or short name."""
        return next((option for option in self.options if name in (option.name, option.short)), None)
