"""The numbered cases of the schema language; the ones about rows test here what the catalog promises about them."""

from __future__ import annotations

import pytest

from omnigraph.compiler.catalog import accept_schema, compile_schema, plan_migration
from omnigraph.compiler.catalog.model import Annotation, Card, Check, Range
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.types import PropType

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def hut(body: str) -> str:
    return f"node Hut {{ {body} }}"


REJECTED = [
    (3, "node hut { code: String }", "S000"),
    (4, "node Hut { Code: String }", "S000"),
    (5, "# x", "S000"),
    (8, hut("g: enum(a, b, a)"), "S012"),
    (10, hut("t: [enum(a)]"), "S000"),
    (11, hut("b: [Blob]"), "S011"),
    ("12a", hut("v: Vector(0)"), "S010"),
    ("12b", hut("v: Vector(2147483648)"), "S010"),
    ("13a", hut("_rowid: I64"), "S002"),
    (14, hut("id: String"), "S002"),
    (15, hut("a: I32 a: I64"), "S003"),
    (16, "node Hut {} node Hut {}", "S004"),
    (18, "node Hut {} edge Path: Hut -> Hut edge PATH: Hut -> Hut", "S005"),
    (19, "node Hut {} edge Path: Hut -> Lake", "S006"),
    (20, "interface C { x: I32 } edge P: C -> C", "S006"),
    (21, "interface C { x: I32 } node Hut implements C { x: I32? }", "S008"),
    (24, "interface A { x: I32 } interface B { x: I32 @index } node Hut implements A, B {}", "S009"),
    (25, 'node Hut implements C @description("d") {}', "S000"),
    (26, hut("a: String? @key"), "S023"),
    (27, hut("a: String @key b: String @key"), "S022"),
    (31, hut("a: I32 @range(0..5)"), "S027"),
    (33, hut("a: String @range(a, 0..5)"), "S025"),
    (35, "node Hut { a: String } edge P: Hut -> Hut { m: I32 @range(m, 0..5) }", "S021"),
    (36, hut("a: Blob @unique(a)"), "S024"),
    (38, "edge P: Hut -> Hut @card(2..1)", "S013"),
    (39, 'edge P: Hut -> Hut @description("d") @card(0..1)', "S000"),
    (40, "node Hut @index { a: I32 }", "S030"),
    (41, hut('a: String @instruction("x")'), "S030"),
    (42, 'node Hut @description("a") @description("b") {}', "S031"),
    (43, hut('a: String v: Vector(2) @embed(a, dim="2")'), "S035"),
    (44, hut("a: I32 v: Vector(2) @embed(a)"), "S034"),
    (46, hut('a: String @description("x\\q")'), "S001"),
]


@pytest.mark.parametrize(
    ("text", "code"), [pytest.param(text, code, id=f"schema-{number}") for number, text, code in REJECTED]
)
def test_the_schema_is_rejected_with_its_code(text, code):
    with pytest.raises(CompileError) as caught:
        compile_schema(text)
    assert caught.value.code == code
    assert caught.value.line == 1


