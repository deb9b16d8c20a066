"""A position in a token list that remembers the furthest failure and what would have fitted there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeAlias

from omnigraph.compiler.diagnostics import Diagnostic, ParseError
from omnigraph.compiler.lexer import (
    BAD,
    END,
    FLOAT,
    INT,
    LOWER,
    PUNCT,
    STRING,
    UPPER,
    VAR,
    BadEscape,
    Tokens,
    describe_bad,
    unquote,
)
from omnigraph.compiler.source import Span

# Deep enough for any text a person writes, shallow enough for Python's stack in every later pass.
MAX_DEPTH = 64
_INT64_MAX = 2**63 - 1

# Help for a syntax error, from the tokens, the place of the failure and what would have fitted there.
Hint: TypeAlias = Callable[[Tokens, int, tuple[str, ...]], str | None]


class Cursor:
    """Recursive-descent primitives: `at_*` looks, `take_*` consumes or returns None, `need_*` consumes or fails."""

    def __init__(self, tokens: Tokens, syntax_code: str, escape_code: str, hint: Hint) -> None:
        self.tokens = tokens
        self.source = tokens.source
        self.index = 0
        self.depth = 0
        self._kinds = tokens.kinds
        self._texts = tokens.texts
        self._syntax_code = syntax_code
        self._escape_code = escape_code
        self._hint = hint
        self._furthest = 0
        self._expected: list[str] = []

    # --- looking ---

    @property
    def kind(self) -> str:
        """Kind of the current token."""
        return self._kinds[self.index]

    @property
    def text(self) -> str:
        """Text of the current token."""
        return self._texts[self.index]

    def peek(self, ahead: int = 1) -> tuple[str, str]:
        """Kind and text of a later token (END past the last)."""
        at = min(self.index + ahead, len(self._kinds) - 1)
        return self._kinds[at], self._texts[at]

    def at_punct(self, text: str) -> bool:
        """Whether the current token is this punctuation; remembers the expectation when it is not."""
        if self._texts[self.index] == text and self._kinds[self.index] == PUNCT:
            return True
        self.expect(f"'{text}'")
        return False

    def at_word(self, word: str) -> bool:
        """Whether the current token is this contextual keyword."""
        if self._texts[self.index] == word and self._kinds[self.index] == LOWER:
            return True
        self.expect(f"'{word}'")
        return False

    def at_end(self) -> bool:
        """Whether every token was consumed."""
        if self._kinds[self.index] == END:
            return True
        self.expect(END)
        return False

    # --- consuming ---

    def advance(self) -> int:
        """Consume the current token and return its index."""
        at = self.index
        self.index = at + 1
        return at

    def take_punct(self, text: str) -> int | None:
        """Consume this punctuation if it is here."""
        return self.advance() if self.at_punct(text) else None

    def take_word(self, word: str) -> int | None:
        """Consume this contextual keyword if it is here."""
        return self.advance() if self.at_word(word) else None

    def need_punct(self, text: str) -> int:
        """Consume this punctuation or fail."""
        return self.advance() if self.at_punct(text) else self.fail()

    def need_word(self, word: str) -> int:
        """Consume this contextual keyword or fail."""
        return self.advance() if self.at_word(word) else self.fail()

    def need_lower(self, what: str = "a lower-case name") -> tuple[str, Span]:
        """Consume a lower-case name or fail."""
        return self._need(LOWER, what)

    def need_upper(self, what: str = "a type name (upper-case initial)") -> tuple[str, Span]:
        """Consume a type name or fail."""
        return self._need(UPPER, what)

    def need_var(self, what: str = "a variable such as $x") -> tuple[str, Span]:
        """Consume a variable or fail; the `$` is not part of the name."""
        text, span = self._need(VAR, what)
        return text[1:], span

    def need_string(self, what: str = "a string") -> tuple[str, Span]:
        """Consume a string token and decode its escapes, or fail."""
        text, span = self._need(STRING, what)
        try:
            return unquote(text), span
        except BadEscape as bad:
            at = span.start + bad.offset
            message = f"'{bad}' is not an escape; only \\\" \\\\ \\n \\r \\t are"
            raise ParseError(Diagnostic(self._escape_code, message, Span(at, at + 2)), self.source) from None

    def need_int(self, what: str = "a whole number", limit: int = _INT64_MAX) -> tuple[int, Span]:
        """Consume an unsigned integer that fits, or fail."""
        text, span = self._need(INT, what)
        self._need_number_boundary()
        # Judged by length first: int() of a megabyte of digits is slow, and refused by Python.
        if len(text.lstrip("0")) > len(str(limit)) or int(text) > limit:
            self.fail_at(span, f"this number is larger than {limit}")
        return int(text), span

    def need_float(self) -> tuple[float, Span]:
        """Consume a decimal number or fail."""
        text, span = self._need(FLOAT, "a number")
        self._need_number_boundary()
        value = float(text)
        if value == float("inf"):
            self.fail_at(span, "this number is larger than any double")
        return value, span

    def need_number(self, what: str = "a number") -> tuple[str, Span]:
        """Consume an unsigned number of any size and return its text, or fail."""
        text, span = self._need(FLOAT if self.kind == FLOAT else INT, what)
        self._need_number_boundary()
        return text, span

    def need_pattern(self, pattern: re.Pattern[str], what: str) -> tuple[str, Span]:
        """Consume raw text at the current token's start, across token borders (enum words such as `8-bit`)."""
        start = self.tokens.starts[self.index]
        match = pattern.match(self.source.text, start)
        if match is None:
            self.expect(what)
            self.fail()
        end = match.end()
        while self._kinds[self.index] not in (END, BAD) and self.tokens.starts[self.index] < end:
            self.index += 1
        # A token may reach past the match (`1.5`, `->`): its rest belongs to nothing.
        if self.tokens.ends[self.index - 1] > end:
            rest = Span(end, self.tokens.ends[self.index - 1])
            self.fail_at(rest, f"unexpected '{_shorten(self.source.text[end : rest.end])}'")
        return match.group(), Span(start, end)

    def span_from(self, start: int) -> Span:
        """From the token at index `start` to the last one consumed."""
        return Span(self.tokens.starts[start], self.tokens.ends[max(start, self.index - 1)])

    # --- nesting and failing ---

    def enter(self) -> None:
        """Count one level of nesting; call `leave` when done."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail_at(
                self.tokens.span(self.index), f"nested deeper than {MAX_DEPTH} levels", help="flatten the expression"
            )

    def leave(self) -> None:
        """End one level of nesting."""
        self.depth -= 1

    def expect(self, what: str) -> None:
        """Remember that `what` would have fitted at the current token."""
        if self.index > self._furthest:
            self._furthest = self.index
            self._expected = [what]
        elif self.index == self._furthest and what not in self._expected:
            self._expected.append(what)

    def fail(self, help: str | None = None) -> NoReturn:
        """Report the furthest failure with everything that would have fitted there."""
        at = max(self._furthest, self.index)
        expected = tuple(self._expected) if self._furthest == at else ()
        help = help or self._hint(self.tokens, at, expected)
        if self._kinds[at] == BAD:
            message, help_text = describe_bad(self.tokens, at)
            self.fail_at(self.tokens.span(at), message, help=help or help_text)
        found = "end of input" if self._kinds[at] == END else f"'{_shorten(self._texts[at])}'"
        self.fail_at(self.tokens.span(at), f"unexpected {found}", help=help, expected=expected)

    def fail_at(self, span: Span, message: str, *, help: str | None = None, expected: tuple[str, ...] = ()) -> NoReturn:
        """Report a syntax error at a given place."""
        raise ParseError(Diagnostic(self._syntax_code, message, span, help, expected), self.source)

    def _need(self, kind: str, what: str) -> tuple[str, Span]:
        at = self.index
        if self._kinds[at] != kind:
            self.expect(what)
            self.fail()
        self.index = at + 1
        return self._texts[at], self.tokens.span(at)

    def _need_number_boundary(self) -> None:
        previous = self.index - 1
        glued = self.tokens.starts[self.index] == self.tokens.ends[previous] and self.kind in (LOWER, UPPER, INT, FLOAT)
        if glued:
            span = self.tokens.span(previous).to(self.tokens.span(self.index))
            self.fail_at(span, "a number must end before a name begins", help="put a space between them")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"
