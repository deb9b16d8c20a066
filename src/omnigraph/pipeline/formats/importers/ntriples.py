"""RDF as N-Triples: `rdf:type` names node types, literals are properties, other triples are edges."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from omnigraph.engine.intake.inputs.files import list_files, open_stream
from omnigraph.engine.intake.inputs.read_ahead import ReadAheadFile
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.importers.bundle import Bundle, Links, Nodes, attribute, bundle, with_labels

_TRIPLE = r"^\s*(?P<s><[^<>]*>|_:[^\s]+)\s*<(?P<p>[^<>]*)>\s*(?P<o><[^<>]*>|_:[^\s]+|\".*\"[^\s]*)\s*\.\s*(?:#.*)?$"
_LITERAL = r"^\"(?P<text>.*)\"(?:@(?P<language>[A-Za-z0-9-]+)|\^\^<(?P<kind>[^<>]*)>)?$"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS = {f"{_XSD}{name}" for name in ("integer", "int", "long", "short", "byte", "nonNegativeInteger")}
_FLOATS = {f"{_XSD}{name}" for name in ("double", "float", "decimal")}
_UNTYPED = "Resource"
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_PLAIN_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_BLOCK = 16 << 20


def read_ntriples(sources: Sequence[str]) -> Bundle:
    """Subjects and what they point to are nodes, identified by their IRI; a node has the first type it is given."""
    triples = pa.concat_tables(
        [_triples(file.path) for source in sources for file in list_files(source, [".nt", ".ntriples"])]
    )
    literal = pc.starts_with(triples["o"], '"')
    typing = pc.equal(triples["p"], _TYPE)
    links = triples.filter(pc.and_(pc.invert(literal), pc.invert(typing)))
    known = _nodes(triples, triples.filter(typing), links)
    values = triples.filter(literal)
    nodes = [Nodes(label, _properties(ids, values)) for label, ids in _by_label(known).items()]
    return bundle(nodes, _links(links, known))


def _triples(path: str) -> pa.Table:
    reading = pcsv.ReadOptions(block_size=_BLOCK, column_names=["line"])
    parsing = pcsv.ParseOptions(delimiter="\x1f", quote_char=False, ignore_empty_lines=True)
    try:
        with ReadAheadFile(open_stream(path)) as file:
            convert = pcsv.ConvertOptions(column_types={"line": pa.utf8()})
            lines = pcsv.read_csv(file, reading, parsing, convert)["line"]
    except pa.ArrowInvalid as error:
        if "Empty" in str(error):
            raise BadRequest(f"'{path}' contains no triples") from error
        raise BadRequest(f"'{path}' cannot be read: {error}") from error
    lines = lines.filter(pc.invert(pc.match_substring_regex(lines, r"^\s*(#.*)?$")))
    parts = pc.extract_regex(lines, _TRIPLE)
    if parts.null_count:
        raise BadRequest(
            f"'{path}' contains a line that is not a triple: {lines.filter(parts.is_null())[0].as_py()[:120]}"
        )
    return pa.table({name: pc.struct_field(parts, name) for name in ("s", "p", "o")})


def _nodes(triples: pa.Table, typing: pa.Table, links: pa.Table) -> pa.Table:
    """Every node with its label: id, label."""
    ids = pc.unique(pa.chunked_array([*triples["s"].chunks, *links["o"].chunks], pa.utf8()))
    place = pc.index_in(ids, value_set=typing["s"].combine_chunks())
    labels = (
        _local_names(typing["o"].take(place)) if typing.num_rows else pa.chunked_array([pa.nulls(len(ids), pa.utf8())])
    )
    return pa.table({"raw": ids, "id": _plain_ids(ids), "label": pc.fill_null(labels, _UNTYPED)})


def _plain_ids(ids: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(ids, "^<(.*)>$", r"\1")


def _local_names(iris: pa.ChunkedArray) -> pa.ChunkedArray:
    """What stands behind the last #, / or : of an IRI."""
    names = pc.struct_field(pc.extract_regex(iris, r"(?P<name>[^#/:<>]+)[#/]?>?$"), "name")
    return pc.fill_null(names, iris)


def _by_label(known: pa.Table) -> dict[str, pa.Table]:
    return {label: known.filter(pc.equal(known["label"], label)) for label in pc.unique(known["label"]).to_pylist()}


# --- literals --------------------------------------------------------------------------------------


def _properties(nodes: pa.Table, values: pa.Table) -> pa.Table:
    """The literals of some nodes as columns; a predicate that a node has twice holds lists."""
    columns: dict[str, pa.Array] = {"id": nodes["id"].combine_chunks()}
    raw = nodes["raw"].combine_chunks()
    mine = values.filter(pc.is_in(values["s"], value_set=raw))
    for predicate in pc.unique(mine["p"]).to_pylist():
        rows = mine.filter(pc.equal(mine["p"], predicate))
        owner = pc.index_in(rows["s"], value_set=raw).combine_chunks()
        name = attribute(_local_names(pa.chunked_array([[predicate]]))[0].as_py())
        columns[attribute(predicate) if name in columns else name] = _spread(owner, _values(rows["o"]), len(raw))
    return pa.table(columns)


def _spread(owner: pa.Array, values: pa.Array, count: int) -> pa.Array:
    at = owner.to_numpy()
    if len(np.unique(at)) == len(at):
        place = pc.index_in(pa.array(np.arange(count), owner.type), value_set=owner)
        return values.take(place)
    order = np.argsort(at, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=count))]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(order)))
    return pc.if_else(pa.array(np.diff(offsets) > 0), lists, pa.scalar(None, lists.type))


def _values(literals: pa.ChunkedArray) -> pa.Array:
    parts = pc.extract_regex(literals, _LITERAL).combine_chunks()
    if parts.null_count:
        raise BadRequest(f"this is not a literal: {literals.filter(parts.is_null())[0].as_py()[:120]}")
    text = _unescaped(pc.struct_field(parts, "text"))
    kinds = set(pc.unique(pc.struct_field(parts, "kind")).to_pylist())
    carrier = pa.utf8()
    if kinds <= _INTEGERS:
        carrier = pa.int64()
    elif kinds <= _INTEGERS | _FLOATS:
        carrier = pa.float64()
    elif kinds == {f"{_XSD}boolean"}:
        carrier = pa.bool_()
    try:
        return text.cast(carrier)
    except pa.ArrowInvalid:
        return text  # a number beyond 64 bits, or one that is none: what was written is kept


def _unescaped(text: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring(text, "\\"), min_count=0).as_py():
        return text
    return pa.array([_ESCAPE.sub(_character, value) if "\\" in value else value for value in text.to_pylist()])


def _character(found: re.Match[str]) -> str:
    code = found.group(1)
    return chr(int(code[1:], 16)) if len(code) > 1 else _PLAIN_ESCAPES.get(code, code)


# --- links -----------------------------------------------------------------------------------------


def _links(links: pa.Table, known: pa.Table) -> list[Links]:
    if not links.num_rows:
        return []
    plain = known.select(["id", "label"])
    found = []
    for predicate in pc.unique(links["p"]).to_pylist():
        rows = links.filter(pc.equal(links["p"], predicate))
        ends = {"from": _plain_ids(rows["s"]), "to": _plain_ids(rows["o"])}
        name = _local_names(pa.chunked_array([[predicate]]))[0].as_py()
        found.append(Links(name, with_labels(pa.table(ends), plain)))
    return found