ACCEPTED = [
    (1, "", lambda catalog: (dict(catalog.nodes), dict(catalog.edges), dict(catalog.interfaces)), ({}, {}, {})),
    (2, hut("code: String @key"), lambda c: (c.nodes["Hut"].key, c.nodes["Hut"].indices), (("code",), (("code",),))),
    (6, hut("/* a /* b */ code: String"), lambda c: list(c.nodes["Hut"].properties), ["code"]),
    (7, hut("g: enum(c, a, b)"), lambda c: c.nodes["Hut"].properties["g"].enum, ("a", "b", "c")),
    (9, hut("g: enum(8-bit, _x)"), lambda c: c.nodes["Hut"].properties["g"].enum, ("8-bit", "_x")),
    ("13b", hut("_row_id: I64"), lambda c: c.nodes["Hut"].properties["_row_id"], PropType("I64")),
    (17, "node Hut {} edge Hut: Hut -> Hut", lambda c: (list(c.nodes), list(c.edges)), (["Hut"], ["Hut"])),
    (22, "interface C { x: I32 @key } node Hut implements C {}", lambda c: c.nodes["Hut"].key, ("x",)),
    (23, "interface C { x: I32 @key } node Hut implements C { x: I32 }", lambda c: c.nodes["Hut"].key, None),
    (32, hut("a: I32? @range(a, ..5)"), lambda c: c.nodes["Hut"].ranges, (Range("a", None, 5),)),
    (34, hut('a: String @check(a, "b+")'), lambda c: c.nodes["Hut"].checks, (Check("a", "b+"),)),
    (37, hut("a: String? @unique"), lambda c: c.nodes["Hut"].unique, (("a",),)),
    (
        45,
        hut('a: String @frobnicate(1, k="v")'),
        lambda c: c.nodes["Hut"].property_annotations["a"],
        (Annotation("frobnicate", "1", (("k", "v"),)),),
    ),
    (47, hut("n: I64"), lambda c: c.nodes["Hut"].properties["n"], PropType("I64")),
    (48, hut("v: Vector(2)"), lambda c: c.nodes["Hut"].properties["v"], PropType("Vector", dim=2)),
    (49, hut("d: DateTime"), lambda c: c.nodes["Hut"].properties["d"], PropType("DateTime")),
    (50, hut("a: I32"), lambda c: "zzz" in c.nodes["Hut"].properties, False),
    (51, hut("code: String @key"), lambda c: c.nodes["Hut"].key, ("code",)),
    (52, "node Hut {} edge P: Hut -> Hut @card(1..)", lambda c: c.edges["P"].card, Card(1, None)),
]


@pytest.mark.parametrize(
    ("text", "look", "expected"),
    [pytest.param(text, look, expected, id=f"schema-{number}") for number, text, look, expected in ACCEPTED],
)
def test_the_schema_compiles_to_this_catalog(text, look, expected):
    assert look(compile_schema(text)) == expected


@pytest.mark.parametrize(
    ("text", "key"),
    [
        pytest.param(hut("a: String b: I32 @key(b, a)"), ("a", "b"), id="schema-28"),
        pytest.param(hut("a: F64 @key"), ("a",), id="schema-29"),
        pytest.param(hut("d: Date @key"), ("d",), id="schema-30"),
    ],
)
def test_an_accepted_key_is_in_the_order_of_its_property_ids(text, key):
    node = accept_schema(text, domain=DOMAIN).catalog.nodes["Hut"]
    assert node.key == key
    assert sorted(node.property_ids[name] for name in key) == [node.property_ids[name] for name in key]


PLANS = [
    (
        "55a",  # refused by the contract; widening is an extension
        hut("a: I32"),
        hut("a: I64"),
        [
            {
                "kind": "widen_property",
                "type_kind": "node",
                "type_name": "Hut",
                "property_name": "a",
                "from": {"scalar": "I32", "nullable": False, "list": False, "enum_values": None},
                "to": {"scalar": "I64", "nullable": False, "list": False, "enum_values": None},
            }
        ],
    ),
    (
        "55b",  # refused by the contract; relaxing is an extension
        hut("a: I32"),
        hut("a: I32?"),
        [
            {
                "kind": "relax_property",
                "type_kind": "node",
                "type_name": "Hut",
                "property_name": "a",
                "property_type": {"scalar": "I32", "nullable": True, "list": False, "enum_values": None},
            }
        ],
    ),
    (
        53,
        hut("a: I32"),
        hut("a: I32 b: String?"),
        [
            {
                "kind": "add_property",
                "type_kind": "node",
                "type_name": "Hut",
                "property_name": "b",
                "property_type": {"scalar": "String", "nullable": True, "list": False, "enum_values": None},
            }
        ],
    ),
    (
        56,
        hut("g: enum(a,b)"),
        hut("g: enum(b,c,a)"),
        [
            {
                "kind": "extend_enum",
                "type_kind": "node",
                "type_name": "Hut",
                "property_name": "g",
                "added_values": ["c"],
            }
        ],
    ),
    (57, hut("g: enum(a,b)"), hut("g: enum(b,a)"), []),
    (
        58,
        "node A {x: I32?}",
        'node B @rename_from("A") {y: I32? @rename_from("x")}',
        [
            {"kind": "rename_type", "type_kind": "node", "from": "A", "to": "B"},
            {"kind": "rename_property", "type_kind": "node", "type_name": "B", "from": "x", "to": "y"},
        ],
    ),
    (
        60,
        "node A {x: I32?}",
        "node A {}",
        [{"kind": "drop_property", "type_kind": "node", "type_name": "A", "property_name": "x", "mode": "soft"}],
    ),
    (
        62,
        "node A {x: I32?}",
        "node A {x: I32? @index}",
        [{"kind": "add_constraint", "type_kind": "node", "type_name": "A", "constraint": {"Index": ["x"]}}],
    ),
]


