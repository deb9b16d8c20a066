"""What a shell may offer for an unfinished command line, read off the command table and the operator config."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from omnigraph.cli.address.config import OperatorConfig, config_directory, load_config
from omnigraph.cli.commands import COMMANDS, GROUPS, find, members
from omnigraph.cli.input.files import read_text
from omnigraph.cli.table.globals import GLOBAL_OPTIONS, global_option
from omnigraph.cli.table.model import Command, Option
from omnigraph.errors import OmnigraphError


def candidates(words: Sequence[str], env: Mapping[str, str] = os.environ) -> list[str]:
    """Completions of the last word; none means that the shell may offer files."""
    *before, partial = words or [""]
    state = _walk(before)
    found = _offers(state, partial, env)
    return [word for word in found if word.startswith(partial)]


class _State:
    """How far the finished words have come."""

    def __init__(self) -> None:
        self.path: tuple[str, ...] = ()
        self.command: Command | None = None
        self.pending: Option | None = None
        self.values: dict[str, str] = {}
        self.positionals: list[str] = []


def _walk(words: Sequence[str]) -> _State:
    state = _State()
    for word in words:
        if state.pending is not None:
            state.values[state.pending.name] = word
            state.pending = None
        elif word.startswith("-") and len(word) > 1:
            option = global_option(word) or (state.command.option(word) if state.command is not None else None)
            state.pending = option if option is not None and option.metavar is not None else None
        elif state.command is None:
            state.path = (*state.path, word)
            state.command = find(state.path)
        else:
            state.positionals.append(word)
    return state


def _offers(state: _State, partial: str, env: Mapping[str, str]) -> list[str]:
    if state.pending is not None:
        return _values(state.pending, env)
    if partial.startswith("-"):
        return _option_names(state.command)
    if state.command is not None:
        return _positionals(state, state.command, env)
    if not state.path:
        return sorted({command.path[0] for command in COMMANDS})
    return sorted(command.path[-1] for command in members(state.path[0])) if state.path[0] in GROUPS else []


def _option_names(command: Command | None) -> list[str]:
    own = () if command is None else command.listed_options
    shared = [
        option
        for option in GLOBAL_OPTIONS
        if command is None or option.metavar is None or option.name in command.accepts
    ]
    return sorted({option.name for option in (*own, *shared)} | {"--help"})


def _values(option: Option, env: Mapping[str, str]) -> list[str]:
    if option.choices:
        return list(option.choices)
    named = _CONFIGURED.get(option.name)
    return [] if named is None else sorted(named(_config(env)))


def _positionals(state: _State, command: Command, env: Mapping[str, str]) -> list[str]:
    place = len(state.positionals)
    if place >= len(command.arguments):
        return []
    argument = command.arguments[place]
    if argument.choices:
        return list(argument.choices)
    if argument.name != "NAME":
        return []
    match command.path:
        case ("alias",):
            return sorted(_config(env).aliases)
        case ("login",) | ("logout",):
            return sorted(_config(env).servers)
        case ("profile", "show"):
            return sorted(_config(env).profiles)
        case ("query",) | ("mutate",):
            return _query_names(state.values.get("--query"))
        case _:
            return []


def _query_names(path: str | None) -> list[str]:
    if path is None:
        return []
    from omnigraph.compiler.query.parse import parse_queries

    try:
        return [query.name for query in parse_queries(read_text(path)).queries]
    except OmnigraphError:
        return []


def _config(env: Mapping[str, str]) -> OperatorConfig:
    try:
        return load_config(env)
    except OmnigraphError:
        return OperatorConfig(config_directory(env))


def _names(section: str) -> Callable[[OperatorConfig], list[str]]:
    return lambda config: list(getattr(config, section))


_CONFIGURED = {"--profile": _names("profiles"), "--server": _names("servers"), "--cluster": _names("clusters")}
