"""Pygments lexers and TextMate grammars know every token of both languages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Error, Keyword, Name, Operator, String
from textmate_grammar.parsers.base import LanguageParser

from omnigraph.compiler.assist import words
from omnigraph.highlight.textmate import grammar, write

ROOT = Path(__file__).parents[3]
FILES = sorted(
    path for kind in ("gq", "pg") for top in ("examples", "tests/golden") for path in (ROOT / top).rglob(f"*.{kind}")
)
PARSERS = {language: LanguageParser(grammar(language)) for language in ("gq", "pg")}
FENCED = re.compile(r"^```(gq|pg)\n(.*?)^```", re.M | re.S)


def snippets() -> list[tuple[str, str]]:
    """Every text of the repository in one of the languages: files, and blocks of the documentation."""
    found = [(path.suffix[1:], path.read_bytes().decode()) for path in FILES]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        found += FENCED.findall(page.read_text(encoding="utf-8"))
    return found


def test_pygments_reads_every_text_of_the_repository() -> None:
    texts = snippets()
    assert {language for language, _ in texts} == {"gq", "pg"}
    for language, text in texts:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
        tokens = list(lexer.get_tokens(text))
        assert "".join(value for _, value in tokens) == text.replace("\r\n", "\n")
        assert not [value for kind, value in tokens if kind in Error], text


def test_pygments_finds_the_lexers_by_name_and_by_file() -> None:
    assert get_lexer_for_filename("a.gq").name == "OmniGraph query"
    assert get_lexer_for_filename("schema.pg").name == "OmniGraph schema"


def test_a_word_is_a_keyword_or_a_name_by_its_place() -> None:
    text = 'query a() { match { $order: Hut { limit: 1 } } return { $order.limit, count($order) as n, "a\\n" } order { n desc } }'
    kinds = [(value, kind) for kind, value in get_lexer_by_name("gq").get_tokens(text) if value.strip()]
    assert ("$order", Name.Variable) in kinds
    assert ("order", Keyword) in kinds
    assert kinds.count(("limit", Name.Attribute)) == 2
    assert ("count", Name.Function) in kinds
    assert ("Hut", Name.Class) in kinds
    assert ("\\n", String.Escape) in kinds
    assert ("and", Operator.Word) in [(value, kind) for kind, value in get_lexer_by_name("gq").get_tokens("and")]


def test_the_grammars_are_made_from_the_words(tmp_path: Path) -> None:
    write(tmp_path)
    for language in ("gq", "pg"):
        name = f"{language}.tmLanguage.json"
        committed = (ROOT / "editors" / "textmate" / name).read_text()
        assert committed == (tmp_path / name).read_text(), (
            "run: python -m omnigraph.highlight.textmate editors/textmate"
        )
        assert json.loads(committed)["scopeName"] == f"source.{language}"


def scopes(language: str, text: str) -> list[tuple[str, str]]:
    """What the TextMate engine makes of a text: pieces with the first part of their innermost scope."""
    parsed = PARSERS[language].parse_string(f"{text}\n// end")  # the engine fails on text that ends without a scope
    assert parsed is not None
    return [(content, scope[-1]) for _, content, scope in parsed.flatten() if content.strip()]


@pytest.mark.parametrize(
    ("language", "text", "piece", "scope"),
    [
        ("gq", "query a() {", "query", "keyword.control.gq"),
        ("gq", "match { $h: Hut }", "$h", "variable.other.gq"),
        ("gq", "match { $h: Hut }", "Hut", "entity.name.type.gq"),
        ("gq", "query a($n: String)", "String", "support.type.gq"),
        ("gq", "return { $h.order }", "order", "variable.other.property.gq"),
        ("gq", "order { lower($h.name) desc }", "order", "keyword.control.gq"),
        ("gq", "order { lower($h.name) desc }", "lower", "support.function.gq"),
        ("gq", "$h.n = 1.5 // why", "1.5", "constant.numeric.gq"),
        ("gq", "$h.n = 1.5 // why", "// why", "comment.line.double-slash.gq"),
        ("gq", "not ($h.a is null)", "null", "constant.language.gq"),
        ("gq", "not ($h.a is null)", "not", "keyword.operator.word.gq"),
        ("gq", '@description("x")', "@description", "entity.name.decorator.gq"),
        ("pg", "node Hut {", "node", "keyword.declaration.pg"),
        ("pg", "name: String? @key", "name", "variable.other.property.pg"),
        ("pg", "name: String? @key", "@key", "entity.name.decorator.pg"),
        ("pg", "kind: enum(a, b)", "enum", "support.type.pg"),
        ("pg", "edge Path: Hut -> Hut", "->", "keyword.operator.pg"),
    ],
)
def test_textmate_scopes(language: str, text: str, piece: str, scope: str) -> None:
    assert (piece, scope) in scopes(language, text)


def test_every_word_is_coloured_by_the_grammars() -> None:
    for word in (*words.QUERY_KEYWORDS, *words.QUERY_OPERATORS, *words.CONSTANTS):
        assert scopes("gq", f"{word} ")[0][1] != "source.gq", word
    for name in words.CALLS:
        assert (name, "support.function.gq") in scopes("gq", f"{name}(1)"), name
    for word in words.SCHEMA_KEYWORDS:
        assert scopes("pg", f"{word} ")[0][1] == "keyword.declaration.pg", word