@pytest.mark.parametrize(
    ("before", "after", "steps"), [pytest.param(*rest, id=f"schema-{number}") for number, *rest in PLANS]
)
def test_the_migration_has_these_steps(before, after, steps):
    plan = plan_migration(accept_schema(before, domain=DOMAIN), after)
    assert plan.to_json() == {"supported": True, "steps": steps}


@pytest.mark.parametrize(
    ("before", "after", "codes"),
    [
        pytest.param(hut("a: I32"), hut("a: I32 b: String"), ["OG-MF-103"], id="schema-54"),
        pytest.param(hut("a: I64"), hut("a: I32"), ["OG-MF-106"], id="schema-55-narrowed"),
        pytest.param(hut("a: I32?"), hut("a: I32"), ["OG-MF-106"], id="schema-55-tightened"),
        pytest.param("node A {x: I32? @index}", "node A {}", ["OG-CD-101"], id="schema-61"),
        pytest.param("node A {} edge P: A -> A", "node A {} edge P: A -> A @card(0..1)", ["OG-ED-102"], id="schema-63"),
    ],
)
def test_the_migration_is_refused_with_these_codes(before, after, codes):
    plan = plan_migration(accept_schema(before, domain=DOMAIN), after)
    assert not plan.supported
    assert [step.code for step in plan.unsupported] == codes


@pytest.mark.parametrize("number", [pytest.param(59, id="schema-59")])
def test_a_rename_from_an_unknown_type_is_rejected(number):
    with pytest.raises(CompileError) as caught:
        plan_migration(accept_schema("node A {}", domain=DOMAIN), 'node B @rename_from("Z") {}')
    assert caught.value.code == "S040"


@pytest.mark.parametrize("number", [pytest.param(60, id="schema-60")])
def test_allowing_data_loss_turns_the_drop_hard(number):
    plan = plan_migration(accept_schema("node A {x: I32?}", domain=DOMAIN), "node A {}", allow_data_loss=True)
    assert plan.to_json()["steps"][0]["mode"] == "hard"


@pytest.mark.parametrize("number", [pytest.param(61, id="schema-61")])
def test_dropping_an_indexed_property_lists_the_drop_and_the_refusal(number):
    plan = plan_migration(accept_schema("node A {x: I32? @index}", domain=DOMAIN), "node A {}")
    assert [step["kind"] for step in plan.to_json()["steps"]] == ["drop_property", "unsupported_change"]


@pytest.mark.parametrize("number", [pytest.param(64, id="schema-64")])
def test_a_migration_that_an_apply_would_run_is_planned_without_looking_at_branches(number):
    plan = plan_migration(accept_schema("node A {}", domain=DOMAIN), "node A {} node B {}")
    assert plan.supported
    assert [step["kind"] for step in plan.to_json()["steps"]] == ["add_type"]
