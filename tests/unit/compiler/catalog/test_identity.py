"""Identity, hashes and the stored files of an accepted schema."""

from __future__ import annotations

import hashlib
import json
import pickle

import pytest

from omnigraph.compiler.catalog import (
    accept_schema,
    codec,
    compile_schema,
    decode_accepted,
    decode_state,
    plan_migration,
)
from omnigraph.compiler.catalog.identity import IGNORED_HINT, INERT_HINT
from omnigraph.errors import BadRequest, Conflict, Corrupt

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
TEXT = """
interface Coded { code: String @key }
node Lake { name: String }
node Hut @description("d") implements Coded { name: String @index alt: I32? @range(alt, -1..9) g: enum(b, a) v: Vector(2)? @embed(name, model="m") }
edge Path: Hut -> Lake @card(0..8) { minutes: I32? @unique(src, dst) note: String? }
"""


def accept(text: str):
    return accept_schema(text, domain=DOMAIN)


def test_ids_are_minted_types_first_then_properties_then_incarnations():
    catalog = accept(TEXT).catalog
    assert catalog.interfaces["Coded"].type_id == 1
    assert [catalog.nodes[name].type_id for name in ("Hut", "Lake")] == [2, 3]
    assert catalog.edges["Path"].type_id == 4
    assert catalog.interfaces["Coded"].property_ids == {"code": 5}
    assert catalog.nodes["Hut"].property_ids == {"alt": 6, "code": 7, "g": 8, "name": 9, "v": 10}
    assert catalog.nodes["Lake"].property_ids == {"name": 11}
    assert catalog.edges["Path"].property_ids == {"minutes": 12, "note": 13}
    assert (catalog.nodes["Hut"].incarnation_id, catalog.nodes["Lake"].incarnation_id) == (14, 15)
    assert catalog.edges["Path"].incarnation_id == 16
    assert accept(TEXT).next_id == 17


def test_a_compiled_schema_has_no_identity():
    catalog = compile_schema(TEXT)
    assert catalog.ir_hash == ""
    assert set(catalog.nodes["Hut"].property_ids.values()) == {0}
    assert catalog.shape_hash == accept(TEXT).catalog.shape_hash


def test_a_domain_must_be_a_ulid():
    with pytest.raises(BadRequest, match="ULID"):
        accept_schema("", domain="mine")


def test_hints_are_inert_at_creation():
    text = 'interface I { x: I32? @rename_from(w) } node A @rename_from("B") implements I { a: I32 @rename_from(b) }'
    notices = accept(text).diagnostics
    assert [notice.code for notice in notices] == [INERT_HINT] * 3
    assert sorted(notice.span.start for notice in notices) == [22, 47, 87]


def test_a_kept_name_ignores_its_hint():
    accepted = accept("node A { x: I32? } node B {}")
    plan = plan_migration(accepted, 'node A @rename_from("B") { x: I32? @rename_from(y) } node B {}')
    assert plan.steps == ()
    assert [notice.code for notice in plan.diagnostics] == [IGNORED_HINT] * 2


def test_renames_keep_every_identity():
    before = accept("node A { x: I32? y: I32 @key } edge P: A -> A")
    plan = plan_migration(
        before, 'node B @rename_from("A") { z: I32? @rename_from(x) y: I32 @key } edge Q: B -> B @rename_from("P")'
    )
    old, new = before.catalog.nodes["A"], plan.target.catalog.nodes["B"]
    assert plan.supported
    assert (new.type_id, new.incarnation_id) == (old.type_id, old.incarnation_id)
    assert new.property_ids["z"] == old.property_ids["x"]
    assert plan.target.catalog.edges["Q"].type_id == before.catalog.edges["P"].type_id
    assert plan.target.next_id == before.next_id


