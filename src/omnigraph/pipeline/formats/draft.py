"""Drafting a schema from data: names that the language accepts, types that every value fits, and the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.catalog.expand import RESERVED
from omnigraph.compiler.types import INTEGER, PropType
from omnigraph.engine.intake.columns.cells import PLAIN_CELLS, Cells
from omnigraph.engine.intake.columns.property_columns import are_cells, column_from_arrow
from omnigraph.engine.intake.columns.text_cells import from_text
from omnigraph.engine.values.json_values import BASE64_PREFIX
from omnigraph.errors import BadRequest
from omnigraph.policy.external_blobs import ExternalBlobPolicy

_TEXT = PropType("String")
_WORD = "^[A-Za-z_][A-Za-z0-9_-]*$"
_ENUM_MOST = 8
_ENUM_ROWS = 24
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "ł": "l", "Ł": "L", "đ": "d", "œ": "oe"})
_NAME = re.compile(r"[a-z_][A-Za-z0-9_]*")
# The capitals that a word begins with: `ID`, `SKU` of `SKUCode`, `F` of `Full`, `ID` of `IDs`.
_FIRST_CAPITALS = re.compile(r"^[A-Z][A-Z0-9]+(?=s$)|^[A-Z][A-Z0-9]*(?![a-z])|^[A-Z]")
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "data": "data"}
# Their singular ends in -ie, or is the same.
_IN_IE = ("movies", "cookies", "calories", "zombies", "selfies", "rookies", "hoodies", "brownies", "prairies", "genies")
_UNCHANGED = ("series", "species")


@dataclass(frozen=True, slots=True)
class DraftProperty:
    """One property to declare."""

    name: str
    kind: PropType
    key: bool = False

    @property
    def text(self) -> str:
        return f"{self.name}: {self.kind}{' @key' if self.key else ''}"


@dataclass(frozen=True, slots=True)
class DraftType:
    """One node type to declare, or an edge type when it has ends."""

    name: str
    properties: tuple[DraftProperty, ...] = ()
    ends: tuple[str, str] | None = None
    constraints: tuple[str, ...] = field(default=())

    @property
    def text(self) -> str:
        head = f"node {self.name}" if self.ends is None else f"edge {self.name}: {self.ends[0]} -> {self.ends[1]}"
        lines = [prop.text for prop in self.properties] + list(self.constraints)
        if not lines:
            return f"{head} {{}}" if self.ends is None else head
        return "\n".join([f"{head} {{", *(f"  {line}" for line in lines), "}"])


def schema_text(types: Iterable[DraftType]) -> str:
    """The declarations, nodes first; what is returned compiles."""
    ordered = sorted(types, key=lambda each: each.ends is not None)
    text = "\n\n".join(each.text for each in ordered) + "\n"
    compile_schema(text)
    return text


# --- names -----------------------------------------------------------------------------------------


def type_name(text: str, *, singular: bool = False) -> str:
    """`ACTED_IN` → `ActedIn`, `user accounts` → `UserAccounts`; with `singular`, `companies` → `Company`.

    >>> type_name("ACTED_IN"), type_name("people", singular=True), type_name("2 fast")
    ('ActedIn', 'Person', 'T2Fast')
    >>> type_name("movies", singular=True)
    'Movie'
    """
    words = re.findall(r"[A-Za-z0-9]+", latin_letters(text))
    if singular and words:
        words[-1] = _singular(words[-1])
    spoken = [word.capitalize() if word.isupper() and len(words) + len(word) > 3 else word for word in words]
    name = "".join(word[0].upper() + word[1:] for word in spoken) or "Thing"
    return name if name[0].isalpha() else f"T{name}"


def property_name(text: str, taken: Iterable[str] = (), *, edge: bool = False) -> str:
    """A name that the language takes stays as it is, `Full Name` → `full_name`; reserved and repeated ones get a tail.

    >>> property_name("Full Name"), property_name("_fullName"), property_name("id"), property_name("name", ["name"])
    ('full_name', '_fullName', 'id_', 'name_2')
    >>> property_name("Shop ID"), property_name("SKU Code"), property_name("SKUCode"), property_name("SHOP_ID")
    ('shop_id', 'sku_code', 'skuCode', 'shop_id')
    """
    name = text if _NAME.fullmatch(text) else _spelled(text)
    name = f"{name}_" if name in RESERVED["edge" if edge else "node"] else name
    used, tail, base = set(taken), 2, name
    while name in used:
        name, tail = f"{base}_{tail}", tail + 1
    return name


def property_names(texts: Iterable[str], *, edge: bool = False) -> dict[str, str]:
    """A name for each of several columns of one type; those that can stay as they are come first."""
    given = list(texts)
    found: dict[str, str] = {}
    for text in sorted(given, key=lambda each: property_name(each, edge=edge) != each):
        found[text] = property_name(text, found.values(), edge=edge)
    return {text: found[text] for text in given}


def _spelled(text: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", latin_letters(text).strip()).strip("_") or "value"
    plain = "_".join(_FIRST_CAPITALS.sub(lambda found: found.group().lower(), word) for word in plain.split("_"))
    return plain if plain[0].isalpha() or plain[0] == "_" else f"_{plain}"


def latin_letters(text: str) -> str:
    """Letters without accents, so that a name stays readable.

    >>> latin_letters("Größe"), latin_letters("prénom"), latin_letters("Łódź")
    ('Grosse', 'prenom', 'Lodz')
    """
    folded = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    return "".join(sign for sign in folded if not unicodedata.combining(sign))


def distinct_name(name: str, taken: Iterable[str]) -> str:
    """A type name that differs from the others in more than its case."""
    used, tail, base = {each.lower() for each in taken}, 2, name
    while name.lower() in used:
        name, tail = f"{base}{tail}", tail + 1
    return name


def _singular(word: str) -> str:
    lower = word.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    if lower in _IN_IE:
        return word[:-1]
    if lower in _UNCHANGED:
        return word
    if lower.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if lower.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if lower.endswith("s") and not lower.endswith(("ss", "us", "is")) and len(word) > 3 else word


# --- types -----------------------------------------------------------------------------------------


def kind_of(
    values: pa.ChunkedArray,
    *,
    text: bool = False,
    enums: bool = False,
    cells: Cells = PLAIN_CELLS,
    column: str = "",
) -> PropType | None:
    """The narrowest type that takes every value by the engine's own rules; None when no type does.

    With `text` the values are cells of a text file, which may stand for numbers in the way that `cells` says; with
    `enums` a few words that repeat become an enum.
    """
    nullable = values.null_count > 0
    for kind in _ruled(cells, column) if text else []:
        if _takes_all(kind, values, cells, column):
            return replace(kind, nullable=nullable)
    for kind in _candidates(values, text=text, enums=enums):
        if all(_takes(kind, chunk, text=text) for chunk in values.chunks):
            return replace(kind, nullable=nullable)
    return None


def _ruled(cells: Cells, column: str) -> list[PropType]:
    """The types that a column may have only because of rules for its cells."""
    found: list[PropType] = []
    if column in cells.dates:
        found.append(
            PropType("DateTime") if "H" in cells.dates[column] or "I" in cells.dates[column] else PropType("Date")
        )
    if cells.true:
        found.append(PropType("Bool"))
    if cells.thousands is not None or cells.decimal is not None:
        found += [PropType("I64"), PropType("F64")]
    return found


def _takes_all(kind: PropType, values: pa.ChunkedArray, cells: Cells, column: str) -> bool:
    """Whether rules turn every cell into a value of this type; a code such as 007 is not a number."""
    if values.null_count == len(values):
        return False
    if kind.is_numeric and pc.any(pc.match_substring_regex(values, "^[-+]?0[0-9]")).as_py():
        return False
    for chunk in values.chunks:
        typed = from_text(kind, chunk, cells, column)
        if typed is None or column_from_arrow("value", replace(kind, nullable=True), typed)[1]:
            return False
    return True


def _candidates(values: pa.ChunkedArray, *, text: bool, enums: bool) -> list[PropType]:
    kind = values.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return [_TEXT]
    if pa.types.is_boolean(kind):
        return [PropType("Bool")]
    if pa.types.is_integer(kind):
        return [PropType("I64"), PropType("U64"), PropType("F64")]
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return [PropType("F64")]
    if pa.types.is_date32(kind):
        return [PropType("Date"), PropType("DateTime")]
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return [PropType("DateTime")]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or are_cells(kind):
        return [PropType("Blob")]
    if pa.types.is_fixed_size_list(kind) and pa.types.is_floating(kind.value_type):
        return [PropType("Vector", dim=kind.list_size)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _candidates(pa.chunked_array([], kind.value_type), text=False, enums=False)
        return [replace(each, list=True) for each in inner if each.scalar not in ("Blob", "Vector") and not each.list]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _text_candidates(values, text=text, enums=enums)
    return []


def _text_candidates(values: pa.ChunkedArray, *, text: bool, enums: bool) -> list[PropType]:
    if values.null_count == len(values):
        return [_TEXT]
    found: list[PropType] = []
    if pc.all(pc.starts_with(values, BASE64_PREFIX)).as_py():
        found.append(PropType("Blob"))
    # A code such as 007 is not a number.
    if text and not pc.any(pc.match_substring_regex(values, "^[-+]?0[0-9]")).as_py():
        if pc.all(pc.match_substring_regex(values, "(?i)^(true|false)$")).as_py():
            found.append(PropType("Bool"))
        if pc.all(pc.match_substring_regex(values, "^-?[0-9]+$")).as_py():
            found += [PropType("I64"), PropType("U64")]
        if pc.all(pc.match_substring_regex(values, r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$")).as_py():
            found.append(PropType("F64"))
    if pc.all(pc.match_substring_regex(values, "^[0-9]{4}-[0-9]{2}-[0-9]{2}")).as_py():
        whole = pc.max(pc.utf8_length(values)).as_py() == len("2000-01-01")
        found.append(PropType("Date") if whole else PropType("DateTime"))
    if enums and (words := words_of(values)) is not None:
        found.append(PropType("String", enum=words))
    return [*found, _TEXT]


def words_of(values: pa.ChunkedArray) -> tuple[str, ...] | None:
    """The few words that a column repeats, if it holds nothing else."""
    known = len(values) - values.null_count
    if known < _ENUM_ROWS:
        return None
    words = [word for word in pc.unique(values).to_pylist() if word is not None]
    if len(words) > _ENUM_MOST or len(words) * 4 > known or not all(re.match(_WORD, word) for word in words):
        return None
    return tuple(sorted(words))


def _takes(kind: PropType, values: pa.Array, *, text: bool) -> bool:
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if pa.types.is_large_string(plain.type) or pa.types.is_string_view(plain.type):
        plain = plain.cast(pa.utf8())
    if text:
        typed = from_text(kind, plain)
        if typed is None:
            return False
        plain = typed
    elif kind.scalar in INTEGER and pa.types.is_string(plain.type):
        return False
    return not column_from_arrow("value", replace(kind, nullable=True), plain, _ANYWHERE)[1]


class _Anywhere(ExternalBlobPolicy):
    """What a value is does not depend on what a handle will let in."""

    __slots__ = ()

    def reference(self, text: str) -> str:
        if not text.startswith(("s3://", "file:///")):
            raise BadRequest("it is neither an s3:// nor a file:/// URI")
        return text


_ANYWHERE = _Anywhere(())


def texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids as they will be stored: text as it is, whole numbers in decimal."""
    return values if pa.types.is_string(values.type) else values.cast(pa.utf8())


def holds_references(values: pa.ChunkedArray) -> bool:
    """Whether some blobs of a column are URIs."""
    if not are_cells(values.type) or values.type.get_field_index("uri") < 0:
        return False
    return bool(pc.struct_field(values, "uri").null_count < len(values))


def unique_ends(tails: pa.ChunkedArray, heads: pa.ChunkedArray) -> tuple[str, ...]:
    """The constraint of an edge type, if no two rows that have both ends link the same two."""
    pairs = pa.table({"src": tails, "dst": heads}).drop_null()
    distinct = pairs.group_by(["src", "dst"]).aggregate([]).num_rows == pairs.num_rows
    return ("@unique(src, dst)",) if distinct else ()
