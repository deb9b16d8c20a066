"""The vectorised validator finds what the plain one finds, and says it as promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.compiler.catalog import compile_schema
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.write.change_set import TableChange
from omnigraph.engine.write.validate import find_violations
from omnigraph.testing.naive.memory_rows import MemoryRows, rows_table
from omnigraph.testing.naive.validate import NaiveChange, naive_phases

CATALOG = compile_schema(
    """
    node A {
      k: String @key
      u: String? @unique
      n: I32?  @range(n, 0..2)
      e: enum(x, y)?
      t: String?  @check(t, "^[ab]+$")
      f: F64?
      @unique(n, f)
    }
    node B { w: String }
    edge R: A -> B @card(1..2) { p: I32?  @unique(src, p) }
    edge S: B -> B @card(0..1)
    """
)
TYPES = {info.table_key: info for info in (*CATALOG.nodes.values(), *CATALOG.edges.values())}
IDS = st.sampled_from("abcd")


def optional(values: str) -> st.SearchStrategy[str | None]:
    return st.none() | st.sampled_from(values)


def rows(key: str) -> st.SearchStrategy[dict[str, Any]]:
    match key:
        case "node:A":
            return st.fixed_dictionaries(
                {
                    "id": IDS,
                    "u": optional("pq"),
                    "n": st.sampled_from([None, -1, 0, 2, 3]),
                    "e": optional("xyz"),
                    "t": optional("abc"),
                    "f": st.sampled_from([None, 0.0, -0.0, 1.5]),
                }
            ).map(lambda row: {**row, "k": row["id"]})
        case "node:B":
            return st.fixed_dictionaries({"id": IDS, "w": optional("w")})
        case "edge:R":
            return st.fixed_dictionaries({"id": IDS, "src": IDS, "dst": IDS, "p": st.sampled_from([None, 1, 2])})
        case _:
            return st.fixed_dictionaries({"id": IDS, "src": IDS, "dst": IDS})


def committed() -> st.SearchStrategy[dict[str, list[dict[str, Any]]]]:
    """Any committed rows that keep the maximum of S; a change that only takes edges away is not asked about it."""
    options = {key: st.lists(rows(key), max_size=4, unique_by=lambda row: row["id"]) for key in TYPES}
    options["edge:S"] = st.lists(rows("edge:S"), max_size=4, unique_by=(lambda row: row["id"], lambda row: row["src"]))
    return st.fixed_dictionaries(options)


def changes() -> st.SearchStrategy[dict[str, NaiveChange]]:
    """Constructive or destructive changes of any of the tables."""
    options = {
        key: st.one_of(
            st.builds(
                lambda *batches: NaiveChange(batches), st.lists(rows(key), max_size=3), st.lists(rows(key), max_size=2)
            ),
            st.builds(
                lambda batch, new: NaiveChange([batch], new=new, distinct=new),
                st.lists(rows(key), max_size=4),
                st.booleans(),
            ),
            st.builds(
                lambda batch: NaiveChange([batch], replaced=True, distinct=True), st.lists(rows(key), max_size=3)
            ),
            st.builds(lambda gone: NaiveChange(deleted=frozenset(gone)), st.sets(IDS, max_size=3)),
        )
        for key in TYPES
    }
    return st.fixed_dictionaries({}, optional=options)


def vectorised(plain: Mapping[str, NaiveChange]) -> dict[str, TableChange]:
    return {
        key: TableChange(
            TYPES[key],
            tuple(rows_table(TYPES[key], batch) for batch in change.batches),
            pa.array(sorted(change.deleted), pa.utf8()),
            replaced=change.replaced,
            new=change.new,
            distinct=change.distinct,
        )
        for key, change in plain.items()
    }


def key_of(violation: Violation) -> tuple[str, str | None, str | None, str]:
    return (violation.code, violation.table_key, violation.property_name, violation.ids[0])


def expected_phases(found: list[Violation]) -> list[set[Any]]:
    phase = {"W001": 0, "W004": 0, "W006": 0, "W010": 0, "W011": 0, "W012": 1, "W015": 1, "W013": 2, "W014": 3}
    phases: list[set[Any]] = [set(), set(), set(), set()]
    for violation in found:
        phases[phase[violation.code]].add(key_of(violation))
    return phases


@settings(max_examples=200)  # cheap, and it guards what every write is checked for
@given(committed(), changes())
def test_the_vectorised_validator_agrees_with_the_plain_one(
    before: dict[str, list[dict[str, Any]]], plain: dict[str, NaiveChange]
) -> None:
    view = MemoryRows(CATALOG, before)
    found = find_violations(vectorised(plain), CATALOG, view)
    assert expected_phases(found) == naive_phases(CATALOG, before, plain)
    first = find_violations(vectorised(plain), CATALOG, view, limit=1)
    assert first == found[:1]


def test_non_finite_numbers_are_found_wherever_they_hide() -> None:
    catalog = compile_schema("node N { f: F32? xs: [F64]? v: Vector(2)? }")
    info = catalog.nodes["N"]
    nan, inf = float("nan"), float("inf")
    table = rows_table(
        info,
        [
            {"id": "1", "f": nan},
            {"id": "2", "xs": [1.0, inf]},
            {"id": "3", "v": [nan, 1.0]},
            {"id": "4"},
            {"id": "5", "f": 1.0, "xs": [], "v": [1.0, 2.0]},
        ],
    )
    found = find_violations({info.table_key: TableChange(info, (table,))}, catalog, MemoryRows(catalog))
    assert [(v.code, v.ids, v.property_name) for v in found] == [
        ("W004", ("1",), "f"),
        ("W004", ("2",), "xs"),
        ("W004", ("3",), "v"),
    ]


def test_a_range_compares_as_double_and_names_its_bounds() -> None:
    catalog = compile_schema("node N { n: U64? @range(n, 1..) m: F32? @range(m, -1.5..1.5) }")
    info = catalog.nodes["N"]
    table = rows_table(info, [{"id": "a", "n": 0}, {"id": "b", "n": 2**64 - 1, "m": 1.5}, {"id": "c", "m": -1.6}])
    found = find_violations({info.table_key: TableChange(info, (table,))}, catalog, MemoryRows(catalog))
    assert [v.message for v in found] == [
        "@range violation on N.n: value 0 is outside 1..",
        "@range violation on N.m: value -1.600000023841858 is outside -1.5..1.5",
    ]


def test_a_composite_violation_names_the_tuple_and_both_ids() -> None:
    info = CATALOG.nodes["A"]
    table = rows_table(info, [{"id": "x", "k": "x", "n": 1, "f": -0.0}, {"id": "y", "k": "y", "n": 1, "f": 0.0}])
    [found] = find_violations({info.table_key: TableChange(info, (table,))}, CATALOG, MemoryRows(CATALOG))
    assert found.code == "W012"
    assert found.ids == ("y", "x")
    assert "held by 'x' and 'y'" in found.message
    assert "A.(f, n): value '(0, 1)'" in found.message or "A.(n, f): value '(1, 0)'" in found.message


@pytest.mark.parametrize(
    ("kind", "first", "second", "clash"),
    [("F64", 0.0, -0.0, True), ("F64", 0.0, 1.0, False), ("Bool", True, True, True), ("I32", 2, 1, False)],
)
def test_values_of_one_unique_property_are_compared_as_values(kind: str, first: Any, second: Any, clash: bool) -> None:
    catalog = compile_schema(f"node N {{ v: {kind}? @unique }}")
    info = catalog.nodes["N"]
    table = rows_table(info, [{"id": "a", "v": first}, {"id": "b", "v": second}])
    found = find_violations({info.table_key: TableChange(info, (table,))}, catalog, MemoryRows(catalog))
    assert [(v.code, v.ids) for v in found] == ([("W012", ("b", "a"))] if clash else [])


@pytest.mark.parametrize("limit", [1, 2])
def test_a_limit_takes_the_smallest_ids(limit: int) -> None:
    info = CATALOG.nodes["A"]
    table = rows_table(info, [{"id": i, "k": i, "n": 9} for i in "dcab"])
    found = find_violations({info.table_key: TableChange(info, (table,))}, CATALOG, MemoryRows(CATALOG), limit=limit)
    assert [v.ids for v in found] == [("a",), ("b",)][:limit]
