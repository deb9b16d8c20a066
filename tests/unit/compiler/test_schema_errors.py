"""Every static code: raised for the right text, at the right place, and rendered as people will see it."""

from __future__ import annotations

import pytest

from omnigraph.compiler.catalog import accept_schema, compile_schema, plan_migration
from omnigraph.compiler.diagnostics import CompileError, ParseError, SchemaError
from omnigraph.compiler.schema.lint import lint_schema
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.compiler.source import Source

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

# (name, text, code, line, column)
CASES = [
    ("S000-type-name", "node hut {}", "S000", 1, 6),
    ("S000-hash", "node A {}\n  # no", "S000", 2, 3),
    ("S000-unknown-type", "node A {\n  name: Strin\n}", "S000", 2, 9),
    ("S000-comma", "node A {\n  a: I32,\n  b: I32\n}", "S000", 2, 9),
    ("S000-glued-keyword", "nodeFoo {}", "S000", 1, 1),
    ("S000-end", "node A {\n  a: I32", "S000", 2, 9),
    ("S000-open-comment", "node A {} /* x", "S000", 1, 11),
    ("S000-open-string", 'node A @d("x', "S000", 1, 11),
    ("S000-header-constraint", "edge P: A -> A @unique(src, dst)", "S000", 1, 16),
    ("S000-interface-constraint", "interface I { a: I32 @index(a) }", "S000", 1, 22),
    ("S000-late-card", 'edge P: A -> A @description("d") @card(0..1)', "S000", 1, 41),
    ("S000-late-annotation", 'node A implements I @description("d") {}', "S000", 1, 21),
    ("S000-enum-float", "node A { g: enum(1.5) }", "S000", 1, 19),
    ("S000-enum-arrow", "node A { g: enum(a->b) }", "S000", 1, 20),
    ("S000-enum-empty", "node A { g: enum() }", "S000", 1, 18),
    ("S000-nested-list", "node A { g: [[I32]] }", "S000", 1, 14),
    ("S000-keyword-argument-first", 'node A @x(k="v") {}', "S000", 1, 12),
    ("S000-number-glued", "node A @x(1abc) {}", "S000", 1, 11),
    ("S000-nul", "node A {\0}", "S000", 1, 9),
    ("S000-byte-order-mark", "\ufeffnode A {}", "S000", 1, 1),
    ("S000-not-utf8", b"node A {\n \xe9 }", "S000", 2, 2),
    ("S000-surrogate", 'node A @d("\udc80") {}', "S000", 1, 12),
    ("S001", 'node A @description("tab\\v") {}', "S001", 1, 25),
    ("S002-physical", "interface I { _rowaddr: I64 }", "S002", 1, 15),
    ("S002-edge", "node A {} edge P: A -> A { src: I32 }", "S002", 1, 28),
    ("S002-injected", "interface I { id: I64 } node A implements I {}", "S002", 1, 15),
    ("S003", "node A { a: I32\n a: I64 }", "S003", 2, 2),
    ("S004", "interface I {}\ninterface I {}", "S004", 2, 11),
    ("S005", "node A {} edge Knows: A -> A edge KNOWS: A -> A", "S005", 1, 35),
    ("S006-misspelled", "node Person {}\nedge Knows: Person -> Persn", "S006", 2, 23),
    ("S006-interface", "interface I {} node A {} edge P: I -> A", "S006", 1, 34),
    ("S007-misspelled", "interface Named {} node A implements Namd {}", "S007", 1, 38),
    ("S007-node", "node B {} node A implements B {}", "S007", 1, 29),
    ("S008", "interface I { g: enum(a) } node A implements I { g: enum(a, b) }", "S008", 1, 53),
    (
        "S009-annotation",
        "interface I { x: I32 } interface J { x: I32 @index } node A implements I, J {}",
        "S009",
        1,
        38,
    ),
    ("S009-type", "interface I { x: I32 } interface J { x: I64 } node A implements I, J {}", "S009", 1, 38),
    ("S010-zero", "node A { v: Vector(0) }", "S010", 1, 20),
    ("S011", "node A { b: [Blob]? }", "S011", 1, 14),
    ("S012", "node A { g: enum(a, b,\n a) }", "S012", 2, 2),
    ("S013-order", "edge P: A -> A @card(2..1)", "S013", 1, 22),
    ("S013-large", "edge P: A -> A @card(0..4294967296)", "S013", 1, 25),
    ("S020-misspelled", "node A { name: String @index(nmae) }", "S020", 1, 30),
    ("S020-node-src", "node A { a: I32 @unique(src) }", "S020", 1, 25),
    ("S020-edge-from", "node A {} edge P: A -> A { m: I32 @unique(from) }", "S020", 1, 43),
    ("S021-body", "node A {} edge P: A -> A { m: I32 @key(m) }", "S021", 1, 35),
    ("S021-mark", "node A {} edge P: A -> A { m: I32 @key }", "S021", 1, 35),
    ("S021-check", 'node A {} edge P: A -> A { m: String @check(m, "a") }', "S021", 1, 38),
    ("S022-marks", "node A { a: I32 @key b: I32 @key }", "S022", 1, 29),
    ("S022-both-levels", "node A { a: I32 @key @key(a) }", "S022", 1, 22),
    ("S023", "node A { a: I32? @key(a) }", "S023", 1, 23),
    ("S024-key-list", "node A { a: [I32] @key }", "S024", 1, 19),
    ("S024-key-vector", "node A { a: Vector(2) @key }", "S024", 1, 23),
    ("S024-unique-list", "node A { a: [I32] @unique(a) }", "S024", 1, 27),
    ("S024-unique-vector", "node A { a: Vector(2) @unique }", "S024", 1, 23),
    ("S024-index-blob", "node A { a: Blob @index }", "S024", 1, 18),
    ("S024-index-list", "node A { a: [I32] @index(a) }", "S024", 1, 26),
    ("S025-enum", "node A { g: enum(a) @range(g, 0..1) }", "S025", 1, 28),
    ("S025-vector", "node A { v: Vector(2) @range(v, 0..1) }", "S025", 1, 30),
    ("S026", 'node A { b: I32 @check(b, "1") }', "S026", 1, 24),
    ("S027-arity", "node A { b: I32 @range(b, 0..1, 2) }", "S027", 1, 17),
    ("S027-literal", 'node A { b: I32 @key("b") }', "S027", 1, 22),
    ("S027-check-bounds", "node A { b: String @check(b, 0..1) }", "S027", 1, 20),
    ("S027-infinite", "node A { b: F64 @range(b, 0.." + "9" * 310 + ") }", "S027", 1, 27),
    ("S030-header-mark", "node A @unique {}", "S030", 1, 8),
    ("S030-header-embed", "node A @embed(a) {}", "S030", 1, 8),
    ("S030-property", 'node A { a: I32 @instruction("x") }', "S030", 1, 17),
    ("S030-edge-embed", "node A {} edge P: A -> A { a: String v: Vector(2) @embed(a) }", "S030", 1, 51),
    ("S030-injected", 'interface I { a: I32 @instruction("x") } node A implements I {}', "S030", 1, 22),
    ("S031-description", 'node A @description("a") @description("b") {}', "S031", 1, 26),
    ("S031-mark", "node A { a: I32 @index @index }", "S031", 1, 24),
    ("S031-embed", "node A { a: String v: Vector(2) @embed(a) @embed(a) }", "S031", 1, 43),
    ("S031-argument", 'node A @x(1, k="a", k="b") {}', "S031", 1, 8),
    ("S032-missing", "node A @description {}", "S032", 1, 8),
    ("S032-blank", 'node A @instruction(" \\t") {}', "S032", 1, 8),
    ("S032-number", "node A @description(5) {}", "S032", 1, 8),
    ("S032-embed", "node A { v: Vector(2) @embed }", "S032", 1, 23),
    ("S032-model", 'node A { a: String v: Vector(2) @embed(a, model="") }', "S032", 1, 33),
    ("S032-metric", 'node A { v: Vector(2) @metric("manhattan") }', "S032", 1, 23),
    ("S032-default-missing", "node A { a: I32 @default }", "S032", 1, 17),
    ("S032-default-spelling", 'node A { a: I32 @default("3") }', "S032", 1, 17),
    ("S032-default-word", "node A { a: Bool @default(yes) }", "S032", 1, 18),
    ("S032-default-fraction", "node A { a: I64 @default(1.5) }", "S032", 1, 17),
    ("S032-default-range", "node A { a: U32 @default(-1) }", "S032", 1, 17),
    ("S032-default-float", f"node A {{ a: F32 @default(1{'0' * 39}.0) }}", "S032", 1, 17),
    ("S032-default-date", 'node A { a: Date @default("soon") }', "S032", 1, 18),
    ("S032-default-enum", "node A { a: enum(x, y) @default(z) }", "S032", 1, 24),
    ("S032-default-list", "node A { a: [I32] @default(1) }", "S032", 1, 19),
    ("S032-default-key", 'node A { a: String @default("x") @key(a) }', "S032", 1, 39),
    ("S031-default", "node A { a: I32 @default(1) @default(2) }", "S031", 1, 29),
    ("S033", "node A { a: String b: I32 @embed(a) }", "S033", 1, 27),
    ("S034-unknown", "node A { title: String v: Vector(2) @embed(titel) }", "S034", 1, 37),
    ("S034-list", "node A { a: [String] v: Vector(2) @embed(a) }", "S034", 1, 35),
    ("S035", "node A { a: String v: Vector(2) @embed(a, size=3) }", "S035", 1, 33),
    ("S036-missing", "node A @rename_from {}", "S036", 1, 8),
    ("S036-argument", 'node A @rename_from("B", k="v") {}', "S036", 1, 8),
    ("S036-repeated", 'node A { a: I32 @rename_from("b") @rename_from("c") }', "S036", 1, 35),
    ("S036-interface", "interface I { a: I32 @rename_from }", "S036", 1, 22),
    ("S050", 'node A { a: String @check(a, "(") }', "S050", 1, 30),
    ("S050-lookahead", 'node A { a: String @check(a, "(?=x)") }', "S050", 1, 30),
    ("S051", "node A { b: I32 @range(b, 5..-5) }", "S051", 1, 27),
    ("S052-range", "node A { l: [I32] @range(l, 0..1) }", "S052", 1, 26),
    ("S052-check", 'node A { t: [String] @check(t, "x") }', "S052", 1, 29),
]

