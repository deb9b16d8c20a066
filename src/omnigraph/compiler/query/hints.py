"""Help for syntax errors in queries: what a person who knows another language probably meant."""

from __future__ import annotations

from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.compiler.lexer import LOWER, PUNCT, UPPER, VAR, Tokens

# fmt: off
_KEYWORDS = frozenset({
    "query", "match", "return", "distinct", "order", "asc", "desc", "limit", "offset", "not", "and", "or", "in",
    "is", "null", "true", "false", "contains", "starts_with", "as", "insert", "update", "set", "delete", "where",
    "count", "sum", "avg", "min", "max", "now", "optional", "shortest", "having", "collect",
})
# fmt: on
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_EDGE = "an edge stands between two variables, by its name: $a edgeName $b"
_HOPS = "the number of hops is written in braces: {1,3}"
_WORDS = {
    "like": "to test a part of a text, use 'contains' or 'starts_with'",
    "between": "write two comparisons, joined by 'and'",
    "skip": "write 'offset'",
    "group": "an aggregate in 'return' groups by every other item",
    "mutation": "a mutation is a query too; its body holds insert, update or delete",
    "upsert": "write 'insert': on a type with a key it replaces the node of the same key",
    "create": "write 'insert'",
    "merge": "write 'insert': on a type with a key it replaces the node of the same key",
    "into": "leave 'into' out",
    "from": "leave 'from' out",
    "ascending": "write 'asc'",
    "descending": "write 'desc'",
    "node": "this looks like a schema; queries begin with 'query'",
    "edge": "this looks like a schema; queries begin with 'query'",
    "interface": "this looks like a schema; queries begin with 'query'",
}


def hint(tokens: Tokens, at: int, expected: tuple[str, ...]) -> str | None:
    """Help for the token where the text stopped making sense, or None."""
    kind, text = tokens.kinds[at], tokens.texts[at]
    before = tokens.texts[at - 1] if at else ""
    if text in ("}", "not") or kind == VAR:
        compares = any(each.startswith("a comparison") for each in expected)
        if compares and tokens.texts[max(at - 2, 0)] == ".":
            return "a filter compares two values; a truth value is compared too: $x.open = true"
    if kind == PUNCT:
        return _relation(text, before, expected) or _punctuation(tokens, at, expected)
    if kind == UPPER:
        return _upper(text, expected)
    if kind == LOWER:
        return _lower(text, before, expected)
    if kind == VAR and before in ("return", "order"):
        return f"braces stand around the list: {before} {{ … }}"
    return None


def _relation(text: str, before: str, expected: tuple[str, ...]) -> str | None:
    if text == before == "=":
        return "equality is a single '='"
    if text == ">" and before == "<":
        return "inequality is written '!='"
    if text == "=" and "':'" in expected:
        return "inside braces write name: value"
    if text in _COMPARISONS and "':'" in expected:
        return "braces hold equalities, name: value; write this comparison as a clause of its own"
    if text == "->" or (text == ":" and before == "["):
        return _EDGE
    return None


def _punctuation(tokens: Tokens, at: int, expected: tuple[str, ...]) -> str | None:
    text = tokens.texts[at]
    before, kind = (tokens.texts[at - 1], tokens.kinds[at - 1]) if at else ("", "")
    earlier = tokens.texts[max(at - 3, 0) : max(at - 1, 0)]
    following = tokens.texts[at + 1 : at + 2]
    match text:
        case "|" if following == ["|"]:
            return "write 'or'"
        case "," if "a clause" in expected:
            return "clauses follow each other without commas"
        case "," if earlier == ["in", "("]:
            return "a list is written in brackets: [ … ]"
        case ":" | "." if kind == LOWER:
            return f"a variable begins with $: ${_short(before)}"
        case ":" if kind == VAR and earlier[-1:] == ["("]:
            return "a binding stands without parentheses: $x: Type"
        case "." if kind == VAR and "','" in expected:
            return "braces hold constants: a literal, a $parameter or now()"
        case "." if kind == VAR and any(each.startswith("a comparison") for each in expected):
            return "in 'where' a property stands alone, without a variable"
        case "*" | "[" | ".." if kind == LOWER or "a number of hops" in expected or "','" in expected:
            return _HOPS
        case "*":
            return "name the properties, or return a whole node: $x"
        case "{" if "'('" in expected:
            return "the parentheses stay when there are no parameters: query name() { … }"
        case ")" if kind == VAR and "':'" in expected:
            return f"every parameter has a type: {_short(before)}: String"
        case "@" if "'query'" in expected:
            return "annotations stand between the parameters and the body of a query"
        case "-" if following == ["-"]:
            return "comments are // to the end of the line, or /* … */"
    return None


def _upper(text: str, expected: tuple[str, ...]) -> str | None:
    if text.lower() in _KEYWORDS:
        return f"words of the language are written in lower case: {text.lower()}"
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if any("(lower-case initial)" in each for each in expected):
        return f"this name starts with a lower-case letter: {_short(text[0].lower() + text[1:])}"
    return None


def _lower(text: str, before: str, expected: tuple[str, ...]) -> str | None:
    if text == "by" and before in ("order", "group"):
        return "write order { … }" if before == "order" else _WORDS["group"]
    if text == "where" and "'return'" in expected:
        return "filters stand inside 'match', without 'where'"
    if text == "match" and before == "optional":
        return "write optional { … }"
    if text == "match" and "'query'" in expected:
        return "a query has a name: query name() { match { … } return { … } }"
    if text in ("having", "order", "limit") and "'}'" in expected:
        return "the order of sections is: return, having, order, limit, offset"
    if text in _WORDS:
        return _WORDS[text]
    if any("type name" in each for each in expected):
        return f"a type name starts with an upper-case letter: {_short(text[0].upper() + text[1:])}"
    if any("a parameter" in each for each in expected):
        return f"a parameter begins with $: ${_short(text)}"
    return did_you_mean(text, [each.strip("'") for each in expected if each.startswith("'") and each[1].isalpha()])


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
