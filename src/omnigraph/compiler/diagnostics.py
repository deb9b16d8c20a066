"""What is wrong with a text, where, and what to do about it; one renderer for all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from omnigraph.compiler.source import Source, Span
from omnigraph.errors import InputError

_EXCERPT_WIDTH = 160
_EXPECTED_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: a stable code, a sentence, a place, and help where we have it."""

    code: str
    message: str
    span: Span | None = None
    help: str | None = None
    expected: tuple[str, ...] = ()


class CompileError(InputError):
    """A schema or query text was rejected; `diagnostic` says what and where."""

    prefix = "error"

    def __init__(self, diagnostic: Diagnostic, source: Source) -> None:
        self.diagnostic = diagnostic
        self.source = source
        super().__init__(render(self.prefix, diagnostic, source), code=diagnostic.code)

    @property
    def summary(self) -> str:
        """The first line: prefix, code and sentence, without the excerpt."""
        return _headline(self.prefix, self.diagnostic)

    @property
    def excerpt(self) -> tuple[str, ...]:
        """The lines below the first: the place, the text with a caret, and help."""
        return excerpt(self.diagnostic, self.source)

    @property
    def line(self) -> int | None:
        """1-based line of the finding."""
        return self._position()[0]

    @property
    def column(self) -> int | None:
        """1-based column of the finding, in code points."""
        return self._position()[1]

    def _position(self) -> tuple[int | None, int | None]:
        if self.diagnostic.span is None:
            return None, None
        return self.source.position(self.diagnostic.span.start)

    def details(self) -> dict[str, Any]:
        span = self.diagnostic.span
        return {
            "file": self.source.name,
            "line": self.line,
            "column": self.column,
            "span": list(self.source.byte_span(span)) if span is not None else None,
            "help": self.diagnostic.help,
            "expected": list(self.diagnostic.expected),
        }


class ParseError(CompileError):
    """The text does not follow the grammar (S000, S001, Q000)."""

    prefix = "parse error"


class SchemaError(CompileError):
    """The schema parses but cannot be accepted (S002–S060)."""

    prefix = "schema error"


class TypeCheckError(CompileError):
    """A query does not fit the schema (T…)."""

    prefix = "type error"


def render(prefix: str, diagnostic: Diagnostic, source: Source) -> str:
    """Headline, place, source line with a caret, and help."""
    return "\n".join([_headline(prefix, diagnostic), *excerpt(diagnostic, source)])


def excerpt(diagnostic: Diagnostic, source: Source) -> tuple[str, ...]:
    """The lines below the headline: the place, the text with a caret, and help."""
    return tuple(_below(diagnostic, source))


def _below(diagnostic: Diagnostic, source: Source) -> Iterator[str]:
    if diagnostic.span is not None:
        yield from _excerpt(diagnostic.span, source)
    if diagnostic.expected:
        yield f"  = expected: {_join_expected(diagnostic.expected)}"
    if diagnostic.help:
        yield f"  = help: {diagnostic.help}"


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """A suggestion for a misspelled name, or None when nothing is near."""
    meant = nearest_name(word, candidates)
    return f"did you mean '{meant}'?" if meant is not None else None


def nearest_name(word: str, candidates: Iterable[str]) -> str | None:
    """The name that a misspelled one was meant to be, if any is near."""
    by_folded = {candidate.lower(): candidate for candidate in candidates}
    # Comparing is quadratic in the length of the names, so only names that a person would type are compared.
    if not by_folded or len(word) > 64:
        return None
    import difflib  # only mistakes need it

    near = difflib.get_close_matches(word.lower(), by_folded, n=3, cutoff=0.6)
    # Sharing letters is not enough: `month` and `count` share three, but one is not a misspelling of the other.
    slips = max(2, len(word) // 3)
    typed = word.lower()
    meant = next((each for each in near if typed.startswith(each) or _slips(typed, each) <= slips), None)
    return by_folded[meant] if meant is not None else None


def _slips(word: str, other: str) -> int:
    """How many letters were left out, added, replaced or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, start=1):
        earlier, before, row = before, row, [at]
        for place, meant in enumerate(other, start=1):
            cost = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != meant))
            if at > 1 and place > 1 and letter == other[place - 2] and word[at - 2] == meant:
                cost = min(cost, earlier[place - 2] + 1)
            row.append(cost)
    return row[-1]


def fail(
    error: type[CompileError], source: Source, code: str, message: str, span: Span | None, **more: Any
) -> NoReturn:
    """Raise one diagnostic as an error."""
    raise error(Diagnostic(code, message, span, **more), source)


def _headline(prefix: str, diagnostic: Diagnostic) -> str:
    return f"{prefix}: {diagnostic.code}: {diagnostic.message}"


def _excerpt(span: Span, source: Source) -> list[str]:
    line, column = source.position(span.start)
    text = source.line_text(line)
    width = max(1, min(span.end - span.start, len(text) - column + 1))
    # A very long line is cut to a window around the finding.
    cut = max(0, column - 1 - _EXCERPT_WIDTH // 2)
    # Control characters would move the caret, or speak to the reader's terminal.
    shown = "".join(each if each.isprintable() else " " for each in text[cut : cut + _EXCERPT_WIDTH])
    offset = column - 1 - cut
    width = max(1, min(width, _EXCERPT_WIDTH - offset))
    gutter = " " * len(str(line))
    return [
        f"{gutter}--> {source.name}:{line}:{column}",
        f"{gutter} |",
        f"{line} | {shown}",
        f"{gutter} | {' ' * offset}{'^' * width}",
    ]


def _join_expected(expected: tuple[str, ...]) -> str:
    shown = ", ".join(expected[:_EXPECTED_SHOWN])
    return shown + (f" and {len(expected) - _EXPECTED_SHOWN} more" if len(expected) > _EXPECTED_SHOWN else "")
