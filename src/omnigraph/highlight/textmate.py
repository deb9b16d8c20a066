"""TextMate grammars made from the words of the languages: `python -m omnigraph.highlight.textmate editors/textmate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omnigraph.compiler.assist import words

_NAME = "[a-z_][A-Za-z0-9_]*"


def grammar(language: str) -> dict[str, Any]:
    """The grammar of `gq` or `pg`."""
    title = "OmniGraph query" if language == "gq" else "OmniGraph schema"
    patterns = _query() if language == "gq" else _schema()
    return {
        "name": title,
        "scopeName": f"source.{language}",
        "fileTypes": [language],
        "patterns": [_named(scope.format(language), pattern) for scope, pattern in patterns],
    }


def _named(scope: str, pattern: Any) -> dict[str, Any]:
    if isinstance(pattern, dict):
        return {"name": scope, **pattern}
    return {"name": scope, "match": pattern}


def _common() -> list[tuple[str, Any]]:
    return [
        ("comment.line.double-slash.{}", "//.*$"),
        ("comment.block.{}", {"begin": r"/\*", "end": r"\*/"}),
        (
            "string.quoted.double.{}",
            {
                "begin": '"',
                "end": '"',
                "patterns": [{"name": "constant.character.escape", "match": r'\\["\\nrt]'}],
            },
        ),
        ("variable.other.{}", rf"\${_NAME}"),
        ("entity.name.decorator.{}", rf"@\s*{_NAME}"),
        ("constant.numeric.{}", r"\b[0-9]+(\.[0-9]+)?\b"),
        ("variable.other.property.{}", rf"(?<=\.){_NAME}"),
        ("variable.other.property.{}", rf"\b{_NAME}(?=\s*:)"),
        ("support.type.{}", _any(words.TYPES)),
        ("support.type.{}", _any(words.TYPE_KEYWORDS) + r"(?=\s*\()"),
        ("entity.name.type.{}", r"\b[A-Z][A-Za-z0-9_]*\b"),
    ]


def _query() -> list[tuple[str, Any]]:
    return [
        *_common(),
        ("support.function.{}", _any(words.CALLS) + r"(?=\s*\()"),
        ("constant.language.{}", _any(words.CONSTANTS)),
        ("keyword.operator.word.{}", _any(words.QUERY_OPERATORS)),
        ("keyword.control.{}", _any(words.QUERY_KEYWORDS)),
        ("keyword.operator.{}", r"<=|>=|!=|[<>=|*+\-/%?]"),
    ]


def _schema() -> list[tuple[str, Any]]:
    return [
        *_common(),
        ("constant.language.{}", _any(words.SCHEMA_CONSTANTS)),
        ("keyword.declaration.{}", _any(words.SCHEMA_KEYWORDS)),
        ("keyword.operator.{}", r"->|\.\.|[?=\-]"),
    ]


def _any(found: Iterable[str]) -> str:
    return rf"\b({'|'.join(sorted(found, key=lambda word: (-len(word), word)))})\b"


def write(place: Path) -> None:
    """Write both grammars into a directory."""
    for language in ("gq", "pg"):
        text = json.dumps(grammar(language), indent=2) + "\n"
        (place / f"{language}.tmLanguage.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
