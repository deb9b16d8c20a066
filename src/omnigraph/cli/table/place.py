"""Which word of a command line is which argument, and which of them is the graph."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence

from omnigraph.cli.table.model import Argument, Command

# Options that say which graph is meant, so that no word has to.
_ADDRESSES = ("--store", "--uri", "--server", "--cluster", "--profile")
_PATH_STARTS = ("./", "../", "/", "~", ".\\", "..\\")


class Misplaced(Exception):
    """The words do not fit the arguments; `hint` is what to write instead, where that is known."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def place(command: Command, words: Sequence[str], options: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The words by the argument they belong to; `--store` takes the place of a graph that the command requires."""
    graph = command.graph
    arguments = command.arguments
    named: dict[str, list[str]] = {}
    if graph is not None and graph.required and "--store" in options and len(words) < len(arguments):
        arguments = tuple(each for each in arguments if each is not graph)
        named = {graph.name: [options["--store"][-1]]}
    elif graph is not None and _last_is_graph(command, words, options):
        named = {graph.name: [words[-1]]}
        words = words[:-1]
        arguments = tuple(each for each in arguments if each is not graph)
    placed = _in_order(arguments, words) | named
    _refuse_graph_elsewhere(command, words, placed)
    return placed


def names_a_graph(word: str) -> bool:
    """Whether a word can only be a graph: a URI, a path that is written as one, or a directory that contains a graph.

    >>> names_a_graph("s3://bucket/air"), names_a_graph("./air"), names_a_graph("feature/x"), names_a_graph("HEAD~1")
    (True, True, False, False)
    """
    return "://" in word or word.startswith(_PATH_STARTS) or _is_graph(word)


def _is_graph(word: str) -> bool:
    return os.path.isdir(os.path.join(word, "__manifest"))


def _last_is_graph(command: Command, words: Sequence[str], options: Container[str]) -> bool:
    """Whether the last word is the graph although an optional argument before it was left out."""
    needed = sum(argument.required for argument in command.arguments)
    if not needed < len(words) < len(command.arguments) or any(name in options for name in _ADDRESSES):
        return False
    return names_a_graph(words[-1])


def _in_order(arguments: Sequence[Argument], words: Sequence[str]) -> dict[str, list[str]]:
    left = list(words)
    placed: dict[str, list[str]] = {}
    for argument in arguments:
        taken = left if argument.repeats else left[:1]
        left = left[len(taken) :]
        if taken:
            placed[argument.name] = list(taken)
    if left:
        raise Misplaced(f"unexpected argument '{left[0]}' found")
    return placed


def _refuse_graph_elsewhere(command: Command, words: Sequence[str], placed: Mapping[str, Sequence[str]]) -> None:
    """A graph before the other arguments is moved by the user, not guessed: the first word may be a name as well."""
    graph = command.graph
    if graph is None or graph is not command.arguments[-1] or graph.name not in placed or len(words) < 2:
        return
    last = placed[graph.name][0]
    if _is_graph(words[0]) and not names_a_graph(last):
        words = " ".join([*command.path, *words[1:], words[0]])
        raise Misplaced(f"'{last}' is not a graph", f"the graph is the last argument: omnigraph {words}")