# (name, accepted, desired, code, line, column)
RENAMES = [
    ("S040-type", "node Apple {}", 'node B @rename_from("Appel") {}', "S040", 1, 8),
    ("S040-property", "node A { name: I32? }", 'node A { b: I32? @rename_from("nam") }', "S040", 1, 18),
    ("S041", "node A {} edge P: A -> A", 'node A {} node B @rename_from("P") {}', "S041", 1, 18),
    ("S042-exact", "node A {}", 'node A {} node B @rename_from("A") {}', "S042", 1, 18),
    ("S042-twice", "node A {}", 'node B @rename_from("A") {} node C @rename_from("A") {}', "S042", 1, 36),
    ("S042-property", "node A { a: I32? }", "node A { a: I32? b: I32? @rename_from(a) }", "S042", 1, 26),
    ("S043", "node A { x: I32? } node B { }", "node A { x: I32? } node B { y: I32? @rename_from(x) }", "S043", 1, 37),
    (
        "S043-dotted",
        "node A { x: I32? } node B { }",
        'node A { x: I32? } node B { y: I32? @rename_from("A.x") }',
        "S043",
        1,
        37,
    ),
    ("S044", "node A { x: I32? }", "node A { x: I32? } node B { y: I32? @rename_from(x) }", "S044", 1, 37),
]