def test_a_dropped_and_re_added_type_is_a_new_one():
    first = accept("node A { x: I32? } node B {}")
    second = plan_migration(first, "node B {}").target
    third = plan_migration(second, "node A { x: I32? } node B {}").target
    assert third.catalog.nodes["A"].type_id >= first.next_id
    assert third.catalog.nodes["A"].incarnation_id != first.catalog.nodes["A"].incarnation_id
    assert third.catalog.nodes["A"].property_ids["x"] >= first.next_id
    assert third.catalog.nodes["B"].type_id == first.catalog.nodes["B"].type_id


def test_new_ids_continue_the_counter_types_first():
    before = accept("node B { m: I32? }")
    after = plan_migration(before, "node A { a: I32? } node B { m: I32? b: I32? } edge P: A -> B").target.catalog
    assert (after.nodes["A"].type_id, after.edges["P"].type_id) == (4, 5)
    assert (after.nodes["B"].property_ids["b"], after.nodes["A"].property_ids["a"]) == (6, 7)
    assert (after.nodes["A"].incarnation_id, after.edges["P"].incarnation_id) == (8, 9)


def test_a_renamed_key_member_keeps_its_place_in_the_key():
    before = accept("node A { a: I32 b: I32 @key(b, a) }")
    after = plan_migration(before, "node A { z: I32 @rename_from(a) b: I32 @key(b, z) }").target.catalog
    assert before.catalog.nodes["A"].key == ("a", "b")
    assert after.nodes["A"].key == ("z", "b")
    assert after.nodes["A"].indices == (("z", "b"),)


def test_a_hint_on_an_interface_property_carries_over_to_its_implementers_old_and_new():
    before = accept("interface I { x: I32? } node A implements I {}")
    plan = plan_migration(
        before, "interface I { y: I32? @rename_from(x) } node A implements I {} node N implements I {}"
    )
    assert [step["kind"] for step in plan.to_json()["steps"]] == ["rename_property", "rename_property", "add_type"]
    assert plan.target.catalog.nodes["A"].property_ids["y"] == before.catalog.nodes["A"].property_ids["x"]


# --- hashes and files ---


def test_hashes_ignore_order_comments_and_hints():
    shuffled = """
    edge Path: Hut -> Lake @card(0..8) { note: String?  @unique(dst, src) minutes: I32? @rename_from(m) }
    // a comment
    node Hut @description("d") implements Coded { v: Vector(2)? @embed("name", model="m") g: enum(a, b) @range(alt, -1..9) alt: I32? name: String @index }
    node Lake { name: String } /* and another */
    interface Coded { code: String @key }
    """
    one, other = accept(TEXT), accept(shuffled)
    assert one.ir_hash == other.ir_hash
    assert one.shape_hash == other.shape_hash
    assert one.ir_json == other.ir_json


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("node A { a: I32 }", "node A { a: I64 }"),
        ("node A { a: I32 }", "node A { a: I32 @index }"),
        ("node A {}", 'node A @description("x") {}'),
        ("node A {} edge P: A -> A", "node A {} edge P: A -> A @card(0..1)"),
        ("node A @x(1) {}", "node A @x(2) {}"),
        ("node A @x(1) {}", 'node A @x(1, k="v") {}'),
    ],
)
def test_a_change_of_meaning_changes_the_shape_hash(before, after):
    assert compile_schema(before).shape_hash != compile_schema(after).shape_hash


def test_a_mark_and_its_body_form_have_one_hash():
    assert (
        compile_schema("node A { a: I32 @unique }").shape_hash
        == compile_schema("node A { a: I32 @unique(a) }").shape_hash
    )


def test_the_ir_hash_is_over_the_compact_form_of_the_stored_file():
    accepted = accept(TEXT)
    compact = json.dumps(json.loads(accepted.ir_json), ensure_ascii=False, separators=(",", ":"))
    assert accepted.ir_hash == "sha256:" + hashlib.sha256(compact.encode()).hexdigest()
    assert accepted.state == {
        "format_version": 2,
        "schema_shape_hash": accepted.shape_hash,
        "schema_ir_hash": accepted.ir_hash,
        "schema_identity_version": 2,
        "schema_identity_domain": DOMAIN,
    }
    assert decode_state(codec.pretty(accepted.state)) == accepted.state


