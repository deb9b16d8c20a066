"""Texts are cut into tokens piece by piece, wherever a piece ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.checkpoints import checking
from omnigraph.compiler import lexer
from omnigraph.compiler.lexer import Tokens, tokenize
from omnigraph.compiler.source import Source

_PARTS = ['"', "\\", '"a b"', "/*", "*/", "//", "\n", " ", "1", ".", "..", "12.5", "->", "-", ">", "<=", "=", "!", "$"]
_TEXTS = st.lists(st.sampled_from([*_PARTS, "$ab", "name", "Type", "é", "#", "[", ",", "*", "/", "_"])).map("".join)


def _cut(text: str, piece: int) -> Tokens:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexer, "_PIECE", piece)
        return tokenize(Source(text))


@given(_TEXTS, st.integers(1, 9))
def test_the_tokens_do_not_depend_on_where_a_piece_ends(text: str, piece: int) -> None:
    assert _cut(text, piece) == _cut(text, len(text) + 1)


@pytest.mark.parametrize("piece", range(1, 8))
def test_a_number_a_string_and_a_comment_may_lie_across_pieces(piece: int) -> None:
    tokens = _cut('a 1.5 "x // \\" y" /* "z */ b // c\n..', piece)
    assert tokens.texts == ["a", "1.5", '"x // \\" y"', "b", "..", ""]
    assert [
        tokens.source.text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)
    ] == tokens.texts


def test_a_long_text_can_be_stopped_between_two_pieces() -> None:
    seen: list[int] = []
    with checking(lambda: seen.append(1)):
        tokenize(Source("[" + "1," * 100_000 + "1]"))
    assert len(seen) > 8
