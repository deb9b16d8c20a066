"""How the cells of a source are written where they are not what JSON would have: nulls, numbers, dates, booleans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import FLOATING, INTEGER, PropType
from omnigraph.engine.intake.columns.date_formats import instants
from omnigraph.errors import BadRequest

TRUE = ("true", "t", "yes", "y", "on", "1")
FALSE = ("false", "f", "no", "n", "off", "0")


@dataclass(frozen=True, slots=True)
class Cells:
    """What a mapping says about the cells of one source; without anything they are read as JSON values.

    `nulls` are texts that stand for nothing, in every column or, in `column_nulls`, in one. `whole` names columns where
    2.0 means the whole number 2, and `text` columns that are text whatever they hold. `dates` are formats such as
    %d/%m/%Y by column. `true` and `false` are words, in any case. `thousands` and `decimal` are signs inside numbers.
    """

    nulls: tuple[str, ...] = ()
    column_nulls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    trim: bool = False
    thousands: str | None = None
    decimal: str | None = None
    whole: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    dates: Mapping[str, str] = field(default_factory=dict)
    true: tuple[str, ...] = ()
    false: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, sign in (("thousands", self.thousands), ("decimal", self.decimal)):
            if sign is not None and (len(sign) != 1 or sign.isalnum() or sign in "+-"):
                raise BadRequest(f"'{name}' is one sign that stands inside numbers, and '{sign}' is not")
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            raise BadRequest(
                f"'{self.thousands}' cannot separate both thousands and decimals; also write decimal: \",\""
            )

    @property
    def are_plain(self) -> bool:
        return self == PLAIN_CELLS

    def cleaned(self, column: str, values: pa.Array) -> pa.Array:
        """A column without the texts that stand for nothing; floats that are whole numbers, if the column says so."""
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            texts = values.cast(pa.utf8())
            texts = pc.utf8_trim_whitespace(texts) if self.trim else texts
            nothing = (*self.nulls, *self.column_nulls.get(column, ()))
            if nothing:
                known = pc.is_in(texts, value_set=pa.array(nothing, pa.utf8()))
                texts = pc.if_else(known, pa.scalar(None, pa.utf8()), texts)
            if column in self.whole:
                texts = pc.replace_substring_regex(texts, r"^([-+]?[0-9]+)\.0*$", r"\1")
            return texts
        if column in self.whole and pa.types.is_floating(values.type):
            try:
                return values.cast(pa.int64())
            except pa.ArrowInvalid:  # some have a fraction; the rules refuse those
                return values
        if column in self.text and not pa.types.is_nested(values.type):
            return values.cast(pa.utf8())
        return values

    def spelled(self, column: str, kind: PropType, texts: pa.Array) -> pa.Array | None:
        """Cleaned texts as JSON or Arrow would have them; None when one of them is not such a value."""
        if kind.list or kind.dim is not None:
            return texts
        if kind.scalar in INTEGER or kind.scalar in FLOATING:
            return self._numbers(texts)
        if kind.scalar == "Bool" and self.true:
            return _words(texts, self.true, self.false)
        if kind.scalar in ("Date", "DateTime") and column in self.dates:
            return instants(texts, self.dates[column])
        return texts

    def _numbers(self, texts: pa.Array) -> pa.Array | None:
        if self.thousands is not None:
            sign, point = _escaped(self.thousands), _escaped(self.decimal or ".")
            grouped = rf"^[-+]?([0-9]{{1,3}}({sign}[0-9]{{3}})+|[0-9]+)({point}[0-9]*)?([eE][-+]?[0-9]+)?$"
            if not pc.all(pc.match_substring_regex(texts, grouped), min_count=0).as_py():
                return None
            texts = pc.replace_substring(texts, self.thousands, "")
        if self.decimal is not None and self.decimal != ".":
            if pc.any(pc.match_substring(texts, ".")).as_py():
                return None
            texts = pc.replace_substring(texts, self.decimal, ".")
        return texts


PLAIN_CELLS = Cells()


def _words(texts: pa.Array, true: tuple[str, ...], false: tuple[str, ...]) -> pa.Array | None:
    lower = pc.utf8_lower(texts)
    yes = pc.is_in(lower, value_set=pa.array([word.lower() for word in true], pa.utf8()))
    no = pc.is_in(lower, value_set=pa.array([word.lower() for word in false], pa.utf8()))
    known = pc.or_(pc.or_(yes, no), pc.is_null(texts))
    if not pc.all(known, min_count=0).as_py():
        return None
    return pc.if_else(pc.is_null(texts), pa.scalar(None, pa.bool_()), yes)


def _escaped(sign: str) -> str:
    return f"\\{sign}" if not sign.isspace() else sign
