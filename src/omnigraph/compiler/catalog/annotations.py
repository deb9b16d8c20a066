"""Which annotation may stand where, with which value, and what it turns into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from omnigraph.compiler.catalog import defaults, model
from omnigraph.compiler.catalog.expand import Effective
from omnigraph.compiler.catalog.shape import MARKS, Kind, canonical_annotations
from omnigraph.compiler.diagnostics import SchemaError, did_you_mean, fail
from omnigraph.compiler.schema import ast
from omnigraph.compiler.source import Source, Span
from omnigraph.compiler.types import ENGLISH

METRICS = ("cosine", "dot", "l2")
# What words are shortened to their stems by; `none` leaves them as they are.
LANGUAGES = (
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", ENGLISH, "esperanto", "estonian", "finnish",
    "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "none",
    "norwegian", "persian", "polish", "portuguese", "romanian", "russian", "serbian", "sesotho", "spanish", "swedish",
    "tamil", "turkish", "yiddish",
)  # fmt: skip
_ONCE = frozenset({"description", "instruction", "embed", *MARKS})


@dataclass(frozen=True, slots=True)
class Hint:
    """`@rename_from(old)`, where it stands, and whether an interface brought it."""

    old: str
    span: Span
    injected: bool = False


@dataclass(slots=True)
class Reading:
    """What the annotations of one declaration or property amount to."""

    kept: tuple[model.Annotation, ...] = ()
    marks: list[tuple[str, Span]] = field(default_factory=list)
    hint: Hint | None = None


def read_header(kind: Kind, name: str, annotations: tuple[ast.Annotation, ...], source: Source) -> Reading:
    """The annotations of a node or edge header."""
    reader = _Reader(f"{kind} '{name}'", source)
    for each in annotations:
        if each.name in MARKS or each.name == "embed":
            reader.fail(
                "S030", f"@{each.name} belongs on a property, not on {'an' if kind == 'edge' else 'a'} {kind}", each
            )
        reader.read(each)
    return reader.finish()


def read_interface_property(owner: str, prop: ast.Property, source: Source) -> Reading:
    """The annotations of an interface property; only hints are judged before injection."""
    reader = _Reader(f"'{owner}.{prop.name}'", source)
    for each in prop.annotations:
        if each.name == "rename_from":
            reader.read(each)
        else:
            reader.keep(each)
    return reader.finish()


def read_property(
    kind: Kind, owner: str, effective: Effective, siblings: Mapping[str, Effective], source: Source
) -> Reading:
    """The annotations of a node's or edge's property, its own or injected."""
    prop = effective.property
    reader = _Reader(f"'{owner}.{prop.name}'", source, injected=bool(effective.suppliers))
    for each in prop.annotations:
        match each.name:
            case "instruction":
                reader.fail("S030", "@instruction belongs on a node or an edge, not on a property", each)
            case "embed" if kind == "edge":
                reader.fail("S030", "@embed belongs on a node's property, not on an edge's", each)
            case "embed":
                _check_embed(reader, each, prop, siblings)
            case "metric" if prop.type.is_vector:
                _check_metric(reader, each)
            case "language" if prop.type.scalar == "String" and not prop.type.list:
                _check_language(reader, each)
            case defaults.NAME if not prop.type.nullable:
                _check_default(reader, each, prop)
        reader.read(each)
    return reader.finish()


def _check_embed(reader: _Reader, each: ast.Annotation, prop: ast.Property, siblings: Mapping[str, Effective]) -> None:
    if not prop.type.is_vector:
        reader.fail("S033", f"@embed needs a Vector property; {reader.place} is {prop.type}", each)
    if each.value is None or not each.value.strip():
        reader.fail("S032", "@embed needs the name of its source property", each)
    for name, value, kind in each.kwargs:
        if name != "model":
            reader.fail("S035", f"@embed has no argument '{name}'", each, "the only argument is model")
        if kind != "string" or not value.strip():
            reader.fail("S032", "the model of @embed is a non-empty string", each)
    found = siblings.get(each.value)
    if found is None:
        reader.fail("S034", f"@embed source '{each.value}' does not exist", each, did_you_mean(each.value, siblings))
    if found.property.type.scalar != "String" or found.property.type.list:
        reader.fail("S034", f"@embed source '{each.value}' must be a String; it is {found.property.type}", each)


def _check_metric(reader: _Reader, each: ast.Annotation) -> None:
    reader.check_once(each)
    if each.value not in METRICS or each.kwargs or each.value_kind not in ("string", "word"):
        reader.fail("S032", "@metric is one of " + ", ".join(f'"{name}"' for name in METRICS), each)


def _check_language(reader: _Reader, each: ast.Annotation) -> None:
    reader.check_once(each)
    if each.value not in LANGUAGES or each.kwargs or each.value_kind not in ("string", "word"):
        help_text = did_you_mean(each.value or "", LANGUAGES) or f"one of {', '.join(LANGUAGES)}"
        reader.fail("S032", f"{each.value!r} is not a language that words can be searched in", each, help_text)


def _check_default(reader: _Reader, each: ast.Annotation, prop: ast.Property) -> None:
    reader.check_once(each)
    if not defaults.takes_default(prop.type):
        reader.fail("S032", f"@default needs a plain scalar; {reader.place} is {prop.type}", each)
    if each.value is None or each.kwargs or not defaults.spelled_for(prop.type, each.value_kind):
        reader.fail("S032", f"@default of {reader.place} takes one {prop.type} value", each)
    try:
        defaults.parse_default(prop.type, each.value)
    except ValueError as error:
        reader.fail("S032", f"@default of {reader.place}: {error}", each)


class _Reader:
    """Applies the rules that are the same everywhere, and collects what stays."""

    def __init__(self, place: str, source: Source, *, injected: bool = False) -> None:
        self.place = place
        self._source = source
        self._injected = injected
        self._seen: set[str] = set()
        self._kept: list[model.Annotation] = []
        self._reading = Reading()

    def read(self, each: ast.Annotation) -> None:
        """Judge one annotation and keep what it means."""
        if each.name in _ONCE:
            self.check_once(each)
        if each.name in ("description", "instruction"):
            self._check_text(each)
        if each.name == "rename_from":
            self._read_hint(each)
        elif each.name in MARKS:
            self._reading.marks.append((each.name, each.span))
        else:
            self.keep(each)

    def keep(self, each: ast.Annotation) -> None:
        """Keep an annotation with its arguments in order."""
        arguments = {name: value for name, value, _ in each.kwargs}
        if len(arguments) != len(each.kwargs):
            self.fail("S031", f"an argument of @{each.name} on {self.place} is given twice", each)
        self._kept.append(model.Annotation(each.name, each.value, tuple(sorted(arguments.items()))))

    def check_once(self, each: ast.Annotation) -> None:
        """S031 the second time a name comes by."""
        if each.name in self._seen:
            self.fail("S031", f"@{each.name} is repeated on {self.place}", each)
        self._seen.add(each.name)

    def finish(self) -> Reading:
        """What was read, in canonical order."""
        self._reading.kept = canonical_annotations(self._kept)
        return self._reading

    def fail(self, code: str, message: str, each: ast.Annotation, help: str | None = None) -> NoReturn:
        """Reject the schema because of this annotation."""
        fail(SchemaError, self._source, code, message, each.span, help=help)

    def _check_text(self, each: ast.Annotation) -> None:
        if each.value is None or each.value_kind != "string" or not each.value.strip() or each.kwargs:
            self.fail("S032", f"@{each.name} takes one non-empty string", each)

    def _read_hint(self, each: ast.Annotation) -> None:
        if self._reading.hint is not None:
            self.fail("S036", f"@rename_from is repeated on {self.place}", each)
        if each.value is None or not each.value.strip() or each.kwargs:
            self.fail("S036", "@rename_from takes one former name", each)
        self._reading.hint = Hint(each.value.strip(), each.span, self._injected)
