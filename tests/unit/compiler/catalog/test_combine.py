"""Schemas of two branches combined by identity: every change from either side, and every refusal."""

from __future__ import annotations

from itertools import permutations

import pytest

from omnigraph.compiler.catalog.accepted import Accepted, accept_schema, decode_accepted
from omnigraph.compiler.catalog.combine import Combined, combine_schemas
from omnigraph.compiler.catalog.identity import Sibling
from omnigraph.compiler.catalog.migrate import plan_migration, schema_changes
from omnigraph.compiler.catalog.steps import fact_text

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
BASE = """
interface Named { title: String? }
node Person implements Named { name: String @key  age: I32  nick: String?  kind: enum(a, b) }
node Pet { tag: String @key  v: Vector(2)? @embed(tag) }
edge Knows: Person -> Person { since: I32? }
edge Owns: Person -> Pet
"""


def changed(accepted: Accepted, text: str, *others: Accepted) -> Accepted:
    """A schema change on one branch, minting beside the others as a graph does."""
    floor = max(each.next_id for each in (accepted, *others))
    plan = plan_migration(accepted, text, next_id=floor)
    assert plan.supported, str(plan)
    return plan.target


def parted(ours: str, theirs: str, base: str = BASE) -> tuple[Accepted, Accepted, Accepted]:
    start = accept_schema(base, domain=DOMAIN)
    one = changed(start, ours)
    return start, one, changed(start, theirs, one)


def combined(*sides: Accepted) -> Combined:
    return combine_schemas(*sides, our_branch="main", their_branch="dev")


def edited(*edits: tuple[str, str]) -> str:
    text = BASE
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    return text


AGE = "age: I32 "
# One change of each kind; any two of them combine.
CHANGES = {
    "add property": edited((AGE, "age: I32  city: String? ")),
    "add type": BASE + "node Place { code: String @key }",
    "add edge": BASE + "edge Likes: Person -> Pet",
    "rename property": edited(("nick: String?", 'alias: String? @rename_from("nick")')),
    "rename type": edited(
        ("node Pet {", 'node Animal @rename_from("Pet") {'), ("edge Owns: Person -> Pet", "edge Owns: Person -> Animal")
    ),
    "relax": edited((AGE, "age: I32? ")),
    "widen": edited((AGE, "age: I64 ")),
    "extend enum": edited(("enum(a, b)", "enum(a, b, c)")),
    "describe": edited((AGE, 'age: I32 @description("years") ')),
    "index": edited(("since: I32? }", "since: I32? @index(since) }")),
    "drop property": edited(("since: I32?", "")),
    "drop type": edited(("edge Owns: Person -> Pet", "")),
    "rename embedded source": edited(
        (
            "tag: String @key  v: Vector(2)? @embed(tag)",
            'mark: String @key @rename_from("tag")  v: Vector(2)? @embed(mark)',
        )
    ),
    "rename injected": edited(("title: String?", 'label: String? @rename_from("title")')),
}
# Both are about the same thing, so that only one of them can be had.
EXCLUDING = {frozenset({"index", "drop property"})}


def facts(before: Accepted, after: Accepted) -> set[str]:
    return {fact_text(step) for step in schema_changes(before, after)}


PAIRS = [pair for pair in permutations(CHANGES, 2) if frozenset(pair) not in EXCLUDING]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[" and ".join(pair) for pair in PAIRS])
def test_what_either_side_changed_is_in_the_combined_schema(one: str, other: str) -> None:
    base, ours, theirs = parted(CHANGES[one], CHANGES[other])
    found = combined(base, ours, theirs)
    assert found.conflicts == ()
    assert found.schema is not None
    reverse = combined(base, theirs, ours).schema
    assert reverse is not None
    assert reverse.shape == found.schema.shape
    assert found.schema.shape == decode_accepted(found.schema.ir_json, found.schema.source).shape
    told = {_kind(text) for side in (ours, theirs) for text in facts(base, side)}
    if {one, other} == {"relax", "widen"}:
        told = {"widen property "}  # to a type that may be null: one step
        assert str(found.schema.catalog.nodes["Person"].properties["age"]) == "I64?"
    assert {_kind(text) for text in facts(base, found.schema)} == told


def _kind(text: str) -> str:
    return text.split("'", maxsplit=1)[0]


def test_one_changed_side_is_taken_as_it_was_written() -> None:
    text = edited((AGE, "age: I32  // years\n"))
    base = accept_schema(text, domain=DOMAIN)
    theirs = changed(base, text.replace("nick: String?", "nick: String?  city: String?"))
    assert combined(base, base, theirs).schema == theirs
    assert combined(base, theirs, base).schema == theirs
    assert combined(base, theirs, theirs).schema == theirs


