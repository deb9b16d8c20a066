"""The pages about Python names and errors, made from the code: `python -m omnigraph.testing.pages.reference docs`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph import errors
from omnigraph.client.unserved import UNSERVED
from omnigraph.compiler import diagnostics
from omnigraph.settings import DEFAULTS
from omnigraph.testing.pages.error_codes import CODES
from omnigraph.testing.pages.query_reference import query_page
from omnigraph.testing.pages.settings_table import SERVER, VARIABLES, WRITE_PROTOCOL

_SDK_HEAD = """\
# Python reference

Generated from the docstrings by `python -m omnigraph.testing.pages.reference docs`; a test compares the two.

```python
import omnigraph as og

g = og.init("graph.omni", schema="schema.pg")
g.load("people.jsonl")
print(g.query("query people() { match { $p: Person } return { $p.name } }"))
```

Everything below is importable from `omnigraph`. Handles may be shared between threads; `Graph` is a context manager.

A thing has one name wherever it can be said: `branch=` is the branch, and `at=` the commit to read at (its id or the
beginning of it, a tag, `HEAD~1`, an instant).

`og.connect` gives a `RemoteGraph` and `omnigraph.aio.connect` an `AsyncGraph`: a served graph with the nouns and verbs
of `Graph`, awaited in the second. [Served graphs](#served-graphs) lists what a server does not have.
"""
_SERVED_HEAD = """\
## Served graphs

Nouns and verbs of a `Graph` that a served one does not have; a test compares the signatures of all others. Type
checkers report a use of these, and at run time it is a `BadRequest` with the reason. Options that a server does not
have are left out of the signatures.

| Noun or verb | Why |
|---|---|
"""
_ERRORS_HEAD = """\
# Errors

Generated from the code by `python -m omnigraph.testing.pages.reference docs`; a test compares the two.

Every failure is an `omnigraph.errors.OmnigraphError` with a stable `code`, a `message` and `details()`. The command
line prints the message and ends with the exit code below; the server answers with the status.

"""
_SETTINGS_HEAD = """\
# Settings

Generated from the code by `python -m omnigraph.testing.pages.reference docs`; a test compares the two, and another one
fails when the code reads a variable that is not here.

Nothing has to be set. An empty variable counts as absent. What the command line keeps in `config.yaml` is described in
its [reference](cli.md#configuration); what a cluster declares, under [clusters](clusters.md).
"""
_PROTOCOL_HEAD = """\
## The write protocol

`og.open(uri, settings=Settings(…))` with `omnigraph.settings.Settings` changes how writers wait, try again and
tidy up. Every default is safe for several writer processes.
"""


_STARS: Mapping[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_SERVER_HEAD = """\
## A server inside another program

`omnigraph.server.settings.Settings` holds what the variables of the server set, for programs that start one themselves.
"""


def pages() -> Mapping[str, str]:
    """File name under `docs/` and its whole text."""
    return {
        "sdk.md": sdk_page(),
        "errors.md": errors_page(),
        "settings.md": settings_page(),
        "reference/query.md": query_page(),
    }


def sdk_page() -> str:
    """Every public name with its signature and what it is for."""
    names = sorted(set(omnigraph.__all__) - {"errors"}, key=_reading_order)
    entries = ("\n".join(_entry(name, getattr(omnigraph, name))) for name in names)
    unserved = "".join(f"| `{verb}` | {why} |\n" for verb, why in UNSERVED.items())
    return "\n".join([_SDK_HEAD, *entries, _SERVED_HEAD]) + unserved


def errors_page() -> str:
    """The error classes as a table, then every code with its meaning."""
    rows = ["| Class | Code | Status | Exit | What it means |", "|---|---|---|---|---|"]
    for depth, kind in _tree(errors.OmnigraphError):
        indent = "&nbsp;" * 4 * depth
        rows.append(
            f"| {indent}`{kind.__name__}` | `{kind.code}` | {kind.http_status} | {kind.exit_code} | {_first(kind)} |"
        )
    codes = ["", "## Codes", "", "| Code | Means | What to do |", "|---|---|---|"]
    codes += [f"| `{code}` | {meaning} | {remedy} |" for code, (meaning, remedy) in CODES.items()]
    return _ERRORS_HEAD + "\n".join([*rows, *codes]) + "\n"


def settings_page() -> str:
    """Every environment variable, then the numbers of the write protocol."""
    parts = [_SETTINGS_HEAD]
    for heading, variables in VARIABLES.items():
        rows = [f"| `{name}` | {default} | {meaning} |" for name, (default, meaning) in variables.items()]
        parts += [f"## {heading}", "", "| Variable | Without it | Meaning |", "|---|---|---|", *rows, ""]
    rows = [f"| `{name}` | `{getattr(DEFAULTS, name)}` | {meaning} |" for name, meaning in WRITE_PROTOCOL.items()]
    parts += [_PROTOCOL_HEAD, "| Field | Default | Meaning |", "|---|---|---|", *rows, ""]
    rows = [f"| `{name}` | {meaning} |" for name, meaning in SERVER.items()]
    return "\n".join([*parts, _SERVER_HEAD, "| Field | Meaning |", "|---|---|", *rows]) + "\n"


def _reading_order(name: str) -> tuple[int, str]:
    """Functions, then the graph, then the other classes by name."""
    value = getattr(omnigraph, name)
    return (0 if inspect.isfunction(value) else 1 if name == "Graph" else 2, name)


def _entry(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value):
        yield from (f"## {name}", "", *_callable(f"omnigraph.{name}", value), "")
        return
    yield from (f"## {name}", "", inspect.getdoc(value) or "", "")
    for member, detail in sorted(vars(value).items() if inspect.isclass(value) else ()):
        if member.startswith("_"):
            continue
        if isinstance(detail, property):
            yield from (f"### {name}.{member}", "", f"A property. {inspect.getdoc(detail) or ''}".strip(), "")
        elif isinstance(detail, (classmethod, staticmethod)) or inspect.isfunction(detail):
            function = detail if inspect.isfunction(detail) else detail.__func__
            yield from (f"### {name}.{member}", "", *_callable(member, function), "")
    if inspect.ismodule(value):
        for member in value.__all__:
            if inspect.isfunction(detail := getattr(value, member)):
                yield from (f"### {name}.{member}", "", *_callable(f"{name}.{member}", detail), "")
        return
    for base in value.__mro__[1:-1]:
        if base.__module__.startswith("omnigraph."):
            yield from _inherited(name, value, base)


def _inherited(name: str, value: type, base: type) -> Iterator[str]:
    for member, detail in sorted(vars(base).items()):
        # The nearest definition is the one that counts.
        if member.startswith("_") or inspect.getattr_static(value, member) is not detail or member in vars(value):
            continue
        if isinstance(detail, property):
            yield from (f"### {name}.{member}", "", f"A property. {inspect.getdoc(detail) or ''}".strip(), "")
        elif inspect.isfunction(detail):
            yield from (f"### {name}.{member}", "", *_callable(member, detail), "")


def _callable(shown: str, function: Callable[..., Any]) -> list[str]:
    signature = inspect.signature(function)
    kept = [parameter for name, parameter in signature.parameters.items() if name not in ("self", "cls")]
    parameters, result = _parameters(kept), _type(signature.return_annotation)
    line = f"{shown}({', '.join(parameters)}){result}"
    lines = [line] if len(line) <= 100 else [f"{shown}(", *(f"    {each}," for each in parameters), f"){result}"]
    return ["```py", *lines, "```", "", inspect.getdoc(function) or ""]


def _parameters(kept: list[inspect.Parameter]) -> list[str]:
    """Each parameter as it is written, with the bare star before the first one that must be named."""
    shown: list[str] = []
    for parameter in kept:
        stars = _STARS.get(parameter.kind, "")
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not any(each.startswith("*") for each in shown):
            shown.append("*")
        kind = "" if parameter.annotation is inspect.Parameter.empty else f": {_name(parameter.annotation)}"
        shown.append(f"{stars}{parameter.name}{kind}{_default(parameter.default)}")
    return shown


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return ""
    return f" = {type(value).__name__}()" if is_dataclass(value) else f" = {value!r}"


def _type(annotation: Any) -> str:
    return "" if annotation is inspect.Signature.empty else f" -> {_name(annotation)}"


def _name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else str(getattr(annotation, "__name__", annotation))


def _tree(kind: type[errors.OmnigraphError], depth: int = 0) -> Iterator[tuple[int, type[errors.OmnigraphError]]]:
    yield depth, kind
    # Which modules happen to be loaded must not show: beside the tree itself only the compiler's errors are public.
    for child in kind.__subclasses__():
        if getattr(errors, child.__name__, None) is child or child.__module__.startswith(diagnostics.__name__):
            yield from _tree(child, depth + 1)


def _first(kind: type) -> str:
    return (inspect.getdoc(kind) or "").splitlines()[0].replace("|", "\\|")


def main() -> None:
    """Write the pages into the folder that the command line names."""
    for name, text in pages().items():
        (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
