"""`format_text` keeps the tree and every comment, and formatting twice changes nothing."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from omnigraph.compiler.diagnostics import ParseError
from omnigraph.compiler.formatter import Language, format_text
from omnigraph.compiler.lexer import PUNCT, tokenize
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.format import format_queries
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.schema.ast import Schema
from omnigraph.compiler.schema.format import format_schema
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.compiler.source import Source
from omnigraph.compiler.trivia import trivia_before
from omnigraph.testing.strategies.queries import query_files
from omnigraph.testing.strategies.schemas import schemas
from tests.thoroughness import examples

ROOT = Path(__file__).parents[3]
FILES = sorted(
    path for kind in ("gq", "pg") for top in ("examples", "tests/golden") for path in (ROOT / top).rglob(f"*.{kind}")
)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
PIECES = (
    "\n",
    "\n\n\n",
    " // one\n",
    "\n// two\n",
    "/* three */",
    "/* four\n * five\n */\n",
    "\n/*\n  six */ ",
    "\r\n",
)


def comments(text: str) -> list[str]:
    """Every comment of a text, without what indents its lines."""
    found = (each.text for trivia in trivia_before(tokenize(Source(text))) for each in trivia if each.text)
    return [re.sub(r"\n\s*", "\n", comment) for comment in found]


def with_comments(text: str, draw: random.Random) -> str:
    """The text with comments and line ends between some of its tokens."""
    tokens = tokenize(Source(text))
    parts, position, in_enum = [], 0, False
    for at, token in enumerate(tokens.texts):
        start, end = tokens.starts[at], tokens.ends[at]
        in_enum = (in_enum and token != ")") or tokens.texts[at - 1 : at + 1] == ["enum", "("]
        parts.append(text[position:start])
        inside_value = in_enum and at and tokens.texts[at - 1] not in ("(", ",") and tokens.kinds[at] != PUNCT
        if not inside_value and token != "-" and draw.random() < 0.2:
            parts.append(draw.choice(PIECES))
        parts.append(token)
        position = end
    return "".join(parts)


def assert_formats(text: str, language: Language) -> str:
    formatted = format_text(text, language)
    parse = parse_queries if language == "gq" else parse_schema
    assert parse(formatted) == parse(text)
    assert format_text(formatted, language) == formatted
    assert comments(formatted) == comments(text)
    assert not any(line.endswith((" ", "\t")) for line in formatted.splitlines() if '"' not in line)
    return formatted


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(query_files(), st.randoms(use_true_random=False))
def test_queries_keep_their_tree_and_their_comments(file: ast.QueryFile, draw: random.Random) -> None:
    text = format_queries(file)
    assume(_parses(text))  # whether every tree prints as text that parses is the subject of query/test_format.py
    assert_formats(with_comments(text, draw), "gq")


def _parses(text: str) -> bool:
    try:
        parse_queries(text)
    except ParseError:
        return False
    return True


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(schemas(), st.randoms(use_true_random=False))
def test_schemas_keep_their_tree_and_their_comments(schema: Schema, draw: random.Random) -> None:
    assert_formats(with_comments(format_schema(schema), draw), "pg")


def test_a_comment_inside_the_last_parentheses_ends_the_last_line() -> None:
    found = assert_formats('edge Knows: Person -> Person @instruction("who"/* whom */)\n', "pg")
    assert found == 'edge Knows: Person -> Person @instruction("who") /* whom */\n'


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_files_of_the_repository_format(path: Path) -> None:
    assert_formats(path.read_bytes().decode(), "gq" if path.suffix == ".gq" else "pg")


@pytest.mark.parametrize(
    "path", [path for path in FILES if "examples" in path.parts], ids=lambda path: path.parent.name
)
def test_the_examples_are_formatted(path: Path) -> None:
    text = path.read_text()
    assert format_text(text) == text, f"run: omnigraph fmt {path}"


WRITTEN = """\
// Huts and where they are.


query near($max: Int=3,// metres
  $kind: enum(stone, old-wood, ice)) @description("by distance") {
  match {

    // every hut
    $h:Hut{open:true} // only open ones

    ( $h.height>=1.50 )
      // or one that is known
      or $h.name = "A\\tB" /* by name */
    not { $h path $_ // no way out
    }
  }
  return { $h.name, /* in metres */ $h.height, // last
  }
  order { $h.name // by name
  }
}
query all() { match { $h: Hut } return { $h } }
// the end
"""
FORMATTED = """\
// Huts and where they are.

query near(
  $max: Int = 3, // metres
  $kind: enum(stone, old-wood, ice)
)
  @description("by distance")
{
  match {
    // every hut
    $h: Hut { open: true } // only open ones

    $h.height >= 1.50
        // or one that is known
        or $h.name = "A\\tB" /* by name */
    not {
      $h path $_ // no way out
    }
  }
  return {
    $h.name,
    /* in metres */ $h.height // last
  }
  order {
    $h.name // by name
  }
}

query all() {
  match { $h: Hut }
  return { $h }
}
// the end
"""


def test_comments_of_queries_stay_where_they_are() -> None:
    written = WRITTEN.replace("Int=3", "I32=3")
    assert assert_formats(written, "gq") == FORMATTED.replace("Int = 3", "I32 = 3")


SCHEMA = """\
node Hut @description("a house")   { // where people sleep
  @key(name)   // names are unique

  name: String
  kind:enum( wood,stone , 8-bit) @index


  // how high
  height : F64?   /* metres */
  }
/** Ways.
  * Both of them. */
edge Path:Hut->Hut
edge Road:Hut->Hut@card(0..2) { /* nothing yet */ }
node Empty {
  // nothing
}
"""
SCHEMA_FORMATTED = """\
node Hut @description("a house") { // where people sleep
  @key(name) // names are unique

  name: String
  kind: enum(wood, stone, 8-bit) @index

  // how high
  height: F64? /* metres */
}

/** Ways.
 * Both of them. */
edge Path: Hut -> Hut
edge Road: Hut -> Hut @card(0..2) /* nothing yet */

node Empty {
  // nothing
}
"""


def test_comments_and_the_order_of_schemas_stay_as_they_are() -> None:
    assert assert_formats(SCHEMA, "pg") == SCHEMA_FORMATTED


def test_a_text_of_comments_only_stays() -> None:
    assert format_text("\n\n// nothing here\n\n\n/* yet */", "gq") == "// nothing here\n\n/* yet */\n"
    assert format_text("", "pg") == ""


def test_a_text_that_does_not_parse_is_refused_with_its_place() -> None:
    with pytest.raises(ParseError) as caught:
        format_text("query a( { }", "gq")
    assert caught.value.line == 1


def test_the_first_word_tells_the_language() -> None:
    assert format_text("// x\nquery a(){match{$h:Hut}return{$h}}").startswith("// x\nquery a() {")
    assert format_text("node   A{}") == "node A {}\n"