REFUSED = [
    (
        "two types",
        edited((AGE, "age: I64 ")),
        edited((AGE, "age: F64 ")),
        "node:Person.age",
        "I64 on 'main' and F64 on 'dev'",
    ),
    (
        "two names",
        edited(("nick: String?", 'alias: String? @rename_from("nick")')),
        edited(("nick: String?", 'short: String? @rename_from("nick")')),
        "node:Person.alias",
        "'alias' on 'main' and 'short' on 'dev'",
    ),
    (
        "two type names",
        CHANGES["rename type"],
        CHANGES["rename type"].replace("Animal", "Beast"),
        "node:Animal",
        "'Animal' on 'main' and 'Beast' on 'dev'",
    ),
    (
        "two descriptions",
        edited((AGE, 'age: I32 @description("a") ')),
        edited((AGE, 'age: I32 @description("b") ')),
        "node:Person.age",
        "@description 'a' on 'main' and 'b' on 'dev'",
    ),
    (
        "dropped and changed",
        edited(("nick: String?", "")),
        edited(("nick: String?", 'alias: String? @rename_from("nick")')),
        "node:Person.alias",
        "was dropped on 'main' and changed on 'dev'",
    ),
    (
        "type dropped and changed",
        CHANGES["drop type"],
        edited(("edge Owns: Person -> Pet", "edge Owns: Person -> Pet { day: Date? }")),
        "edge:Owns",
        "was dropped on 'main' and changed on 'dev'",
    ),
    (
        "same name",
        edited((AGE, "age: I32  city: String? ")),
        edited((AGE, "age: I32  city: I32? ")),
        "node:Person.city",
        "is another property on 'main' and on 'dev'",
    ),
    (
        "same type name",
        BASE + "node Place {}",
        BASE + "node Place { a: I32? }",
        "node:Place",
        "is another type on 'main' and on 'dev'",
    ),
    (
        "endpoint gone",
        edited(("node Pet { tag: String @key  v: Vector(2)? @embed(tag) }", ""), ("edge Owns: Person -> Pet", "")),
        BASE + "edge Likes: Person -> Pet",
        "edge:Likes",
        "needs node 'Pet', which was dropped",
    ),
    (
        "edges that differ in case",
        BASE + "edge Likes: Person -> Pet",
        BASE + "edge LIKES: Person -> Pet",
        "schema",
        "differ only in case",
    ),
]


@pytest.mark.parametrize(
    ("ours", "theirs", "entity", "words"), [pytest.param(*each[1:], id=each[0]) for each in REFUSED]
)
def test_changes_that_exclude_each_other_are_refused_by_name(ours: str, theirs: str, entity: str, words: str) -> None:
    found = combined(*parted(ours, theirs))
    assert found.schema is None
    assert [each.entity for each in found.conflicts] == [entity]
    assert words in found.conflicts[0].message


def test_both_sides_may_extend_an_enum() -> None:
    found = combined(*parted(edited(("enum(a, b)", "enum(a, b, c)")), edited(("enum(a, b)", "enum(a, b, d)")))).schema
    assert found is not None
    assert found.catalog.nodes["Person"].properties["kind"].enum == ("a", "b", "c", "d")


def test_both_sides_may_drop_the_same() -> None:
    text = edited(("nick: String?", ""))
    found = combined(*parted(text, CHANGES["add type"].replace("nick: String?", ""))).schema
    assert found is not None
    assert "nick" not in found.catalog.nodes["Person"].properties


def test_a_name_that_was_dropped_and_given_again_is_the_new_property() -> None:
    base = accept_schema(BASE, domain=DOMAIN)
    ours = changed(base, edited((AGE, "age: I64 ")))
    without = changed(base, edited(("nick: String?", "")), ours)
    theirs = changed(without, BASE, ours)
    found = combined(base, ours, theirs).schema
    assert found is not None
    assert found.catalog.nodes["Person"].property_ids["nick"] == theirs.catalog.nodes["Person"].property_ids["nick"]


def test_the_same_change_on_two_branches_gets_the_same_identities() -> None:
    text = edited((AGE, "age: I32  city: String? ")) + "node Place { code: String @key }"
    base = accept_schema(BASE, domain=DOMAIN)
    one = changed(base, text)
    twin = plan_migration(base, text, next_id=one.next_id, siblings=[Sibling(one.shape, base.next_id)]).target
    assert twin.shape == one.shape
    other = edited((AGE, "age: I32  city: I64? "))
    apart = plan_migration(base, other, next_id=one.next_id, siblings=[Sibling(one.shape, base.next_id)]).target
    assert apart.catalog.nodes["Person"].property_ids["city"] != one.catalog.nodes["Person"].property_ids["city"]


def test_what_was_there_before_the_branches_parted_is_not_taken_over() -> None:
    base = accept_schema(BASE, domain=DOMAIN)
    without = changed(base, edited(("nick: String?", "")))
    again = plan_migration(without, BASE, siblings=[Sibling(base.shape, base.next_id)]).target
    assert again.catalog.nodes["Person"].property_ids["nick"] != base.catalog.nodes["Person"].property_ids["nick"]
