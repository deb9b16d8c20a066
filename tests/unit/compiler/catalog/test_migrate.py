"""Migration plans: every step, every refusal, their order, their JSON and their text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph.compiler.catalog import accept_schema, plan_migration
from omnigraph.compiler.catalog.codes import CODES, FAMILIES, RESERVED
from omnigraph.compiler.catalog.migrate import unexplained
from omnigraph.compiler.catalog.model import Annotation, Check, Range
from omnigraph.compiler.catalog.shape import Key, Unique
from omnigraph.compiler.catalog.steps import (
    AddConstraint,
    UnsupportedChange,
    UpdateTypeMetadata,
    constraint_json,
    step_json,
    step_text,
    type_text,
)
from omnigraph.compiler.types import BASE_SCALARS, PropType

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
EDGE = "node A {} node B {} edge P: A -> B"


def plan(before: str, after: str, **options):
    return plan_migration(accept_schema(before, domain=DOMAIN), after, **options)


def owned(kind: str, **more):
    return {"kind": kind, "type_kind": "node", "type_name": "T", **more}


# (id, accepted, desired, JSON of the steps, text of the steps)
STEPS = [
    (
        "add-required-with-default",
        "node T {}",
        "node T { a: I32 @default(-3) }",
        [
            owned(
                "add_property",
                property_name="a",
                property_type={"scalar": "I32", "nullable": False, "list": False, "enum_values": None},
                default=-3,
            )
        ],
        ["add property 'T.a' (I32) on node 'T', existing rows get -3"],
    ),
    (
        "inert-default",
        "node T {}",
        "node T { a: I32? @default(3) }",
        [
            owned(
                "add_property",
                property_name="a",
                property_type={"scalar": "I32", "nullable": True, "list": False, "enum_values": None},
            )
        ],
        ["add property 'T.a' (I32?) on node 'T'"],
    ),
    (
        "change-default",
        "node T { a: I32 @default(3) }",
        "node T { a: I32 @default(4) }",
        [owned("update_property_metadata", property_name="a", annotations=[{"name": "default", "value": "4"}])],
        ["update metadata on property 'T.a' of node 'T' (@default(\"4\"))"],
    ),
    (
        "relax-without-default",
        "node T { a: I32 @default(3) }",
        "node T { a: I32? }",
        [
            owned(
                "relax_property",
                property_name="a",
                property_type={"scalar": "I32", "nullable": True, "list": False, "enum_values": None},
            ),
            owned("update_property_metadata", property_name="a", annotations=[]),
        ],
        ["relax property 'T.a' to I32? on node 'T'", "update metadata on property 'T.a' of node 'T' ()"],
    ),
    (
        "widen",
        "node T { a: I32 }",
        "node T { a: I64? }",
        [
            owned(
                "widen_property",
                property_name="a",
                **{
                    "from": {"scalar": "I32", "nullable": False, "list": False, "enum_values": None},
                    "to": {"scalar": "I64", "nullable": True, "list": False, "enum_values": None},
                },
            )
        ],
        ["widen property 'T.a' from I32 to I64? on node 'T'"],
    ),
    ("add-node", "", "node T {}", [{"kind": "add_type", "type_kind": "node", "name": "T"}], ["add node type 'T'"]),
    (
        "add-interface",
        "",
        "interface T {}",
        [{"kind": "add_type", "type_kind": "interface", "name": "T"}],
        ["add interface type 'T'"],
    ),
    (
        "add-edge",
        "node A {} node B {}",
        EDGE,
        [{"kind": "add_type", "type_kind": "edge", "name": "P"}],
        ["add edge type 'P'"],
    ),
    (
        "rename-type",
        EDGE,
        'node A {} node C @rename_from("B") {} edge P: A -> C',
        [{"kind": "rename_type", "type_kind": "node", "from": "B", "to": "C"}],
        ["rename node type 'B' -> 'C'"],
    ),
    (
        "rename-edge",
        EDGE,
        'node A {} node B {} edge Q: A -> B @rename_from("P")',
        [{"kind": "rename_type", "type_kind": "edge", "from": "P", "to": "Q"}],
        ["rename edge type 'P' -> 'Q'"],
    ),
    (
        "add-property",
        "node T {}",
        "node T { v: Vector(4)? }",
        [
            owned(
                "add_property",
                property_name="v",
                property_type={"scalar": {"Vector": 4}, "nullable": True, "list": False, "enum_values": None},
            )
        ],
        ["add property 'T.v' (Vector(4)?) on node 'T'"],
    ),
    (
        "add-enum-property",
        "node T {}",
        "node T { g: enum(b, a)? }",
        [
            owned(
                "add_property",
                property_name="g",
                property_type={"scalar": "String", "nullable": True, "list": False, "enum_values": ["a", "b"]},
            )
        ],
        ["add property 'T.g' (Enum(a|b)?) on node 'T'"],
    ),
    (
        "rename-property",
        "node T { a: I32 @key }",
        "node T { b: I32 @key @rename_from(a) }",
        [owned("rename_property", **{"from": "a", "to": "b"})],
        ["rename property 'T.a' -> 'T.b' on node 'T'"],
    ),
    (
        "rename-embed-source",
        "node T { a: String v: Vector(2)? @embed(a) }",
        "node T { b: String @rename_from(a) v: Vector(2)? @embed(b) }",
        [owned("rename_property", **{"from": "a", "to": "b"})],
        ["rename property 'T.a' -> 'T.b' on node 'T'"],
    ),
    (
        "add-index",
        "node T { a: I32 b: I32 }",
        "node T { a: I32 b: I32 @index(b, a) }",
        [owned("add_constraint", constraint={"Index": ["a", "b"]})],
        ["add constraint @index(a, b) on node 'T'"],
    ),
    (
        "extend-enum",
        "node T { g: enum(b)? }",
        "node T { g: enum(c, b, a)? }",
        [owned("extend_enum", property_name="g", added_values=["a", "c"])],
        ["extend enum 'T.g' (+a, +c) on node 'T'"],
    ),
    (
        "type-metadata",
        'node T @description("old") @team("x") {}',
        'node T @description("new") @instruction("i") @team("x") {}',
        [
            {
                "kind": "update_type_metadata",
                "type_kind": "node",
                "name": "T",
                "annotations": [
                    {"name": "description", "value": "new"},
                    {"name": "instruction", "value": "i"},
                    {"name": "team", "value": "x"},
                ],
            }
        ],
        ['update metadata on node \'T\' (@description("new"), @instruction("i"), @team("x"))'],
    ),
    (
        "property-metadata",
        "node T { a: I32 }",
        'node T { a: I32 @description("d") }',
        [owned("update_property_metadata", property_name="a", annotations=[{"name": "description", "value": "d"}])],
        ["update metadata on property 'T.a' of node 'T' (@description(\"d\"))"],
    ),
    (
        "drop-type",
        EDGE,
        "node A {} node B {}",
        [{"kind": "drop_type", "type_kind": "edge", "name": "P", "mode": "soft"}],
        ["drop edge type 'P' (soft mode)"],
    ),
    (
        "drop-property",
        "node T { a: I32 }",
        "node T {}",
        [owned("drop_property", property_name="a", mode="soft")],
        ["drop property 'T.a' of node 'T' (soft mode)"],
    ),
    (
        "interface-property",
        "interface I { a: I32? } node T implements I {}",
        "interface I { a: I32? b: I32? @index } node T implements I {}",
        [
            {
                "kind": "add_property",
                "type_kind": "interface",
                "type_name": "I",
                "property_name": "b",
                "property_type": {"scalar": "I32", "nullable": True, "list": False, "enum_values": None},
            },
            {"kind": "add_constraint", "type_kind": "interface", "type_name": "I", "constraint": {"Index": ["b"]}},
            owned(
                "add_property",
                property_name="b",
                property_type={"scalar": "I32", "nullable": True, "list": False, "enum_values": None},
            ),
            owned("add_constraint", constraint={"Index": ["b"]}),
        ],
        [
            "add property 'I.b' (I32?) on interface 'I'",
            "add constraint @index(b) on interface 'I'",
            "add property 'T.b' (I32?) on node 'T'",
            "add constraint @index(b) on node 'T'",
        ],
    ),
]


@pytest.mark.parametrize(("before", "after", "steps", "texts"), [pytest.param(*rest, id=name) for name, *rest in STEPS])
def test_a_supported_change_has_these_steps(before, after, steps, texts):
    found = plan(before, after)
    assert found.to_json() == {"supported": True, "steps": steps}
    assert [step_text(step) for step in found.steps] == texts


def test_every_supported_step_kind_has_a_case():
    kinds = {step["kind"] for case in STEPS for step in case[3]}
    assert kinds == {
        *(
            "add_type",
            "rename_type",
            "add_property",
            "rename_property",
            "relax_property",
            "widen_property",
            "add_constraint",
            "extend_enum",
        ),
        *("update_type_metadata", "update_property_metadata", "drop_type", "drop_property"),
    }


WIDER = {
    *(("I32", "I64"), ("I32", "F64"), ("U32", "U64"), ("U32", "I64"), ("U32", "F64")),
    *(("F32", "F64"), ("Date", "DateTime")),
}


@pytest.mark.parametrize("form", ["{}", "{}?", "[{}]", "[{}]?"])
def test_exactly_the_types_that_lose_no_value_widen(form):
    scalars = [name for name in BASE_SCALARS if name != "Blob" or "[" not in form]
    changes = [(one, other) for one in scalars for other in scalars if one != other]
    found = {pair for pair in changes if _widens(*(form.format(name) for name in pair))}
    assert found == WIDER


def _widens(before, after):
    steps = plan(f"node T {{ a: {before} }}", f"node T {{ a: {after} }}").steps
    return [type(step).__name__ for step in steps] == ["WidenProperty"]


@pytest.mark.parametrize(
    ("before", "after"), [("I32?", "I64"), ("[I32]", "I64"), ("I32", "[I64]"), ("I32", "Vector(2)")]
)
def test_a_widening_neither_tightens_nor_changes_the_form(before, after):
    assert not _widens(before, after)


def test_an_integer_key_widens_to_a_wider_integer():
    assert plan("node T { a: I32 @key }", "node T { a: I64 @key }").supported


# (id, accepted, desired, code, entity)
REFUSED = [
    ("required", "node T {}", "node T { a: I32 }", "OG-MF-103", "node:T.a"),
    ("required-interface", "interface I {}", "interface I { a: I32 }", "OG-MF-103", "interface:I.a"),
    ("width", "node T { a: I64 }", "node T { a: I32 }", "OG-MF-106", "node:T.a"),
    ("list", "node T { a: I32 }", "node T { a: [I32] }", "OG-MF-106", "node:T.a"),
    ("tighten", "node T { a: I32? }", "node T { a: I32 }", "OG-MF-106", "node:T.a"),
    ("dimension", "node T { a: Vector(2) }", "node T { a: Vector(3) }", "OG-MF-106", "node:T.a"),
    ("enum-narrow", "node T { a: enum(x, y) }", "node T { a: enum(x) }", "OG-MF-106", "node:T.a"),
    ("enum-variant", "node T { a: enum(x, y) }", "node T { a: enum(x, z) }", "OG-MF-106", "node:T.a"),
    ("enum-string", "node T { a: enum(x) }", "node T { a: String }", "OG-MF-106", "node:T.a"),
    ("string-enum", "node T { a: String }", "node T { a: enum(x) }", "OG-MF-106", "node:T.a"),
    ("enum-null", "node T { a: enum(x) }", "node T { a: enum(x, y)? }", "OG-MF-106", "node:T.a"),
    ("renamed-type", "node T { a: I64? }", "node T { b: I32? @rename_from(a) }", "OG-MF-106", "node:T.b"),
    ("key-id", "node T { a: I32 @key }", "node T { a: F64 @key }", "OG-MF-106", "node:T.a"),
    ("key-day", "node T { a: Date @key }", "node T { a: DateTime @key }", "OG-MF-106", "node:T.a"),
    ("less-key", "node T { a: I32 @key }", "node T { a: I32 }", "OG-CD-101", "node:T"),
    ("less-unique", "node T { a: I32 @unique }", "node T { a: I32 }", "OG-CD-101", "node:T"),
    ("less-index", "node T { a: I32 @index }", "node T { a: I32 }", "OG-CD-101", "node:T"),
    ("less-range", "node T { a: I32 @range(a, 0..) }", "node T { a: I32 }", "OG-CD-101", "node:T"),
    ("less-check", 'node T { a: String @check(a, "x") }', "node T { a: String }", "OG-CD-101", "node:T"),
    ("more-key", "node T { a: I32 }", "node T { a: I32 @key }", "OG-MF-107", "node:T"),
    ("more-unique", "node T { a: I32 }", "node T { a: I32 @unique }", "OG-MF-107", "node:T"),
    ("more-range", "node T { a: I32 }", "node T { a: I32 @range(a, 0..) }", "OG-MF-107", "node:T"),
    ("more-check", "node T { a: String }", 'node T { a: String @check(a, "x") }', "OG-MF-107", "node:T"),
    ("more-edge-unique", EDGE, EDGE + " { @unique(src) }", "OG-MF-107", "edge:P"),
    ("endpoints", EDGE, "node A {} node B {} edge P: A -> A", "OG-ED-101", "edge:P"),
    ("direction", EDGE, "node A {} node B {} edge P: B -> A", "OG-ED-101", "edge:P"),
    ("cardinality", EDGE, EDGE + " @card(0..1)", "OG-ED-102", "edge:P"),
    ("remove-interface", "interface I {}", "", "OG-BC-101", "interface:I"),
    ("implements", "interface I {} node T {}", "interface I {} node T implements I {}", "OG-BC-102", "node:T"),
    ("implements-less", "interface I {} node T implements I {}", "interface I {} node T {}", "OG-BC-102", "node:T"),
    (
        "now-direct",
        "interface I { a: I32 } node T implements I {}",
        "interface I { a: I32 } node T implements I { a: I32 }",
        "OG-BC-103",
        "node:T.a",
    ),
    (
        "now-injected",
        "interface I { a: I32 } node T implements I { a: I32 }",
        "interface I { a: I32 } node T implements I {}",
        "OG-BC-103",
        "node:T.a",
    ),
    ("type-annotation", "node T {}", "node T @x {}", "OG-BC-104", "node:T"),
    ("edge-annotation", EDGE + " @x(1)", EDGE + " @x(2)", "OG-BC-104", "edge:P"),
    ("property-annotation", "node T { a: I32 @x }", "node T { a: I32 }", "OG-BC-104", "node:T.a"),
    ("repeated-annotation", "node T @x {}", "node T @x @x {}", "OG-BC-104", "node:T"),
    ("metric", "node T { v: Vector(2) }", 'node T { v: Vector(2) @metric("dot") }', "OG-BC-104", "node:T.v"),
    (
        "embed-source",
        "node T { a: String b: String v: Vector(2) @embed(a) }",
        "node T { a: String b: String v: Vector(2) @embed(b) }",
        "OG-VE-101",
        "node:T.v",
    ),
    (
        "embed-model",
        "node T { a: String v: Vector(2) @embed(a) }",
        'node T { a: String v: Vector(2) @embed(a, model="m") }',
        "OG-VE-101",
        "node:T.v",
    ),
    (
        "embed-new",
        "node T { a: String v: Vector(2) }",
        "node T { a: String v: Vector(2) @embed(a) }",
        "OG-VE-101",
        "node:T.v",
    ),
]


@pytest.mark.parametrize(
    ("before", "after", "code", "entity"), [pytest.param(*rest, id=name) for name, *rest in REFUSED]
)
def test_an_unsupported_change_is_refused_with_its_code(before, after, code, entity):
    found = plan(before, after)
    assert not found.supported
    (step,) = found.unsupported
    assert (step.code, step.entity) == (code, entity)
    assert step_json(step) == {"kind": "unsupported_change", "entity": entity, "reason": step.reason, "code": code}
    assert step_text(step) == f"unsupported change on {entity} [{code}, {CODES[code].tier}]: {step.reason}"
    assert step.message == f"[{code}] {step.reason}"


def test_every_emitted_code_has_a_case():
    assert {case[3] for case in REFUSED} | {"OG-BC-199"} == CODES.keys() - RESERVED


def test_every_code_belongs_to_a_family():
    assert {code.family for code in CODES.values()} <= set(FAMILIES)
    assert {code.severity for code in CODES.values()} == {"error"}
    assert CODES.keys() >= RESERVED
    assert CODES["OG-DS-104"].tier == "destructive"


def test_a_difference_that_no_step_explains_is_refused():
    shape = accept_schema("node T { a: I32 }", domain=DOMAIN).shape
    (node,) = shape.nodes
    changed = replace(shape, nodes=(replace(node, implements=("Ghost",)),))
    assert [step.code for step in unexplained(shape, changed)] == ["OG-BC-199"]
    assert unexplained(shape, shape) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("node T { a: I32 @unique }", "node T { a: I32 @unique(a) }"),
        ("node T { a: I32 @key }", "node T { a: I32 @key(a) }"),
        ("node T { a: I32 b: I32 @key(a, b) }", "node T { a: I32 b: I32 @key(b, a) }"),
        ("node T { a: I32 @range(a, 0..5) }", "node T { a: I32 @range(a, 0.0..5.0) }"),
        ("node T { a: I32 b: I32 @index(a, b) }", "node T { b: I32 a: I32 @index(b, a) @index(a, b) }"),
        ("node T {}", '// c\nnode T @rename_from("Old") {}'),
        ('node T { a: I32 @rename_from("z") }', "node T { a: I32 }"),
        ("node A {} node B {}", "node B {} node A {}"),
        ("node T { a: String v: Vector(2) @embed(a) }", 'node T { a: String v: Vector(2) @embed("a") }'),
        (
            "interface I {} interface J {} node T implements I, J {}",
            "interface J {} interface I {} node T implements J, I, J {}",
        ),
    ],
)
def test_a_change_of_text_alone_is_an_empty_plan(before, after):
    for found in (plan(before, after), plan(after, before)):
        assert found.steps == ()
        assert found.to_json() == {"supported": True, "steps": []}


def test_steps_come_in_the_documented_order():
    before = """
    interface Keep { k: I32? } interface Gone {}
    node B { z: I32? y: I32? gone: I32? } node Old { } node Dropped {}
    edge E: B -> B
    """
    after = """
    edge New: B -> B  edge E: B -> B @description("e")
    node Renamed @rename_from("Old") @description("r") @x { p: I32? @index }
    node B { a: I32? y2: I32? @rename_from(y) @description("y") z: enum(q)? }
    node Added {}
    interface Keep { k: I32? l: I32? } interface More {}
    """
    assert [step_text(step) for step in plan(before, after).steps] == [
        "add property 'Keep.l' (I32?) on interface 'Keep'",
        "add interface type 'More'",
        "unsupported change on interface:Gone [OG-BC-101, safe]: interface 'Gone' cannot be removed",
        "add node type 'Added'",
        "add property 'B.a' (I32?) on node 'B'",
        "rename property 'B.y' -> 'B.y2' on node 'B'",
        "update metadata on property 'B.y2' of node 'B' (@description(\"y\"))",
        "unsupported change on node:B.z [OG-MF-106, validated]: the type of 'B.z' changes from I32? to enum(q)?",
        "drop property 'B.gone' of node 'B' (soft mode)",
        "rename node type 'Old' -> 'Renamed'",
        "update metadata on node 'Renamed' (@description(\"r\"), @x)",
        "unsupported change on node:Renamed [OG-BC-104, safe]: annotations of node 'Renamed' change: +@x",
        "add property 'Renamed.p' (I32?) on node 'Renamed'",
        "add constraint @index(p) on node 'Renamed'",
        "drop node type 'Dropped' (soft mode)",
        "update metadata on edge 'E' (@description(\"e\"))",
        "add edge type 'New'",
    ]


def test_allowing_data_loss_turns_every_drop_hard():
    found = plan("node A { a: I32 } node B {}", "node A {}", allow_data_loss=True)
    assert [step["mode"] for step in found.to_json()["steps"]] == ["hard", "hard"]


def test_a_new_property_with_a_unique_constraint_is_refused_but_one_with_an_index_is_not():
    assert [step.code for step in plan("node T {}", "node T { a: I32? @unique }").unsupported] == ["OG-MF-107"]
    assert plan("node T {}", "node T { a: I32? @index }").supported


def test_constraints_in_plans_are_tagged_by_their_name():
    assert constraint_json(Key(("a",))) == {"Key": ["a"]}
    assert constraint_json(Unique(("a", "b"))) == {"Unique": ["a", "b"]}
    assert constraint_json(Range("a", 0, None)) == {"Range": {"property": "a", "min": 0, "max": None}}
    assert constraint_json(Check("a", "x")) == {"Check": {"property": "a", "pattern": "x"}}
    step = AddConstraint("node", "T", Unique(("a", "b")))
    assert step_text(step) == "add constraint @unique(a, b) on node 'T'"


def test_a_refusal_without_a_code_prints_its_reason_only():
    step = UnsupportedChange("schema", "no")
    assert (step.message, step_text(step)) == ("no", "unsupported change on schema: no")
    assert step_json(step) == {"kind": "unsupported_change", "entity": "schema", "reason": "no"}


def test_annotation_arguments_appear_in_steps():
    step = UpdateTypeMetadata("node", "T", (Annotation("x", "v", (("k", "w"),)),))
    assert step_json(step)["annotations"] == [{"name": "x", "value": "v", "kwargs": {"k": "w"}}]
    assert step_text(step) == 'update metadata on node \'T\' (@x("v", k="w"))'


def test_types_in_plans_are_spelled_as_answers_spell_them():
    assert type_text(PropType("I32", list=True)) == "[I32]"
    assert type_text(PropType("String", enum=("a", "b"), nullable=True)) == "Enum(a|b)?"
    assert type_text(PropType("Vector", dim=4)) == "Vector(4)"


def test_the_target_of_an_empty_plan_has_the_accepted_identity_and_the_desired_source():
    accepted = accept_schema("node T { a: I32 }", domain=DOMAIN)
    target = plan_migration(accepted, "// new\nnode T { a: I32 }").target
    assert target.ir_hash == accepted.ir_hash
    assert target.source.startswith("// new")
