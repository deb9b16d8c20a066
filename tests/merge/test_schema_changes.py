"""Schema changes beside branches, on branches, and merges that bring the two together (decision 19)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.catalog.steps import fact_text
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.errors import BadRequest, Conflict, MergeConflicts, NotFound, PermissionDenied
from omnigraph.policy.bundle import parse_bundle
from omnigraph.policy.engine import PolicyEngine
from omnigraph.settings import Settings
from omnigraph.storage.manifest import manifest
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.observe import image_of

SETTINGS = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000, retire_grace_ms=0)
PERSON = "node Person { name: String @key  age: I32?  mood: enum(calm, glad)?  pic: Blob? }"
KNOWS = "edge Knows: Person -> Person { since: Date? }"
PET = "node Pet { tag: String @key  kind: String @unique }"
SCHEMA = f"{PERSON}\n{KNOWS}\n{PET}"
ROWS: list[dict[str, Any]] = [
    {"type": "Person", "data": {"name": "ana", "age": 30, "mood": "calm", "pic": "base64:SGVsbG8="}},
    {"type": "Person", "data": {"name": "bo", "age": 40}},
    {"edge": "Knows", "from": "ana", "to": "bo", "data": {"id": "k1", "since": "2020-01-05"}},
    {"type": "Pet", "data": {"tag": "rex", "kind": "dog"}},
]


def edited(*edits: tuple[str, str], text: str = SCHEMA) -> str:
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    return text


SAFE = {
    "optional property": edited(("age: I32?", "age: I32?  city: String?")),
    "property with default": edited(("age: I32?", 'age: I32?  city: String @default("Bern")')),
    "new types": SCHEMA + "\nnode Place { code: String @key }\nedge At: Person -> Place",
    "rename property": edited(("age: I32?", 'years: I32? @rename_from("age")')),
    "rename unique property": edited(("kind: String", 'sort: String @rename_from("kind")')),
    "rename type": edited(("node Person", 'node Human @rename_from("Person")'), ("Person -> Person", "Human -> Human")),
    "rename edge": edited(("edge Knows: Person -> Person", 'edge Met: Person -> Person @rename_from("Knows")')),
    "index": edited(("age: I32?", "age: I32? @index")),
    "relax": edited(("kind: String", "kind: String?")),
    "widen": edited(("age: I32?", "age: I64?"), ("since: Date?", "since: DateTime?")),
    "extend enum": edited(("enum(calm, glad)", "enum(calm, glad, wild)")),
    "describe": edited(("node Pet", 'node Pet @description("an animal")')),
    "drop of what the branch leaves alone": edited(("since: Date?", "")),
}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", SCHEMA, settings=SETTINGS)
    made.load(ROWS)
    return made


def write_old(graph: og.Graph, *, suffix: str = "") -> None:
    """Inserts, updates and deletes under the first schema."""
    graph.mutate('query q() { update Person set { age: 31 } where name = "ana" }')
    graph.load(
        [
            {"type": "Person", "data": {"name": f"cy{suffix}", "age": 50, "mood": "glad", "pic": "base64:eHl6"}},
            {"edge": "Knows", "from": f"cy{suffix}", "to": "bo", "data": {"id": f"k2{suffix}"}},
            {"type": "Pet", "data": {"tag": f"tom{suffix}", "kind": f"cat{suffix}"}},
        ]
    )
    graph.mutate('query q() { delete Pet where tag = "rex" }')


def image(graph: og.Graph) -> Image:
    return image_of(graph.view())


def assert_sound(graph: og.Graph) -> None:
    assert violations(graph._core.store) == []
    report = og.open(graph.uri, read_only=True).check()
    assert report.ok, str(report)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Image]:
    """The rows of a graph without branches whose schema changes after the writes: what every merge must give."""
    known: dict[str, Image] = {}

    def images(change: str) -> Image:
        if change not in known:
            plain = og.init(tmp_path_factory.mktemp("plain") / "g.omni", SCHEMA, settings=SETTINGS)
            plain.load(ROWS)
            write_old(plain)
            plain.schema.apply(SAFE[change])
            known[change] = image(plain)
        return known[change]

    return images


# --- beside a branch ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", SAFE)
def test_a_safe_change_of_main_leaves_a_branch_alone_and_a_merge_brings_it_up(
    graph: og.Graph, change: str, expected: Callable[[str], Image]
) -> None:
    graph.branches.create("dev")
    dev, before = graph.branch("dev"), image(graph)
    assert graph.schema.apply(SAFE[change]).applied
    assert (dev.schema.source, image(dev)) == (SCHEMA, before)
    write_old(dev)
    graph.branches.create("copy", from_="dev")
    preview = graph.branches.merge("dev", preview=True)
    assert preview.conflicts == ()
    graph.branches.merge("dev")
    assert image(graph) == expected(change)
    assert graph.schema.source == SAFE[change]
    # The other direction: the branch itself is brought up to main's schema.
    graph.branches.merge("main", into="copy")
    copy = graph.branch("copy")
    assert image(copy) == expected(change)
    assert copy.schema.hash == graph.schema.hash
    assert dev.schema.source == SCHEMA
    assert_sound(graph)


@pytest.mark.parametrize("change", SAFE)
def test_a_change_on_a_branch_is_merged_with_it(graph: og.Graph, change: str, expected: Callable[[str], Image]) -> None:
    graph.branches.create("dev")
    dev, before = graph.branch("dev"), image(graph)
    commits = len(dev.commits.list())
    assert dev.schema.apply(SAFE[change]).applied
    assert len(dev.commits.list()) == commits + 1
    assert (graph.schema.source, image(graph)) == (SCHEMA, before)
    write_old(graph)
    graph.branches.create("copy")
    graph.branches.merge("dev")
    assert (image(graph), graph.schema.source) == (expected(change), SAFE[change])
    assert og.open(graph.uri, settings=SETTINGS).schema.source == SAFE[change]
    graph.branches.merge("copy", into="dev")  # a branch that never heard of the change
    assert (image(dev), dev.schema.source) == (expected(change), SAFE[change])
    assert graph.branches.merge("dev").outcome in ("fast_forward", "merged")
    assert image(graph) == expected(change)
    assert_sound(graph)


@pytest.mark.parametrize("change", SAFE)
def test_a_fast_forward_brings_the_schema_and_the_rows(graph: og.Graph, change: str) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    write_old(dev)
    dev.schema.apply(SAFE[change])
    wanted = image(dev)
    assert graph.branches.merge("dev", delete=True).outcome == "fast_forward"
    assert image(graph) == wanted
    assert graph.branches.list() == ["main"]
    assert_sound(graph)


def test_rows_of_new_types_come_with_their_schema(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    dev.schema.apply(SAFE["new types"])
    dev.load([{"type": "Place", "data": {"code": "x"}}, {"edge": "At", "from": "ana", "to": "x", "data": {"id": "a1"}}])
    dev.load([{"type": "Place", "data": {"code": "y"}}])
    result = graph.branches.merge("dev", delete=True)
    assert {name: rows.inserted for name, rows in result.changes.items()} == {"Place": 2, "At": 1}
    assert graph.get("At", "a1") == {"id": "a1", "src": "ana", "dst": "x"}
    graph.load([{"type": "Place", "data": {"code": "z"}}])
    found = graph.query("query q() { match { $p: Person  $p at $l  $l: Place } return { $l.code } }").rows()
    assert [row["l.code"] for row in found] == ["x"]
    graph.cleanup(keep=1, confirm=True)
    assert image(og.open(graph.uri))["node:Place"].keys() == {"x", "y", "z"}
    assert_sound(graph)


def test_a_type_that_each_branch_keeps_in_a_table_of_its_own_is_compared_and_merged_row_by_row(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    dev.schema.apply(SAFE["new types"])
    graph.branches.merge("dev")
    graph.load([{"type": "Place", "data": {"code": "a"}}])
    graph.branches.create("idle", from_="dev")
    graph.branches.merge("main", into="idle")  # which has never written to its own table of the type
    assert image(graph.branch("idle"))["node:Place"].keys() == {"a"}
    dev.load([{"type": "Place", "data": {"code": "b"}}])
    assert [(each.id, each.op) for each in graph.diff("main", "dev").changes] == [("a", "delete"), ("b", "insert")]
    graph.branches.merge("dev")
    for code in ("c", "d", "e"):
        graph.load([{"type": "Place", "data": {"code": code}}])
    graph.branches.merge("main", into="dev")  # main is far ahead, and its table is not that of the branch
    assert image(dev)["node:Place"].keys() == {"a", "b", "c", "d", "e"}
    assert image(dev) == image(graph)
    assert_sound(graph)


def test_two_branches_and_main_may_add_types_of_one_name_side_by_side(graph: og.Graph) -> None:
    text = SCHEMA + "\nnode Place { code: String @key }"
    for name in ("one", "two"):
        graph.branches.create(name)
        branch = graph.branch(name)
        branch.schema.apply(text)
        branch.load([{"type": "Place", "data": {"code": name}}])
    graph.schema.apply(text)
    graph.load([{"type": "Place", "data": {"code": "main"}}])
    for name in ("one", "two"):
        assert image(graph.branch(name))["node:Place"].keys() == {name}
        graph.branches.merge(name)
    assert image(graph)["node:Place"].keys() == {"main", "one", "two"}
    graph.branches.merge("main", into="one")
    assert image(graph.branch("one")) == image(graph)
    assert_sound(graph)


# --- both sides ---------------------------------------------------------------------------------------------


def test_changes_of_both_sides_are_combined(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    dev.schema.apply(edited(("age: I32?", 'years: I32? @rename_from("age")  city: String?')))
    dev.mutate('query q() { update Person set { years: 31, city: "Bern" } where name = "ana" }')
    graph.schema.apply(
        edited(("age: I32?", "age: I64?  shoe: I32?"), ("edge Knows", "edge Likes: Person -> Pet\nedge Knows"))
    )
    graph.mutate('query q() { update Person set { age: 9999999999, shoe: 42 } where name = "bo" }')
    graph.branches.merge("dev")
    people = image(graph)["node:Person"]
    assert people["ana"] | {"pic": None} == {
        "id": "ana", "name": "ana", "years": 31, "city": "Bern", "shoe": None, "mood": "calm", "pic": None
    }  # fmt: skip
    assert people["bo"]["years"] == 9_999_999_999
    assert people["bo"]["shoe"] == 42
    graph.branches.merge("main", into="dev")
    assert image(dev) == image(graph)
    assert dev.schema.hash == graph.schema.hash
    assert_sound(graph)


def test_the_same_file_applied_everywhere_is_one_change(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    text = edited(("age: I32?", "age: I32?  city: String?"))
    for branch in (dev, graph):
        branch.schema.apply(text)
    dev.mutate('query q() { update Person set { city: "Bern" } where name = "ana" }')
    graph.mutate('query q() { update Person set { city: "Basel" } where name = "bo" }')
    assert dev.schema.hash == graph.schema.hash
    graph.branches.merge("dev")
    assert {key: row["city"] for key, row in image(graph)["node:Person"].items()} == {"ana": "Bern", "bo": "Basel"}


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (
            edited(("age: I32?", "age: I64?")),
            edited(("age: I32?", "age: F64?")),
            "'Person.age' has type I64 on 'main' and F64",
        ),
        (
            edited(("age: I32?", 'years: I32? @rename_from("age")')),
            edited(("age: I32?", 'old: I32? @rename_from("age")')),
            "is called 'years' on 'main' and 'old' on 'dev'",
        ),
        (
            edited(("age: I32?", "age: I32?  city: String?")),
            edited(("age: I32?", "age: I32?  city: I32?")),
            "'Person.city' is another property on 'main' and on 'dev'",
        ),
        (
            edited((PET, "")),
            edited((PET, PET.replace("kind", "size: I32?  kind"))),
            "'Pet' was dropped on 'main' and changed",
        ),
    ],
    ids=["types", "names", "additions", "drop"],
)
def test_changes_that_exclude_each_other_are_refused_by_name(
    graph: og.Graph, ours: str, theirs: str, words: str
) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    dev.schema.apply(theirs)
    version = manifest.load(graph._core.store.root).state.version
    # Main is told before anything happens ...
    with pytest.raises(Conflict, match="S060") as told:
        graph.schema.apply(ours)
    assert words in str(told.value)
    assert manifest.load(graph._core.store.root).state.version == version
    # ... a branch when it is merged.
    graph.branches.create("other")
    graph.branch("other").schema.apply(ours)
    head = graph.branch("other").commits.head()
    with pytest.raises(MergeConflicts) as caught:
        graph.branches.merge("dev", into="other")
    assert {each.kind for each in caught.value.conflicts} == {"SchemaConflict"}
    assert words.replace("'main'", "'other'") in str(caught.value)
    assert graph.branches.merge("dev", into="other", preview=True).conflicts == caught.value.conflicts
    assert graph.branch("other").commits.head() == head
    assert_sound(graph)


# --- what a branch wrote and main would drop ------------------------------------------------------------------

DROPS = {
    "property": (edited(("age: I32?", "")), "property 'Person.age' is to be dropped, but branch 'dev' has written"),
    "type": (edited((PET, "")), "type 'Pet' is to be dropped, but branch 'dev' has written 1 row of it"),
}


@pytest.mark.parametrize("drop", DROPS)
def test_dropping_what_a_branch_has_written_is_refused_until_it_does_too(graph: og.Graph, drop: str) -> None:
    text, words = DROPS[drop]
    graph.branches.create("dev")
    dev = graph.branch("dev")
    write_old(dev)
    version, before = manifest.load(graph._core.store.root).state.version, image(graph)
    with pytest.raises(Conflict, match="S060") as caught:
        graph.schema.apply(text)
    assert words in str(caught.value)
    assert caught.value.code == "S060"
    assert (manifest.load(graph._core.store.root).state.version, image(graph)) == (version, before)
    dev.schema.apply(text)
    graph.schema.apply(text)
    graph.branches.merge("dev")
    assert image(graph) == image(dev)
    assert_sound(graph)


@pytest.mark.parametrize("drop", DROPS)
def test_what_a_branch_writes_after_the_drop_is_refused_by_the_merge(graph: og.Graph, drop: str) -> None:
    text, words = DROPS[drop]
    graph.branches.create("dev")
    graph.schema.apply(text)
    write_old(graph.branch("dev"))
    before, head = image(graph), graph.commits.head()
    with pytest.raises(MergeConflicts) as caught:
        graph.branches.merge("dev")
    assert [each.kind for each in caught.value.conflicts] == ["SchemaConflict"]
    assert words in str(caught.value)
    assert (image(graph), graph.commits.head()) == (before, head)


def test_data_is_dropped_for_good_only_where_no_branch_shows_it(graph: og.Graph) -> None:
    text = edited(("since: Date?", ""))
    graph.branches.create("dev")
    with pytest.raises(Conflict, match="S060: branch 'dev' still shows"):
        graph.schema.apply(text, allow_data_loss=True)
    with pytest.raises(BadRequest, match="S060: data is dropped for good on main only; on branch 'dev'"):
        graph.branch("dev").schema.apply(text, allow_data_loss=True)
    graph.branches.delete("dev")
    assert graph.schema.apply(text, allow_data_loss=True).applied


def test_unsupported_changes_are_refused_on_a_branch_as_on_main(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    for text, code in [
        (edited(("age: I32?", "age: String?")), "OG-MF-106"),
        (edited(("age: I32?", "age: I32?  must: I32")), "OG-MF-103"),
        (edited(("kind: String @unique", 'kind: String @unique  @check(kind, "x")')), "OG-MF-107"),
    ]:
        with pytest.raises(BadRequest, match=code):
            dev.schema.apply(text)
    assert dev.schema.source == SCHEMA


def test_a_name_that_goes_to_another_type_is_refused_by_the_merge(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    dev.schema.apply(edited((PET, "")))
    dev.schema.apply(SCHEMA)
    dev.load([{"type": "Pet", "data": {"tag": "new", "kind": "fish"}}])
    assert image(dev)["node:Pet"].keys() == {"new"}
    with pytest.raises(MergeConflicts, match="node 'Pet' is another type on 'dev' than on 'main'; drop or rename"):
        graph.branches.merge("dev")
    graph.schema.apply(edited((PET, "")))
    graph.branches.merge("dev")
    assert image(graph) == image(dev)
    assert_sound(graph)


# --- the past, other readers, transactions ---------------------------------------------------------------------


def test_history_diff_and_time_travel_cross_the_merge_of_a_schema(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    graph.tags.create("before")
    dev.schema.apply(edited(("age: I32?", 'years: I64? @rename_from("age")')))
    dev.mutate('query q() { update Person set { years: 31 } where name = "ana" }')
    assert [fact_text(step) for step in graph.diff("main", "dev").schema_changes] == [
        "rename property 'Person.age' -> 'Person.years' on node 'Person'",
        "widen property 'Person.years' from I32? to I64? on node 'Person'",
    ]
    assert [(each.type_name, each.id) for each in graph.diff("main", "dev").changes] == [("Person", "ana")]
    graph.branches.merge("dev")
    assert graph.diff("main", "dev").changes == []
    assert [(each.type_name, each.id) for each in graph.diff("before", "main").changes] == [("Person", "ana")]
    assert graph.at("before").get("Person", "ana")["age"] == 30  # type: ignore[index]
    assert graph.schema.at("before").source == SCHEMA
    assert graph.commits.blame("Person", "ana")["years"].value == 31
    assert graph.commits.blame("Person", "bo")["years"].commit == graph.commits.show("before")


def test_queries_mutations_and_loads_use_the_schema_of_their_branch(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    dev.schema.apply(edited(("age: I32?", 'years: I32? @rename_from("age")')))
    new, old = (
        "query q() { match { $p: Person } return { $p.years } }",
        "query q() { match { $p: Person } return { $p.age } }",
    )
    assert len(dev.query(new).rows()) == len(graph.query(old).rows()) == 2
    for reader, text in ((dev, old), (graph, new)):
        with pytest.raises(TypeCheckError):
            reader.query(text)
    assert len(graph.query(new, branch="dev").rows()) == 2
    dev.mutate('query q() { update Person set { years: 1 } where name = "ana" }')
    graph.mutate('query q() { update Person set { age: 2 } where name = "ana" }')
    with pytest.raises(TypeCheckError):
        graph.mutate('query q() { update Person set { years: 1 } where name = "ana" }')
    graph.load([{"type": "Person", "data": {"name": "di", "years": 5}}], branch="dev")
    graph.load([{"type": "Person", "data": {"name": "di", "age": 6}}])
    assert (dev.get("Person", "di") or {})["years"] == 5
    graph.branches.create("child", from_="dev")
    assert graph.branch("child").schema.source == dev.schema.source
    assert og.open(graph.uri, read_only=True).branch("child").schema.hash == dev.schema.hash


def test_a_running_transaction_neither_stops_a_schema_change_nor_loses_to_it(graph: og.Graph) -> None:
    with graph.transaction() as tx:
        tx.mutate('query q() { update Person set { age: 31 } where name = "ana" }')
        assert graph.schema.apply(edited(("age: I32?", 'years: I64? @rename_from("age")  city: String?'))).applied
        tx.mutate('query q() { update Person set { age: age + 1 } where name = "ana" }')
    assert (graph.get("Person", "ana") or {})["years"] == 32
    with pytest.raises(MergeConflicts, match=r"'Person\.city' is to be dropped"):
        _write_what_is_dropped_meanwhile(graph)
    assert "city" not in graph.schema.catalog.nodes["Person"].properties
    assert_sound(graph)


def _write_what_is_dropped_meanwhile(graph: og.Graph) -> None:
    with graph.transaction() as tx:
        tx.mutate('query q() { update Person set { city: "Bern" } where name = "ana" }')
        graph.schema.apply(edited(("age: I32?", "years: I64?")))


def test_a_deleted_branch_leaves_nothing_of_its_types(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    dev.schema.apply(SAFE["new types"])
    dev.load([{"type": "Place", "data": {"code": "x"}}])
    places = {row.location for row in dev._core.state("dev").registrations.values()}
    graph.branches.delete("dev")
    graph.cleanup(keep=1, confirm=True)
    mine = {row.location for row in graph._core.state(None).registrations.values()}
    assert [location for location in places - mine if Path(graph.uri, location).exists()] == []
    with pytest.raises(NotFound):
        graph.get("Place", "x")
    graph.schema.apply(SAFE["new types"])
    assert image(graph)["node:Place"] == {}
    assert_sound(graph)


def test_clones_carry_the_schemas_of_every_branch(graph: og.Graph, tmp_path: Path) -> None:
    graph.branches.create("dev")
    dev = graph.branch("dev")
    dev.schema.apply(SAFE["new types"])
    dev.load([{"type": "Place", "data": {"code": "x"}}])
    og.clone(graph.uri, tmp_path / "copy.omni")
    copy = og.open(tmp_path / "copy.omni")
    assert (copy.schema.source, copy.branch("dev").schema.source) == (SCHEMA, SAFE["new types"])
    assert image(copy.branch("dev")) == image(dev)


RIGHTS = """
version: 1
groups: {workers: [ann]}
protected_branches: [main]
rules:
  - {id: work, allow: {actors: {group: workers}, actions: [change], branch_scope: any}}
  - {id: merge, allow: {actors: {group: workers}, actions: [branch_merge], target_branch_scope: any}}
  - {id: try, allow: {actors: {group: workers}, actions: [schema_apply], target_branch_scope: unprotected}}
"""


def test_a_merge_is_no_way_around_the_right_to_change_a_schema(graph: og.Graph) -> None:
    for name in ("dev", "behind"):
        graph.branches.create(name)
    policy = PolicyEngine(parse_bundle(RIGHTS, "rules"), "g")
    ann = og.open(graph.uri, policy=policy, actor="ann", settings=SETTINGS)
    text = SAFE["optional property"]
    assert ann.branch("dev").schema.apply(text).applied
    with pytest.raises(PermissionDenied, match="schema_apply"):
        ann.schema.apply(text)
    head = graph.commits.head()
    with pytest.raises(PermissionDenied, match="schema_apply"):
        ann.branches.merge("dev")
    assert (graph.commits.head(), graph.schema.source) == (head, SCHEMA)
    graph.branches.merge("dev")
    ann.branches.merge("main", into="behind")  # every branch may follow main
    assert graph.branch("behind").schema.source == text
