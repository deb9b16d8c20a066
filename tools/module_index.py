"""Writes the list of modules at the end of docs/architecture.md from the sentence each one opens with:
`python tools/module_index.py`."""

from __future__ import annotations

import ast
from itertools import groupby
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "architecture.md"
SOURCES = REPOSITORY / "src" / "omnigraph"
HEAD = "## Every module\n"
_TEXT = """
The first sentence of each module, by package, written by `tools/module_index.py`. To find where something is done,
search here for its noun.
"""


def opening(path: Path) -> str:
    """The first sentence of a module, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split())
    end = first.find(". ")
    return first if end < 0 else first[: end + 1]


def index() -> str:
    """The section, package by package; a package opens with its own sentence."""
    paths = sorted(SOURCES.rglob("*.py"), key=lambda path: (path.parent, path.name))
    lines = [HEAD + _TEXT]
    for folder, found in groupby(paths, key=lambda path: path.parent):
        if SOURCES / "testing" in (folder, *folder.parents):
            continue  # not part of what is installed
        modules = list(found)
        name = folder.relative_to(SOURCES).as_posix()
        title = "omnigraph" if name == "." else name
        lines.append(f"**`{title}/`** — {opening(folder / '__init__.py')}\n")
        lines += [f"- `{path.name}`: {opening(path)}" for path in modules if path.name != "__init__.py"]
        lines.append("")
    return "\n".join(lines)


def current() -> str:
    """The page with the section as it should be."""
    page = PAGE.read_text(encoding="utf-8")
    return page.split(HEAD)[0].rstrip("\n") + "\n\n" + index().rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(current(), encoding="utf-8")
