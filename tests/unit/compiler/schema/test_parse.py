"""The grammar: what a text turns into, whatever its layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.compiler.catalog import accept_schema, compile_schema, decode_accepted, plan_migration
from omnigraph.compiler.catalog.model import Annotation, Card, Embed, Range
from omnigraph.compiler.schema.ast import Annotation as AstAnnotation
from omnigraph.compiler.schema.ast import Bounds, Cardinality, Constraint, ConstraintArg, Edge, Node, Schema, TypeRef
from omnigraph.compiler.schema.format import format_schema
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.compiler.types import PropType

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
SCHEMAS = sorted((Path(__file__).parents[3] / "golden" / "schemas").glob("*.pg"))


def prop(text: str):
    return parse_schema(f"node A {{ {text} }}").declarations[0].properties[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x: String", PropType("String")),
        ("x:String?", PropType("String", nullable=True)),
        ("x : I64 ?", PropType("I64", nullable=True)),
        ("x: [U32]", PropType("U32", list=True)),
        ("x: [ Date ] ?", PropType("Date", list=True, nullable=True)),
        ("x: Vector( 3 ) ?", PropType("Vector", nullable=True, dim=3)),
        ("x: Vector(0012)", PropType("Vector", dim=12)),
        ("x: Vector(2147483647)", PropType("Vector", dim=2147483647)),
        ("x: enum ( b , a )?", PropType("String", nullable=True, enum=("a", "b"))),
        ("x: enum(-, --, 1-2, 3d, _)", PropType("String", enum=("-", "--", "1-2", "3d", "_"))),
        ("x: enum(B, a, A)", PropType("String", enum=("A", "B", "a"))),
        ("x: enum(true, node, 1e5)", PropType("String", enum=("1e5", "node", "true"))),
        ("x: enum(a/* c */,b// d\n)", PropType("String", enum=("a", "b"))),
    ],
)
def test_a_property_type_is_read_whatever_its_spacing(text, kind):
    assert prop(text).type == kind


@pytest.mark.parametrize(
    ("text", "annotation"),
    [
        ("@x", AstAnnotation("x")),
        ("@ x", AstAnnotation("x")),
        ('@x("a\\n\\"b\\"")', AstAnnotation("x", 'a\n"b"')),
        ('@x("line\nbreak")', AstAnnotation("x", "line\nbreak")),
        ("@x(12)", AstAnnotation("x", "12", "number")),
        ("@x(007.50)", AstAnnotation("x", "007.50", "number")),
        ("@x(word)", AstAnnotation("x", "word", "word")),
        ("@x(true)", AstAnnotation("x", "true", "bool")),
        ('@x ( a , k = "v" , n = 1 )', AstAnnotation("x", "a", "word", (("k", "v", "string"), ("n", "1", "number")))),
        ("@range", AstAnnotation("range")),
        ("@key", AstAnnotation("key")),
    ],
)
def test_an_annotation_keeps_its_value_as_text(text, annotation):
    assert prop(f"a: I32 {text}").annotations == (annotation,)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("0..5", Bounds("0", "5")),
        ("-1.5 .. 2", Bounds("-1.5", "2")),
        ("..5", Bounds(None, "5")),
        ("..-5", Bounds(None, "-5")),
        ("5..", Bounds("5", None)),
        ("- 5..", Bounds("-5", None)),
    ],
)
def test_bounds_may_be_signed_and_open(text, bounds):
    (constraint,) = parse_schema(f"node A {{ a: F64 @range(a, {text}) }}").declarations[0].constraints
    assert constraint == Constraint("range", (ConstraintArg("a", "name"), ConstraintArg(bounds, "bounds")))


def test_a_constraint_word_with_parentheses_is_a_constraint_even_after_a_property():
    (node,) = parse_schema("node A { mail: String @unique(mail) b: I32 }").declarations
    assert [each.name for each in node.properties] == ["mail", "b"]
    assert node.properties[0].annotations == ()
    assert node.constraints == (Constraint("unique", (ConstraintArg("mail", "name"),)),)


@pytest.mark.parametrize(
    ("text", "cardinality", "annotations"),
    [
        ("", None, ()),
        ("@card(0..)", Cardinality(0, None), ()),
        ("@ card ( 1 .. 4294967295 )", Cardinality(1, 4294967295), ()),
        ("@card(0..1) @card", Cardinality(0, 1), (AstAnnotation("card"),)),
        ("@card(5)", None, (AstAnnotation("card", "5", "number"),)),
        ("@card", None, (AstAnnotation("card"),)),
    ],
)
def test_only_a_card_with_bounds_is_a_cardinality(text, cardinality, annotations):
    (edge,) = parse_schema(f"edge P: A -> B {text}").declarations
    assert edge == Edge("P", TypeRef("A"), TypeRef("B"), cardinality, annotations)


def test_a_parsed_tree_remembers_where_things_stand():
    (node,) = parse_schema("node A implements I {\n  bc: I32? @x(1)\n}").declarations
    assert (node.span.start, node.implements[0].span.start) == (5, 18)
    assert (node.properties[0].span.start, node.properties[0].type_span.start) == (24, 28)
    assert node.properties[0].annotations[0].span.start == 33


@pytest.mark.parametrize("text", ["", " \r\n\t", "// only a comment", "/* a */ // b"])
def test_a_text_without_declarations_is_the_empty_schema(text):
    assert parse_schema(text) == Schema(())
    assert format_schema(Schema(())) == ""


def test_bytes_and_text_parse_alike():
    text = 'node A @description("é") {}'
    assert parse_schema(text.encode()) == parse_schema(text)
    assert parse_schema(text).declarations[0] == Node("A", (AstAnnotation("description", "é"),))


def test_the_layout_of_a_formatted_schema(golden):
    text = "".join(path.read_text(encoding="utf-8") for path in SCHEMAS if path.stem in ("infra", "finance"))
    golden("schema/formatted.pg", format_schema(parse_schema(text)))


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_a_realistic_schema_compiles_formats_and_survives_its_files(path):
    accepted = accept_schema(path.read_bytes(), domain=DOMAIN)
    assert decode_accepted(accepted.ir_json, accepted.source).catalog == accepted.catalog
    assert accepted.source.encode() == path.read_bytes()
    formatted = format_schema(parse_schema(path.read_bytes()))
    assert format_schema(parse_schema(formatted)) == formatted
    assert plan_migration(accepted, formatted).steps == ()


def test_the_realistic_schemas_are_all_there():
    assert len(SCHEMAS) == 11


def load(name: str):
    return compile_schema(next(path for path in SCHEMAS if path.stem == name).read_bytes())


def test_injected_properties_bring_their_annotations():
    papers = load("papers").nodes
    assert papers["Paper"].key == ("doi",)
    assert ("created",) in papers["Paper"].indices
    assert papers["Paper"].embeds["title_vec"] == Embed("title", "text-embedding-3-small")
    assert papers["Paper"].metrics == {"title_vec": "l2", "abstract_vec": "cosine"}
    assert papers["Paper"].implements == ("Identified", "Timestamped")


def test_a_redeclared_property_keeps_only_its_own_annotations():
    biology = load("biology").nodes
    assert ("length",) in biology["Gene"].indices
    assert ("length",) not in biology["Protein"].indices


def test_odd_spacing_means_the_same():
    infra = load("infra")
    assert infra.edges["RunsOn"].card == Card(0, 3)
    assert infra.nodes["Service"].ranges == (Range("port", 1, 65535),)
    assert infra.nodes["Service"].metrics == {"embedding": "dot"}
    assert infra.edges["DependsOn"].annotations == (
        Annotation("criticality", "high", (("hard", "true"), ("reason", "needed"), ("weight", "0.5"))),
    )


def test_constraints_are_sorted_and_listed_once():
    node = compile_schema(
        "node A { a: I32 @index b: I32 @index(b, a, b) @index(a) @unique(b, a) @unique(a, b) }"
    ).nodes["A"]
    assert node.indices == (("a",), ("a", "b"))
    assert node.unique == (("a", "b"),)


def test_edges_are_found_without_regard_to_case():
    catalog = load("social")
    assert catalog.edge("WORKSat").name == "WorksAt"
    assert catalog.edge_index["knows"] == "Knows"
    assert [edge.name for edge in catalog.incident_edges["Company"]] == ["WorksAt"]


def test_equal_bounds_are_one_bound():
    one, other = (compile_schema(f"node A {{ a: F64 @range(a, {text}) }}") for text in ("0..5", "-0.0..5.0"))
    assert one.shape_hash == other.shape_hash


def test_blobs_and_rename_hints_in_the_catalog():
    node = compile_schema('node A @rename_from("B") { f: Blob? @rename_from(g) }').nodes["A"]
    assert node.blobs == {"f"}
    assert node.annotations == ()
    assert node.property_annotations == {}
