"""Help for syntax errors in schemas: what a person who knows another language probably meant."""

from __future__ import annotations

from omnigraph.compiler.lexer import BAD, LOWER, PUNCT, STRING, UPPER, Tokens

_DECLARATIONS = ("node", "edge", "interface")
_WORDS = {
    **dict.fromkeys(("type", "class", "entity", "vertex", "table"), "a type of node is declared with 'node'"),
    **dict.fromkeys(("relation", "relationship", "link"), "a type of edge is declared with 'edge'"),
    "enum": "an enum is written where it is used: grade: enum(a, b)",
    "query": "this looks like a query file; a schema holds nodes, edges and interfaces",
    "extends": "an interface is named with 'implements'",
}


def hint(tokens: Tokens, at: int, expected: tuple[str, ...]) -> str | None:
    """Help for the token where the text stopped making sense, or None."""
    kind, text = tokens.kinds[at], tokens.texts[at]
    before, before_kind = (tokens.texts[at - 1], tokens.kinds[at - 1]) if at else ("", "")
    if "an enum value" in expected:
        return _enum(kind, text, before)
    if before == ".." and text in ("*", "n", "m"):
        return "without a maximum, leave it out: @card(0..)"
    if kind == UPPER and before in _DECLARATIONS and "':'" in expected:
        return "a } is missing before this declaration"
    if kind == LOWER and any("(upper-case initial)" in each for each in expected):
        return f"this name starts with an upper-case letter: {(text[0].upper() + text[1:])[:40]}"
    if kind == STRING and "'}'" in expected:
        return "names of properties are not quoted"
    if kind == PUNCT:
        return _punctuation(text, before, before_kind, tokens.texts[at + 1 : at + 2], expected)
    return _WORDS.get(text) if kind == LOWER else None


def _enum(kind: str, text: str, before: str) -> str | None:
    if kind in (STRING, BAD):
        return "the values of an enum are bare words: enum(a, b)"
    return "no comma follows the last value" if text == ")" and before == "," else None


def _punctuation(text: str, before: str, kind: str, following: list[str], expected: tuple[str, ...]) -> str | None:
    match text:
        case "[" if kind == UPPER:
            return f"a list is written [{before[:40]}]"
        case "?" if "']'" in expected:
            return "a list that may be null is written [T]?; its items are never null"
        case "=" if "'@'" in expected:
            return "a default value is an annotation: @default(…)"
        case "=" if "')'" in expected:
            return "the first argument is given without a name"
        case ":" if "'implements'" in expected:
            return _WORDS["extends"]
        case "-" if following == ["-"]:
            return "comments are // to the end of the line, or /* … */"
        case "-" if kind == LOWER:
            return "a name consists of ASCII letters, digits and '_'"
    return None