@pytest.mark.parametrize(
    ("name", "text", "code", "line", "column"), [pytest.param(*case, id=case[0]) for case in CASES]
)
def test_a_bad_schema_names_its_code_and_place(name, text, code, line, column, golden):
    with pytest.raises(CompileError) as caught:
        compile_schema(text, name="example.pg")
    _check(caught.value, name, code, line, column, golden)


@pytest.mark.parametrize(
    ("name", "accepted", "desired", "code", "line", "column"), [pytest.param(*case, id=case[0]) for case in RENAMES]
)
def test_a_rename_hint_that_does_not_resolve_names_its_code_and_place(
    name, accepted, desired, code, line, column, golden
):
    with pytest.raises(CompileError) as caught:
        plan_migration(accept_schema(accepted, domain=DOMAIN), Source(desired, "example.pg"))
    _check(caught.value, name, code, line, column, golden)


def _check(error, name, code, line, column, golden):
    assert (error.code, error.line, error.column) == (code, line, column)
    assert isinstance(error, ParseError if code in ("S000", "S001") else SchemaError)
    golden(f"schema/{name}.txt", str(error))


def test_every_static_code_has_a_case():
    codes = {f"S{number:03}" for number in (*range(14), *range(20, 28), *range(30, 37), *range(40, 45), 50, 51, 52)}
    assert {case[2] for case in CASES} | {case[3] for case in RENAMES} == codes


def test_the_machine_readable_form_of_an_error_has_byte_offsets():
    with pytest.raises(SchemaError) as caught:
        compile_schema('node A @description("é") { a: I32 a: I32 }', name="x.pg")
    details = caught.value.details()
    assert (details["file"], details["line"], details["column"]) == ("x.pg", 1, 35)
    assert details["span"] == [35, 36]


def test_a_source_brings_its_own_name():
    with pytest.raises(ParseError, match=r"shop\.pg:1:1"):
        compile_schema(Source("?", "shop.pg"))


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("edge P: A -> A @card", "L101", 16),
        ("edge P: A -> A @card(5)", "L101", 16),
        ("node A { a: I32? @default(3) }", "L102", 18),
        ("node A { a: I32? @range }", "L103", 18),
        ('node A { a: I32? @metric("p99") }', "L104", 18),
        ('node A { a: I32? @language("german") }', "L104", 18),
        ('node A @descripton("x") {}', "L105", 8),
        ("interface I { a: I32? @default(3) }", "L102", 23),
    ],
)
def test_text_without_effect_is_a_warning(text, code, column):
    (warning,) = lint_schema(parse_schema(text))
    assert warning.code == code
    assert warning.span.start + 1 == column


def test_a_sound_schema_has_no_warnings():
    text = 'node A @owner("x") { a: String @key v: Vector(2)? @metric("dot") @embed(a) } edge P: A -> A @card(0..1)'
    assert lint_schema(parse_schema(text)) == ()


def test_lint_warnings_come_in_the_order_of_the_text():
    warnings = lint_schema(parse_schema("node A @default(1) { a: I32? @default(2) } edge P: A -> A @card"))
    assert [warning.code for warning in warnings] == ["L102", "L102", "L101"]
