"""`shell`: an interactive prompt for queries, with history and completion."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from omnigraph.cli.address.target import AnyGraph, in_storage, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.commands.shared import FORMATS
from omnigraph.cli.input.params import parse_json
from omnigraph.cli.input.prompt import KEYWORDS, ReadLine, line_reader
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.failure import report
from omnigraph.cli.terminal.rows import Envelope, metadata, render
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.query.parse import parse_runnable
from omnigraph.engine.values.text_table import TextLayout
from omnigraph.errors import BadRequest, BranchNotFound, OmnigraphError

_DELETES = re.compile(r"}\s*delete\s+\$\w+\s*$")
_HELP = """\
Type a query; it runs when its braces are closed. A body alone will do: match { … } return { … }
  :branch [NAME]    show or change the branch
  :params [JSON]    show or set the parameters
  :format [FORMAT]  show or set how rows are printed
  :explain          show plans instead of rows, or rows again
  :schema           print the schema
  :help             this text
  :quit             leave (also Ctrl-D)
"""


def shell(call: Call) -> None:
    """Read, run, print, until the input ends."""
    target = write_target(call)
    with target.writer() as graph:
        session = Session(graph.branch(call.value("--branch")), call)
        read: ReadLine = _piped_line
        if sys.stdin.isatty():
            output.note(f"{target.uri}, branch {session.graph.branch_name}; :help for help")
            read = line_reader(call.config.directory, session.words)
        for text in _entries(session, read):
            session.run(text)
            output.finish()
            if session.left:
                return


class Session:
    """What the prompt remembers between entries."""

    def __init__(self, graph: AnyGraph, call: Call) -> None:
        self.graph = graph
        self.left = False
        self._source: str | None = None
        self._params: dict[str, Any] = {}
        self._format = call.text("--format") or call.config.defaults.output or "table"
        self._explains = False
        defaults = call.config.defaults
        self._layout = TextLayout(defaults.table_max_column_width, defaults.table_cell_layout == "wrap")
        self._commands: Mapping[str, Callable[[str], None]] = {
            "branch": self._branch,
            "params": self._set_params,
            "format": self._set_format,
            "explain": self._toggle_explain,
            "schema": lambda _: self._show_schema(),
            "help": lambda _: output.write(_HELP),
            "quit": lambda _: setattr(self, "left", True),
        }

    def run(self, text: str) -> None:
        """One entry; what is wrong with it is said, and the prompt goes on."""
        try:
            if text.startswith(":"):
                self._command(text[1:])
            elif text in ("help", "quit", "exit"):
                self._command("help" if text == "help" else "quit")
            else:
                self._query(text)
        except OmnigraphError as error:
            output.finish()
            report(error, json=False)

    def words(self) -> list[str]:
        """What completion may offer: keywords, names of the schema, commands."""
        if self._source is None:  # a server is not asked at every Tab
            self._source = self.graph.schema.source
        catalog = compile_schema(self._source)
        types = [*catalog.nodes.values(), *catalog.edges.values()]
        names = {name for info in types for name in (info.name, *info.properties)}
        return sorted({*KEYWORDS, *names, *(f":{name}" for name in self._commands)})

    def _command(self, text: str) -> None:
        name, _, value = text.strip().partition(" ")
        found = self._commands.get(name)
        if found is None:
            raise BadRequest(f"unknown command ':{name}'; :help lists them")
        found(value.strip())

    def _query(self, text: str) -> None:
        self._answer(text)

    def _answer(self, source: str) -> None:
        queries = parse_runnable(source).queries
        if len(queries) != 1:
            raise BadRequest("one query at a time")
        if queries[0].is_mutation:
            done = self.graph.mutate(source, params=self._params)
            counts = output.counted(done.affected_nodes, "node"), output.counted(done.affected_edges, "edge")
            output.line(f"changed {done.branch}: {', '.join(counts)}")
        elif self._explains:
            output.line(self._explained(source))
        else:
            found = self.graph.query(source, params=self._params)
            rows = Envelope(
                found.query_name, self.graph.branch_name, None, found.columns, found.rows(), found.commit_id
            )
            output.write(render(rows, self._format, self._layout))
            beside = metadata(rows, self._format)
            if beside is not None:
                output.note(beside)

    def _explained(self, source: str) -> str:
        stored = in_storage(self.graph)
        if stored is None:
            raise BadRequest("plans are shown for a graph in storage only; a server does not tell them")
        return str(stored.explain(source, params=self._params or None))

    def _branch(self, name: str) -> None:
        if name:
            if name not in self.graph.branches.list():
                raise BranchNotFound(name)
            self.graph = self.graph.branch(name)
        output.line(f"branch {self.graph.branch_name}")

    def _show_schema(self) -> None:
        self._source = self.graph.schema.source
        output.line(self._source)

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
            raise BadRequest(f"unknown format '{name}'; use one of {', '.join(FORMATS)}")
        self._format = name or self._format
        output.line(f"format {self._format}")

    def _toggle_explain(self, _: str) -> None:
        self._explains = not self._explains
        output.line(f"explain {'on' if self._explains else 'off'}")


def _entries(session: Session, read: ReadLine) -> Iterator[str]:
    """Commands of one line, and queries of as many lines as their braces span; Ctrl-C forgets an unfinished one."""
    pending = ""
    while True:
        prompt = f"{session.graph.branch_name}> " if not pending else "... "
        try:
            line = read(prompt)
        except EOFError:
            break
        except KeyboardInterrupt:
            output.note("")
            pending = ""
            continue
        pending = f"{pending}\n{line}" if pending else line
        text = pending.strip()
        if not text or (not text.startswith(":") and is_open(text)):
            continue
        pending = ""
        yield text
    if pending.strip():
        yield pending.strip()


def _piped_line(_: str) -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def is_open(text: str) -> bool:
    """Whether a text still waits for closing braces; braces in strings and comments do not count.

    >>> is_open("query q() {"), is_open('match { $p: P { a: "}" } } return { $p.a }'), is_open("match { $p: P }")
    (True, False, True)
    """
    depth = 0
    blocks = 0
    quoted = escaped = False
    comment = False
    for place, letter in enumerate(text):
        if comment:
            comment = letter != "\n"
        elif quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif text.startswith("//", place):
            comment = True
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            blocks += depth == 0
    # What a match is for is written in a second block, unless what it found is deleted.
    unfinished = text.startswith("match") and blocks < 2 and _DELETES.search(text) is None
    return depth > 0 or unfinished
