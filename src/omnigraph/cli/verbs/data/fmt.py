"""`fmt`: query and schema files in the one layout."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from omnigraph.cli.call import Call
from omnigraph.cli.input.files import read_bytes, read_stdin
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.failure import report
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.formatter import LANGUAGES, Language, format_text
from omnigraph.errors import BadRequest

STDIN = "-"


@dataclass(frozen=True, slots=True)
class _Formatted:
    name: str
    before: str
    after: str

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """What formatting changes, as a unified diff."""
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        lines = difflib.unified_diff(before, after, self.name, f"{self.name} (formatted)")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def fmt(call: Call) -> int:
    """Format files in place, or standard input to standard output; `--check` and `--diff` write nothing."""
    files = call.rest("PATH") or [STDIN]
    status = 0
    for name in _expanded(files):
        try:
            found = _formatted(name, call)
        except CompileError as error:
            status = report(error, json=False)
            continue
        if call.given("--diff"):
            output.write(found.diff())
        if call.given("--check") and found.changed:
            status = 1
            output.note(f"not formatted: {name}")
        if not call.given("--diff") and not call.given("--check"):
            _write(found)
    return status


def _expanded(names: list[str]) -> Iterator[str]:
    """The files that were named, and those below directories that were."""
    for name in names:
        path = Path(name)
        if name != STDIN and path.is_dir():
            yield from sorted(str(each) for kind in LANGUAGES for each in path.rglob(f"*.{kind}"))
        else:
            yield name


def _formatted(name: str, call: Call) -> _Formatted:
    data = read_stdin() if name == STDIN else read_bytes(name)
    language = _language(name, call.text("--language"))
    source = to_source(data, code="S000" if language == "pg" else "Q000", name="stdin" if name == STDIN else name)
    return _Formatted(name, source.text, format_text(source, language))


def _language(name: str, asked: str | None) -> Language | None:
    """What was asked for, else the file's ending; standard input tells by its first word."""
    suffix = asked or Path(name).suffix.removeprefix(".")
    if suffix in LANGUAGES:
        return suffix
    if name == STDIN:
        return None
    raise BadRequest(f"'{name}' ends in neither .gq nor .pg; say which language it is with --language")


def _write(found: _Formatted) -> None:
    if found.name == STDIN:
        output.write(found.after)
    elif found.changed:
        try:
            Path(found.name).write_bytes(found.after.encode())
        except OSError as error:
            raise BadRequest(f"'{found.name}' cannot be written: {error.strerror}") from error
        output.note(f"formatted {found.name}")
