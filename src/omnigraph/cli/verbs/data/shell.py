"""`shell`: an interactive prompt for queries, with history and completion."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from omnigraph.cli.address.suggest import nearest_file
from omnigraph.cli.address.target import AnyGraph, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.commands.shared import FORMATS
from omnigraph.cli.input.entries import WORDS, ReadLine, entries, statements
from omnigraph.cli.input.params import parse_json
from omnigraph.cli.input.prompt import Offer, line_reader, offers
from omnigraph.cli.table.parse import nearest_word
from omnigraph.cli.terminal import output, pages
from omnigraph.cli.terminal.failure import report
from omnigraph.cli.terminal.rows import Envelope, metadata, render
from omnigraph.cli.verbs.data.shell_help import help_text
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.compiler.query.parse import parse_runnable
from omnigraph.display import counted
from omnigraph.engine.values.result import parse_mode
from omnigraph.engine.values.text_table import TextLayout
from omnigraph.errors import BadRequest, BranchNotFound, CommitNotFound, NotFound, OmnigraphError

ErrorT = TypeVar("ErrorT", bound=OmnigraphError)
_NOW = ("now", "off")


def shell(call: Call) -> None:
    """Read, run, print, until the input ends."""
    target = write_target(call)
    with target.writer() as graph:
        session = Session(graph.branch(call.value("--branch")), call)
        read: ReadLine = _piped_line
        if sys.stdin.isatty():
            output.note(f"{target.uri}, branch {session.graph.branch_name}; end a query with ; — :help for help")
            read = line_reader(call.config.directory, session.offers)
        for text in entries(read, lambda: session.prompt, lambda: output.note("")):
            session.run(text)
            output.finish()
            if session.left:
                return


class Session:
    """What the prompt remembers between entries."""

    def __init__(self, graph: AnyGraph, call: Call) -> None:
        self.graph = graph
        self.left = False
        self._call = call
        self._source: str | None = None
        self._at: str | None = None
        self._params: dict[str, Any] = {}
        self._format = call.text("--format") or call.config.defaults.output or "table"
        self._explains = False
        self._times = pages.watched()
        defaults = call.config.defaults
        self._layout = TextLayout(defaults.table_max_column_width, defaults.table_cell_layout == "wrap")
        self._commands: Mapping[str, Callable[[str], None]] = {
            "branch": self._branch,
            "at": self._set_moment,
            "params": self._set_params,
            "format": self._set_format,
            "explain": self._explain,
            "timing": self._toggle_timing,
            "load": self._load,
            "schema": lambda _: self._show_schema(),
            "describe": lambda _: self._describe(),
            "help": lambda _: output.write(help_text()),
            "quit": lambda _: setattr(self, "left", True),
        }

    @property
    def prompt(self) -> str:
        """The branch, and the moment if it is not now."""
        return f"{self.graph.branch_name}{'' if self._at is None else f'@{self._at}'}> "

    def run(self, text: str) -> None:
        """One entry; what is wrong with it is said, and the prompt goes on."""
        try:
            if text.startswith(":") or text in WORDS:
                self._command(text.lstrip(":").removesuffix(";"))
                return
            for query in statements(text):
                self._answer(query)
        except OmnigraphError as error:
            output.finish()
            report(error, json=False)

    def offers(self, before: str) -> tuple[str, list[Offer]]:
        """What completion may offer at the end of a text: commands, or what fits the place in a query."""
        if self._source is None:  # a server is not asked at every Tab
            self._source = self.graph.schema.source
        return offers(before, list(self._commands), compile_schema(self._source))

    def _command(self, text: str) -> None:
        name, _, value = text.strip().partition(" ")
        found = self._commands.get("quit" if name == "exit" else name)
        if found is None:
            near = did_you_mean(name, list(self._commands))
            raise BadRequest(f"unknown command ':{name}'; {f'{near} ' if near else ''}:help lists them")
        found(value.strip())

    def _answer(self, source: str, *, explains: bool = False) -> None:
        queries = parse_runnable(source).queries
        if len(queries) != 1:
            raise BadRequest("one query at a time: end each with ; or an empty line")
        started = perf_counter()
        if explains or (self._explains and not queries[0].is_mutation):
            output.line(self._plan(source))
        elif queries[0].is_mutation:
            self._mutate(source)
        else:
            self._read(source)
        if self._times:
            output.finish()
            output.note(pages.elapsed(perf_counter() - started))

    def _mutate(self, source: str) -> None:
        if self._at is not None:
            raise BadRequest(f"reading at {self._at}, where nothing can be changed; `:at now` returns to the branch")
        done = self.graph.mutate(source, params=self._params)
        counts = counted(done.affected_nodes, "node"), counted(done.affected_edges, "edge")
        output.line(f"changed {done.branch}: {', '.join(counts)}")

    def _read(self, source: str) -> None:
        found = self.graph.query(source, params=self._params, at=self._at)
        branch = self.graph.branch_name if self._at is None else None
        rows = Envelope(found.query_name, branch, self._at, found.columns, found.rows(), found.commit_id)
        pages.show(render(rows, self._format, self._layout), self._call.env)
        beside = metadata(rows, self._format)
        if beside is not None:
            output.note(beside)

    def _plan(self, source: str) -> str:
        return str(self.graph.explain(source, params=self._params or None, at=self._at))

    def _branch(self, name: str) -> None:
        if name:
            known = self.graph.branches.list()
            if name not in known:
                raise _suggesting(BranchNotFound(name), nearest_word(name, known))
            self.graph, self._at, self._source = self.graph.branch(name), None, None
        output.line(f"branch {self.graph.branch_name}")

    def _set_moment(self, when: str) -> None:
        if when in _NOW:
            self._at = None
        elif when:
            try:
                self.graph.commits.show(when)  # says what is wrong with a name before it is used
            except CommitNotFound as error:
                names = [*self.graph.branches.list(), *(each.name for each in self.graph.tags.list())]
                raise _suggesting(error, nearest_word(when, names)) from None
            self._at = when
        output.line(f"at {self._at or 'now'}")

    def _show_schema(self) -> None:
        self._source = self.graph.schema.source
        output.line(self._source)

    def _describe(self) -> None:
        output.line(str(self.graph.describe()))

    def _load(self, text: str) -> None:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise BadRequest(f":load FILE [MODE]: {error}") from None
        if not 1 <= len(words) <= 2:
            raise BadRequest("say what to load: :load FILE [MODE]")
        if self._at is not None:
            raise BadRequest(f"reading at {self._at}, where nothing can be loaded; `:at now` returns to the branch")
        file, mode = words[0], parse_mode(words[1] if len(words) == 2 else "merge")
        if not (Path(file).exists() or "://" in file or any(each in file for each in "*?[")):
            raise _suggesting(NotFound(f"No such file: '{file}'"), nearest_file(file))
        if file.endswith((".yaml", ".yml")):
            done = self.graph.load(mapping=file, mode=mode)
        else:
            done = self.graph.load(file, mode=mode)
        counts = counted(sum(done.nodes.values()), "node"), counted(sum(done.edges.values()), "edge")
        output.line(f"loaded {file} into {done.branch} with {done.mode}: {', '.join(counts)}")

    def _set_params(self, text: str) -> None:
        if text:
            try:
                found = parse_json(text)
            except ValueError as error:
                raise BadRequest(f"params must be a JSON object: {error}") from None
            if not isinstance(found, dict):
                raise BadRequest("params must be a JSON object")
            self._params = found
        output.line(output.compact(self._params))

    def _set_format(self, name: str) -> None:
        if name and name not in FORMATS:
            wrong = BadRequest(f"unknown format '{name}'; use one of {', '.join(FORMATS)}")
            raise _suggesting(wrong, nearest_word(name, FORMATS))
        self._format = name or self._format
        output.line(f"format {self._format}")

    def _explain(self, query: str) -> None:
        if query:
            for each in statements(query):
                self._answer(each, explains=True)
            return
        self._explains = not self._explains
        output.line(f"explain {'on' if self._explains else 'off'}")

    def _toggle_timing(self, _: str) -> None:
        self._times = not self._times
        output.line(f"timing {'on' if self._times else 'off'}")


def _suggesting(error: ErrorT, near: str | None) -> ErrorT:
    if near is not None:
        error.add_note(f"= help: did you mean '{near}'?")
    return error


def _piped_line(_: str) -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")
