"""Comments, empty lines and spellings of a text, put back into its tree as it prints in the one layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from omnigraph.compiler.align import align
from omnigraph.compiler.lexer import END, FLOAT, INT, PUNCT, STRING, Tokens, tokenize
from omnigraph.compiler.source import Source
from omnigraph.compiler.trivia import Stand, Trivium, trivia_before

_STEP = "  "
_OPENERS = frozenset({"(", "[", "{"})
_CLOSERS = frozenset({")", "]", "}"})


@dataclass(slots=True)
class _Page:
    """Printed tokens, the space before each of them, and the comments that belong there."""

    kinds: list[str]
    texts: list[str]
    gaps: list[str]
    trivia: list[list[Trivium]]

    def indent_of(self, at: int) -> str:
        """How far the line of a token is indented."""
        while at > 0 and "\n" not in self.gaps[at]:
            at -= 1
        return self.gaps[at].rpartition("\n")[2]


def weave(written: Tokens, text: str) -> str:
    """`text`, which prints the tree of `written`, with what a tree does not hold."""
    printed = tokenize(Source(_order_of_enums(written, text)))
    page = _page(printed)
    _fill(page, written, printed)
    for opened, closed in _groups_to_break(page):
        _break(page, opened, closed)
    return "".join(_rendered(page))


def _order_of_enums(written: Tokens, text: str) -> str:
    """Trees hold the values of an enum sorted; their author may have had a better order."""
    printed = tokenize(Source(text))
    for (_, _, values), (start, end, _) in reversed(list(zip(_enums(written), _enums(printed), strict=True))):
        text = f"{text[:start]}{values}{text[end:]}"
    return text


def _enums(tokens: Tokens) -> Iterator[tuple[int, int, str]]:
    """Where the values of each enum begin and end, and the values."""
    texts = tokens.texts
    for at in range(1, len(texts)):
        # No function has this name: whatever is written so is a type.
        if texts[at - 1 : at + 1] == ["enum", "("] and tokens.kinds[at] == PUNCT:
            end = texts.index(")", at)
            values = "".join(texts[at + 1 : end]).split(",")  # one value may be several tokens, such as 8-bit
            yield tokens.ends[at], tokens.starts[end], ", ".join(values)


def _page(printed: Tokens) -> _Page:
    text, position = printed.source.text, 0
    gaps = []
    for start, end in zip(printed.starts, printed.ends, strict=True):
        gaps.append(text[position:start])
        position = end
    return _Page(list(printed.kinds), list(printed.texts), gaps, [[] for _ in gaps])


def _fill(page: _Page, written: Tokens, printed: Tokens) -> None:
    """Every comment goes to the token that follows it; numbers and strings stay as they were written."""
    matches = align(written, printed)
    waiting: list[Trivium] = []
    for at, trivia in enumerate(trivia_before(written)):
        match = matches.get(at)
        # What stood before a token that is not written any more belongs to what was before that.
        waiting += trivia if match is None or match.same else [_behind(each) for each in trivia]
        if match is None:
            continue
        page.trivia[_start_of_run(page, match.place)] += waiting
        waiting = []
        if match.same and written.kinds[at] in (STRING, INT, FLOAT):
            page.texts[match.place] = written.texts[at]
    page.trivia = [_consistent(each) for each in page.trivia]


def _behind(trivium: Trivium) -> Trivium:
    return replace(trivium, stand=Stand.TRAILING) if trivium.stand is Stand.INLINE else trivium


def _start_of_run(page: _Page, at: int) -> int:
    """The first of the tokens that are written without a space: nothing comes between those."""
    while at > 0 and not page.gaps[at] and page.texts[at - 1] not in _OPENERS and page.kinds[at] != END:
        at -= 1
    return at


def _consistent(trivia: list[Trivium]) -> list[Trivium]:
    """Comments that met at one token: first what ends a line, then lines of their own, then what begins a line."""
    found: list[Trivium] = []
    for at, each in enumerate(trivia):
        late = each.stand is Stand.TRAILING and any(map(_ends_line, found))
        early = each.stand is Stand.INLINE and any(after.stand is not Stand.INLINE for after in trivia[at:])
        found.append(replace(each, stand=Stand.OWN) if late or early else each)
    return found


def _ends_line(trivium: Trivium) -> bool:
    return trivium.stand is not Stand.TRAILING or trivium.text.startswith("//")


# --- groups that a comment breaks ------------------------------------------------------------


def _groups_to_break(page: _Page) -> list[tuple[int, int]]:
    """Groups on one line that hold a comment which ends a line, outer ones first."""
    opened: list[int] = []
    broken: dict[int, int] = {}
    wanted: list[bool] = []
    for at, text in enumerate(page.texts):
        if any(each.stand in (Stand.OWN, Stand.TRAILING) for each in page.trivia[at]) and wanted:
            wanted[-1] = True
        if page.kinds[at] == STRING:
            continue
        if text in _OPENERS:
            opened.append(at)
            wanted.append(False)
        elif text in _CLOSERS and opened:
            start, inside = opened.pop(), wanted.pop()
            if inside and wanted:
                wanted[-1] = True
            if inside and _breaks(page, start) and not any("\n" in gap for gap in page.gaps[start + 1 : at + 1]):
                broken[start] = at
    return sorted(broken.items())


def _breaks(page: _Page, at: int) -> bool:
    """Whether a group may take several lines: lists in braces, and the parameters of a query."""
    if page.texts[at] == "{":
        return page.kinds[at + 1] != INT or page.gaps[at + 1] != ""  # numbers of hops stay together
    return page.texts[at] == "(" and at > 1 and page.texts[at - 2] == "query"


def _break(page: _Page, opened: int, closed: int) -> None:
    indent = page.indent_of(opened)
    depth = 0
    for at in range(opened, closed):
        text = page.texts[at] if page.kinds[at] != STRING else ""
        depth += (text in _OPENERS) - (text in _CLOSERS)
        if at == opened or (text == "," and depth == 1):
            page.gaps[at + 1] = f"\n{indent}{_STEP}"
    page.gaps[closed] = f"\n{indent}"


# --- text ------------------------------------------------------------------------------------


def _rendered(page: _Page) -> Iterator[str]:
    indent = ""
    for at, (text, gap, trivia) in enumerate(zip(page.texts, page.gaps, page.trivia, strict=True)):
        starts_line = "\n" in gap or at == 0
        if starts_line:
            indent = gap.rpartition("\n")[2]
            yield from _line_start(page, at, indent)
        elif trivia:
            yield from _within_line(page, at, indent + _STEP + _STEP)
        else:
            yield gap
        yield text


def _line_start(page: _Page, at: int, indent: str) -> Iterator[str]:
    closes, ends = page.texts[at] in _CLOSERS, page.kinds[at] == END
    trivia = page.trivia[at]
    if closes or ends:
        trivia = _consistent([_behind(each) for each in trivia])
    yield "".join(f" {each.text}" for each in trivia if each.stand is Stand.TRAILING)
    lines = [
        each.text and _reindented(each.text, indent + _STEP * closes)
        for each in trivia
        if each.stand in (Stand.OWN, Stand.BLANK)
    ]
    lines = _spaced(lines, blank="\n\n" in page.gaps[at] and not _stays_close(page, at))
    if at == 0 or page.texts[at - 1] in _OPENERS:
        lines = lines[1:] if lines[:1] == [""] else lines
    if closes or ends:
        lines = lines[:-1] if lines[-1:] == [""] else lines
    if at == 0:
        yield "".join(f"{line}\n" for line in lines)
    else:
        yield "\n" + "".join(f"{line}\n" for line in lines) + indent
    yield "".join(f"{each.text} " for each in trivia if each.stand is Stand.INLINE)


def _spaced(lines: list[str], *, blank: bool) -> list[str]:
    """Without two empty lines in a row; with one at the beginning where the layout has it."""
    wanted = ["", *lines] if blank else lines
    return [line for at, line in enumerate(wanted) if line or at == 0 or wanted[at - 1]]


def _stays_close(page: _Page, at: int) -> bool:
    """Edges without a body may follow each other without an empty line."""
    return page.texts[at] == "edge" and page.texts[at - 1] != "}"


def _within_line(page: _Page, at: int, indent: str) -> Iterator[str]:
    """Comments before a token that stands inside a line; after one that ends its line the rest goes on further in."""
    trivia = [each for each in page.trivia[at] if each.stand is not Stand.BLANK]
    yield "".join(f" {each.text}" for each in trivia if each.stand is Stand.TRAILING)
    own = [_reindented(each.text, indent) for each in trivia if each.stand is Stand.OWN]
    if any(each.stand is not Stand.INLINE for each in trivia):
        yield "\n" + "".join(f"{line}\n" for line in own) + indent
    else:
        yield page.gaps[at]
    yield "".join(f"{each.text} " for each in trivia if each.stand is Stand.INLINE)


def _reindented(comment: str, indent: str) -> str:
    """A comment on a line of its own; lines that begin with a star stay below the first one's."""
    first, *rest = comment.split("\n")
    if all(line.lstrip().startswith("*") for line in rest):
        rest = [f"{indent} {line.lstrip()}" for line in rest]
    return "\n".join([indent + first, *rest])
