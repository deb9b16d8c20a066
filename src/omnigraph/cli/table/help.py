"""Help texts and usage lines, made from the command table."""

from __future__ import annotations

from omnigraph.cli.commands import COMMANDS, GROUPS, find, members
from omnigraph.cli.table.globals import GLOBAL_OPTIONS
from omnigraph.cli.table.model import Argument, Capability, Command, Option

LEGEND = (
    ("any", "works on a graph in storage, and on a graph of a server where it takes --server: the data commands"),
    ("served", "needs a server: graphs, stored queries (--server, or a profile that names one)"),
    ("direct", "needs the storage itself: init, lint, maintenance (a URI, --store or --cluster)"),
    ("control", "works on a cluster: its directory (--config), or its directory or storage root (--cluster)"),
    ("local", "touches no graph"),
)
_HEADINGS = {
    Capability.DATA: "Data commands",
    Capability.SERVED: "Served commands",
    Capability.DIRECT: "Direct commands",
    Capability.CONTROL: "Control commands",
    Capability.LOCAL: "Local commands",
}
_NAME_WIDTH = 18
# Answered by the parser itself.
_QUESTIONS = (Option("--version", "print the release", short="-v"), Option("--help", "print help", short="-h"))


def help_text(path: tuple[str, ...]) -> str:
    """Help for a command, for a group, or for everything."""
    command = find(path) if path else None
    if command is not None:
        return _command_help(command)
    return _group_help(path[0]) if path else _root_help()


def usage(path: tuple[str, ...]) -> str:
    """The usage line of a command, a group or the program."""
    command = find(path) if path else None
    if command is None:
        return f"Usage: {' '.join(('omnigraph', *path))} [OPTIONS] <COMMAND>"
    parts = ["omnigraph", *command.path, "[OPTIONS]"]
    parts += [option.shown for option in command.options if option.required]
    parts += [argument.shown for argument in command.arguments]
    return f"Usage: {' '.join(parts)}"


def listed_commands() -> dict[Capability, list[tuple[str, str]]]:
    """First words with their summaries, each once, under the capability of its first command."""
    found: dict[Capability, list[tuple[str, str]]] = {capability: [] for capability in _HEADINGS}
    seen: set[str] = set()
    for command in COMMANDS:
        name = command.path[0]
        if name not in seen:
            seen.add(name)
            found[command.capability].append((name, GROUPS.get(name, command.summary)))
    return found


def _root_help() -> str:
    lines = ["OmniGraph: a typed property graph with branches, commits and time travel", "", usage(())]
    for capability, commands in listed_commands().items():
        lines += ["", f"{_HEADINGS[capability]}:", *(_row(name, summary) for name, summary in commands)]
    lines += ["", "Options, before or after the command:", *_option_rows((*GLOBAL_OPTIONS, *_QUESTIONS))]
    lines += ["", "COMMANDS BY CAPABILITY", *(_row(name, text) for name, text in LEGEND)]
    return "\n".join(lines) + "\n"


def _group_help(group: str) -> str:
    rows = [_row(command.path[-1], command.summary) for command in members(group)]
    return "\n".join([GROUPS[group], "", usage((group,)), "", "Commands:", *rows]) + "\n"


def _command_help(command: Command) -> str:
    lines = [command.summary, "", usage(command.path)]
    if command.also is not None:
        lines += ["", f"Also: omnigraph {' '.join((*command.path[:-1], command.also))}"]
    if command.arguments:
        lines += ["", "Arguments:", *(_row(each.shown, argument_help(each)) for each in command.arguments)]
    if command.listed_options:
        lines += ["", "Options:", *_option_rows(command.listed_options)]
    consumed = [option for option in GLOBAL_OPTIONS if option.metavar is None or option.name in command.accepts]
    lines += ["", "Global options:", *_option_rows(tuple(consumed))]
    if command.notes:
        lines += ["", command.notes]
    return "\n".join(lines) + "\n"


def argument_help(argument: Argument) -> str:
    """An argument's help with the values it may have."""
    return argument.help + (f" [{', '.join(argument.choices)}]" if argument.choices else "")


def option_help(option: Option) -> str:
    """An option's help with its choices, its default and whether it repeats."""
    notes = [f"[{', '.join(option.choices)}]"] if option.choices else []
    notes += [f"[default: {option.default}]"] if option.default is not None else []
    notes += ["[repeatable]"] if option.repeats else []
    return " ".join([option.help, *notes])


def _option_rows(options: tuple[Option, ...]) -> list[str]:
    shown = [f"{option.short}, {option.shown}" if option.short else option.shown for option in options]
    width = max(len(text) for text in shown)
    return [_row(text, option_help(option), width) for text, option in zip(shown, options, strict=True)]


def _row(name: str, text: str, width: int = _NAME_WIDTH) -> str:
    return f"  {name:<{width}}  {text}"
