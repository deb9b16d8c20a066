"""Rules that the cells of one input follow: which texts mean nothing, how numbers, dates and booleans are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.display import counted
from omnigraph.engine.intake.columns.cells import PLAIN_CELLS, Cells
from omnigraph.engine.intake.columns.date_formats import instants

# Nothing else is meant by these; by the second ones only where all other values are numbers, dates or booleans.
_NULLS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "Null", "null", "None", "\\N", "<NA>", "NaT")
_PERHAPS = ("", "-", "--", ".", "?", "none", "unknown", "Unknown", "#REF!", "#VALUE!", "na")
_WORDS = (
    *(("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off")),
    *(("ja", "nein"), ("wahr", "falsch"), ("oui", "non"), ("vrai", "faux"), ("sí", "no"), ("si", "no"), ("sim", "não")),
)
_WHOLE = r"^[-+]?[0-9]+(\.0*)?$"
_NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
_DAYS: tuple[str, ...] = (
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d %b %Y",
    "%b %d, %Y",
)
_DAYS += ("%d-%b-%Y", "%d-%b-%y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%Y%m%d", "%Y-%m-%d")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M", " %H:%M:%S.%f")
_MOSTLY = 0.8


@dataclass(slots=True)
class CellRules:
    """What was found, and the sentences that say so."""

    cells: Cells = PLAIN_CELLS
    assumed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def described(self) -> dict[str, Any]:
        """The members of a source that say so in a mapping."""
        cells = self.cells
        found: dict[str, Any] = {}
        if cells.nulls:
            found["nulls"] = list(cells.nulls)
        elif cells.column_nulls:
            found["nulls"] = {column: list(words) for column, words in cells.column_nulls.items()}
        for name in ("thousands", "decimal"):
            if (sign := getattr(cells, name)) is not None:
                found[name] = sign
        for name in ("whole", "text"):
            if columns := getattr(cells, name):
                found[name] = sorted(columns)
        if cells.dates:
            found["dates"] = dict(cells.dates)
        if cells.true:
            found |= {"true_words": list(cells.true), "false_words": list(cells.false)}
        return found


def find_rules(columns: Mapping[str, pa.ChunkedArray], mixed: frozenset[str] = frozenset()) -> CellRules:
    """The rules of the texts of one input; columns of other kinds have rules only about whole numbers."""
    found = CellRules()
    if mixed:
        found.cells = replace(found.cells, text=mixed)
    texts = {name: _known(values) for name, values in columns.items() if pa.types.is_string(values.type)}
    _find_nulls(texts, found)
    plain = {name: _without(values, _nulls_of(found.cells, name)) for name, values in texts.items()}
    plain = {name: values for name, values in plain.items() if len(values) and name not in mixed}
    _find_signs(plain, found)
    for name, values in plain.items():
        gaps = columns[name].null_count > 0 or len(values) < len(texts[name])
        _find_whole(name, values, found, gaps=gaps)
        _find_dates(name, values, found)
    _find_words(plain, found)
    for name, array in columns.items():
        if pa.types.is_floating(array.type) and _is_whole(array) and (array.null_count or _called_whole(name)):
            found.cells = replace(found.cells, whole=found.cells.whole | {name})
            found.assumed.append(f"{name} is a whole number although it is stored as a float")
    for name, values in texts.items():
        told = _tell_strays(name, _without(values, _nulls_of(found.cells, name)), columns[name], found)
        if name in mixed and not told:
            found.notes.append(f"{name} holds values of several kinds, so it is text")
    return found


def _known(values: pa.ChunkedArray) -> pa.Array:
    return pc.unique(values).drop_null()


def _nulls_of(cells: Cells, column: str) -> tuple[str, ...]:
    return (*cells.nulls, *cells.column_nulls.get(column, ()))


def _without(values: pa.Array, words: tuple[str, ...]) -> pa.Array:
    return values.filter(pc.invert(pc.is_in(values, value_set=pa.array(words, pa.utf8())))) if words else values


# --- nulls -----------------------------------------------------------------------------------------


def _find_nulls(texts: Mapping[str, pa.Array], found: CellRules) -> None:
    by_column: dict[str, tuple[str, ...]] = {}
    kept: dict[str, set[str]] = {}
    for name, values in texts.items():
        present = [word for word in (*_NULLS, *_PERHAPS) if pc.any(pc.equal(values, word)).as_py()]
        if not present:
            continue
        others = _without(values, tuple(present))
        means_nothing = [word for word in present if word in _NULLS]
        if len(others) and _is_typed(others):
            means_nothing = present
        elif "NA" in means_nothing and _are_codes(others):
            means_nothing.remove("NA")
            found.notes.append(f"NA in {name} is taken for a code, because the other values are codes of two letters")
        if means_nothing:
            by_column[name] = tuple(means_nothing)
        kept[name] = set(present) - set(means_nothing)
    words = tuple(dict.fromkeys(word for mine in by_column.values() for word in mine))
    if not words:
        return
    if not any(set(words) & mine for mine in kept.values()):
        found.cells = replace(found.cells, nulls=words)
    else:
        found.cells = replace(found.cells, column_nulls=by_column)
    shown = ", ".join(word or "an empty text" for word in words)
    found.assumed.append(f"{shown} means that there is no value (in {', '.join(by_column)})")


def _is_typed(values: pa.Array) -> bool:
    """Whether all values are numbers, dates or booleans."""
    if _all(values, r"^[-+]?[0-9][0-9,.' ]*([eE][-+]?[0-9]+)?$") or _all(values, r"(?i)^(true|false)$"):
        return True
    if _all(values, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"):
        return True
    lower = set(pc.utf8_lower(values).to_pylist()) if len(values) < 3 else set()
    return lower in [set(pair) for pair in _WORDS] or next(_date_formats(values), None) is not None


def _are_codes(values: pa.Array) -> bool:
    return len(values) > 0 and _all(values, "^[A-Z]{2}$")


# --- numbers ---------------------------------------------------------------------------------------


def _find_signs(texts: Mapping[str, pa.Array], found: CellRules) -> None:
    """Signs inside numbers: one pair for the whole input, because one program wrote it."""
    comma = [name for name, values in texts.items() if _decimal_comma(values)]
    decimal = "," if comma else None
    for sign in (".", " ", "'") if decimal else (",", " ", "'"):
        point = re.escape(decimal or ".")
        grouped = rf"^[-+]?[0-9]{{1,3}}({re.escape(sign)}[0-9]{{3}})*({point}[0-9]+)?$"
        mine = [
            name
            for name, values in texts.items()
            if _any(values, rf"[0-9]{re.escape(sign)}[0-9]{{3}}") and _all(values, grouped)
        ]
        if mine:
            found.cells = replace(found.cells, thousands=sign, decimal=decimal)
            found.assumed.append(f"'{sign}' separates thousands (in {', '.join(mine)})")
            break
    if decimal:
        found.cells = replace(found.cells, decimal=decimal)
        found.assumed.append(f"',' separates decimals (in {', '.join(comma)})")


def _decimal_comma(values: pa.Array) -> bool:
    if not _any(values, ",") or not _all(values, r"^[-+]?[0-9]{1,3}(\.?[0-9]{3})*(,[0-9]+)?$|^[-+]?[0-9]+(,[0-9]+)?$"):
        return False
    return not _all(values, r"^[-+]?[0-9]{1,3}(,[0-9]{3})*$")


def _find_whole(name: str, values: pa.Array, found: CellRules, *, gaps: bool) -> None:
    # Where points separate thousands, 1.000 is not one.
    pattern = r"^[-+]?[0-9]+(\.0)?$" if found.cells.thousands == "." else _WHOLE
    if (gaps or _called_whole(name)) and _any(values, r"\.0*$") and _all(values, pattern):
        found.cells = replace(found.cells, whole=found.cells.whole | {name})
        found.assumed.append(f"{name} is a whole number although it is written {values[0]}")


def _called_whole(name: str) -> bool:
    return re.search(r"(?i)(^|[_ ])(id|no|nr|number|year|count|key)$", name) is not None


def _is_whole(values: pa.ChunkedArray) -> bool:
    known = values.drop_null()
    return len(known) > 0 and bool(pc.all(pc.equal(pc.floor(known), known)).as_py())


# --- dates and booleans ----------------------------------------------------------------------------


def _date_formats(values: pa.Array) -> Iterator[str]:
    if not len(values) or not _all(values, r"^[0-9A-Za-z]{1,9}[-/. ,]?[0-9A-Za-z]{1,9}"):
        return
    clocks = _CLOCKS if _any(values, ":") else _CLOCKS[:1]
    for day in _DAYS:
        if day == "%Y%m%d" and not _all(values, r"^(19|20)[0-9]{2}(0[1-9]|1[0-2])([0-2][0-9]|3[01])"):
            continue
        for clock in clocks:
            if instants(values.slice(0, 1), day + clock) is not None and instants(values, day + clock) is not None:
                yield day + clock


def _find_dates(name: str, values: pa.Array, found: CellRules) -> None:
    if _all(values, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9:.]{8,}.*)?$"):
        return
    fitting = list(_date_formats(values))
    if not fitting:
        return
    if fitting[0] == "%Y%m%d" and not re.search(r"(?i)date|day|datum|fecha|_at$|_on$", name):
        return
    found.cells = replace(found.cells, dates={**found.cells.dates, name: fitting[0]})
    other = next((form for form in fitting[1:] if len(fitting[0]) == len(form)), None)
    if other is None:
        found.assumed.append(f"{name} is written as {fitting[0]}")
    else:
        found.notes.append(f"{name} is read as {fitting[0]}, but every value could also be {other}")


def _find_words(texts: Mapping[str, pa.Array], found: CellRules) -> None:
    mine: dict[tuple[str, str], list[str]] = {}
    for name, values in texts.items():
        if len(values) > 4:
            continue
        lower = set(pc.utf8_lower(values).to_pylist())
        pair = next((pair for pair in _WORDS if lower == set(pair)), None)
        if pair is not None:
            mine.setdefault(pair, []).append(name)
    if not mine:
        return
    true, false = tuple(pair[0] for pair in mine), tuple(pair[1] for pair in mine)
    found.cells = replace(found.cells, true=("true", *true), false=("false", *false))
    for (yes, no), names in mine.items():
        found.assumed.append(f"{yes} and {no} are true and false (in {', '.join(names)})")


def _tell_strays(name: str, values: pa.Array, rows: pa.ChunkedArray, found: CellRules) -> bool:
    """A few texts among numbers: the column is text, and a person may want to know why."""
    if _all(values, _NUMBER) or name in found.cells.dates or found.cells.thousands or found.cells.decimal:
        return False
    numbers = pc.match_substring_regex(values, _NUMBER)
    if pc.sum(numbers).as_py() < _MOSTLY * len(values) or _any(values, "^[-+]?0[0-9]"):
        return False
    strays = values.filter(pc.invert(numbers))
    count = pc.sum(pc.is_in(rows, value_set=strays)).as_py() or 0
    shown = ", ".join(repr(each) for each in strays.to_pylist()[:3])
    found.notes.append(
        f"{name} is text because of {counted(count, 'row', grouped=True)} such as {shown}; the rest are numbers"
    )
    return True


def _all(values: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern), min_count=0).as_py())


def _any(values: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern), min_count=0).as_py())
