"""`%%gq` in notebooks: a cell whose text is a query (needs `omnigraph[notebook]`); `%load_ext omnigraph` brings it."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from omnigraph import assembly
from omnigraph.compiler.query.parse import parse_runnable
from omnigraph.errors import OmnigraphError


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def _options() -> argparse.ArgumentParser:
    found = _Options(prog="%%gq", add_help=False, description="Run the query in this cell.")
    found.add_argument("graph", nargs="?", help="a variable with a graph, or where a graph is; remembered")
    found.add_argument("-o", "--out", metavar="NAME", help="keep the result in this variable")
    found.add_argument("-n", "--name", help="which query of several")
    found.add_argument("--branch", help="the branch to read or write")
    found.add_argument("--at", metavar="WHEN", help="read at a commit, a tag or a time")
    found.add_argument("--explain", action="store_true", help="the plan instead of rows")
    found.add_argument("--draw", action="store_true", help="a drawing instead of rows")
    return found


@magics_class  # type: ignore[misc,untyped-decorator,unused-ignore]
class GraphMagics(Magics):  # type: ignore[misc,unused-ignore]
    """Runs queries on the graph that was named last; parameters are variables of the notebook of the same name."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._names: dict[str, Any] = shell.user_ns
        self._graph: Any = None

    @line_cell_magic  # type: ignore[misc,untyped-decorator,unused-ignore]
    def gq(self, line: str, cell: str | None = None) -> Any:
        """`%gq g` names the graph; `%%gq` runs the cell on it; `%%gq g -o rows --at HEAD~1` does both."""
        options = _options().parse_args(shlex.split(line))
        if options.graph is not None:
            self._graph = self._named(options.graph)
        if self._graph is None:
            raise UsageError("name a graph first: %gq g, where g is a variable with a graph, or its path")
        if cell is None:
            return self._graph
        try:
            found = self._run(cell, options)
        except OmnigraphError as error:
            raise UsageError(str(error)) from None  # a message, as at the command line, instead of a traceback
        if options.out is not None:
            self._names[options.out] = found
            return None
        return found

    def _run(self, text: str, options: argparse.Namespace) -> Any:
        queries = parse_runnable(text).queries
        chosen = next((each for each in queries if options.name in (None, each.name)), queries[0])
        params = {each.name: self._names[each.name] for each in chosen.params if each.name in self._names}
        moment = {name: value for name in ("branch", "at") if (value := getattr(options, name)) is not None}
        if chosen.is_mutation:
            if options.at is not None:
                raise UsageError(f"nothing can be changed at {options.at}; leave --at out, or name a --branch")
            return self._graph.mutate(text, options.name, params, **moment)
        if options.explain:
            return self._graph.explain(text, options.name, params, **moment)
        found = self._graph.query(text, options.name, params, **moment)
        return found.draw() if options.draw else found

    def _named(self, name: str) -> Any:
        found = self._names.get(name)
        if hasattr(found, "query"):
            return found
        try:
            return assembly.open(name)
        except OmnigraphError as error:
            raise UsageError(f"'{name}' is neither a variable with a graph nor the place of one: {error}") from None


def load_ipython_extension(ipython: Any) -> None:
    """What `%load_ext omnigraph` calls."""
    ipython.register_magics(GraphMagics)