def test_the_stored_form_is_fixed(golden):
    accepted = accept(TEXT)
    golden("schema/accepted.ir.json", accepted.ir_json)
    golden("schema/accepted.state.json", codec.pretty(accepted.state))


def test_decoding_gives_the_accepted_schema_back():
    accepted = accept(TEXT)
    again = decode_accepted(accepted.ir_json.encode(), accepted.source.encode())
    assert again.catalog == accepted.catalog
    assert again.ir_json == accepted.ir_json


def test_a_catalog_travels_to_other_processes():
    catalog = accept(TEXT).catalog
    assert pickle.loads(pickle.dumps(catalog)) == catalog


def test_a_comment_in_the_source_is_no_drift_but_a_change_of_meaning_is():
    accepted = accept("node A { a: I32 }")
    assert decode_accepted(accepted.ir_json, "// why\nnode A { a: I32 }").catalog == accepted.catalog
    with pytest.raises(Conflict, match="does not match"):
        decode_accepted(accepted.ir_json, "node A { a: I64 }")
    with pytest.raises(Conflict, match="does not compile: parse error: S000"):
        decode_accepted(accepted.ir_json, "node")


def damage(change):
    ir = json.loads(accept(TEXT).ir_json)
    change(ir)
    return json.dumps(ir)


def _set(path, value):
    def change(ir):
        *parents, last = path
        for key in parents:
            ir = ir[key]
        ir[last] = value

    return change


HUT = ("nodes", 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set(("ir_version",), 1), "IR.ir_version is 1; this release reads 2"),
        (_set(("schema_identity_domain",), "x"), "IR.schema_identity_domain is not a ULID"),
        (_set(("next_identity_id",), 16), "edge:Path identity 16 is not below next_identity_id 16"),
        (_set(("next_identity_id",), True), "IR.next_identity_id is not an unsigned integer"),
        (_set(("nodes",), {}), "IR.nodes is not an array"),
        (_set(("extra",), 1), "IR has unknown member 'extra'"),
        (lambda ir: ir.pop("edges"), "IR lacks 'edges'"),
        (_set((*HUT, "type_id"), 0), r"IR.nodes\[0\].type_id is 0; identities start at 1"),
        (_set((*HUT, "type_id"), 3), "node:Lake identity 3 is used twice"),
        (_set((*HUT, "name"), 7), r"IR.nodes\[0\].name is not a string"),
        (_set(HUT, []), r"IR.nodes\[0\] is not an object"),
        (_set((*HUT, "properties", 0, "prop_type", "scalar"), "I16"), "which is not a type"),
        (_set((*HUT, "properties", 0, "prop_type", "nullable"), "yes"), "is not a boolean"),
        (_set((*HUT, "constraints", 0, "kind"), "weird"), "which is not a constraint"),
        (_set((*HUT, "constraints", 2, "min"), "low"), "min is not a number"),
        (_set((*HUT, "properties", 4, "annotations", 0, "kwargs"), []), "kwargs is not an object"),
        (_set(("edges", 0, "cardinality", "min"), -1), "cardinality.min is not an unsigned integer"),
    ],
)
def test_a_damaged_ir_is_reported_by_its_path(change, message):
    with pytest.raises(Corrupt, match=message):
        decode_accepted(damage(change), TEXT)


@pytest.mark.parametrize("text", ["", "{", "[]", "NaN", '{"a":1,"a":2}', b"\xff", "[" * 100_000])
def test_an_ir_that_is_no_json_object_is_corrupt(text):
    with pytest.raises(Corrupt):
        decode_accepted(text, "")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format_version", 1),
        ("schema_identity_version", None),
        ("schema_ir_hash", "md5:0"),
        ("schema_shape_hash", 5),
        ("schema_identity_domain", ""),
    ],
)
def test_a_damaged_state_is_corrupt(key, value):
    state = {**accept(TEXT).state, key: value}
    with pytest.raises(Corrupt, match=key):
        decode_state(json.dumps(state))
