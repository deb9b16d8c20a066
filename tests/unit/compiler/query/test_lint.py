"""Lint reports: results, findings, counts and remarks."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from omnigraph.compiler.catalog import Catalog, compile_schema
from omnigraph.compiler.query.lint import LintReport, lint
from omnigraph.testing.graphs.huts import SCHEMA

EXTRA = """
node Doc { key: String @key  body: String?  vec: Vector(3)? @embed(body)  n: U64?  f: F32?  at: DateTime?  l: [I64]? }
"""
READ = "query r() { match { $h: Hut } return { $h.code } }"


@cache
def catalog() -> Catalog:
    return compile_schema(SCHEMA + EXTRA)


def report(text: str, **more: Any) -> LintReport:
    return lint(text, catalog(), query_path="q.gq", schema_source={"kind": "graph", "uri": "g.omni"}, **more)


def operation(body: str, params: str = "") -> dict[str, Any]:
    found = report(f"query q({params}) {{ {body} }}").to_json()["results"][0]
    assert found["status"] == "ok", found
    return dict(found["operation"])


def codes(text: str, **more: Any) -> list[str]:
    return [finding.code for finding in report(text, **more).findings]


def test_a_file_that_does_not_parse_has_one_finding_and_no_results() -> None:
    document = report("query q( {").to_json()

    assert document["status"] == "error"
    assert (document["queries_processed"], document["errors"], document["results"]) == (0, 1, [])
    assert [finding["code"] for finding in document["findings"]] == ["Q000"]
    assert document["findings"][0]["message"].startswith("parse error: Q000: ")
    assert document["schema_source"] == {"kind": "graph", "uri": "g.omni"}


def test_text_that_is_not_utf8_is_a_parse_failure() -> None:
    assert codes(b"query \xff") == ["Q000"]  # type: ignore[arg-type]


def test_an_empty_file_is_fine() -> None:
    document = report("").to_json()
    assert (document["status"], document["queries_processed"], document["findings"]) == ("ok", 0, [])


def test_a_failing_query_is_an_error_without_an_operation_and_spares_the_others() -> None:
    document = report(f"query bad() {{ match {{ $h: Lake }} return {{ $h }} }}\n{READ}").to_json()

    assert (document["status"], document["errors"], document["queries_processed"]) == ("error", 1, 2)
    bad, good = document["results"]
    assert bad == {
        "name": "bad",
        "kind": "read",
        "status": "error",
        "error": "type error: T1: there is no node type 'Lake'",
    }
    assert good["status"] == "ok"


def test_the_second_query_of_a_name_fails() -> None:
    results = report(f"{READ}\n{READ}").to_json()["results"]
    assert [result["status"] for result in results] == ["ok", "error"]
    assert "T31" in results[1]["error"]


def test_each_kind_of_column_is_described_under_its_row_key() -> None:
    returned = (
        "$d, $d.key, $d.n as big, $d.f, $d.at, $d.l, $d.vec, $p, 1 as one, now(), $h.open, $h.grade, $h.built, $h.alt"
    )
    described = operation(f"match {{ $d: Doc $h: Hut }} return {{ {returned} }}", "$p: Bool?")["result"]
    assert described == [
        {"name": "d", "kind": "object", "nullable": False},
        {"name": "d.key", "kind": "string", "nullable": False},
        {"name": "big", "kind": "bigint", "nullable": True},
        {"name": "d.f", "kind": "float", "nullable": True},
        {"name": "d.at", "kind": "datetime", "nullable": True},
        {"name": "d.l", "kind": "list", "item_kind": "bigint", "nullable": True},
        {"name": "d.vec", "kind": "vector", "vector_dim": 3, "nullable": True},
        {"name": "p", "kind": "bool", "nullable": True},
        {"name": "one", "kind": "bigint", "nullable": False},
        {"name": "now", "kind": "datetime", "nullable": False},
        {"name": "h.open", "kind": "bool", "nullable": True},
        {"name": "h.grade", "kind": "string", "nullable": True},
        {"name": "h.built", "kind": "date", "nullable": True},
        {"name": "h.alt", "kind": "int", "nullable": True},
    ]


def test_every_aggregate_is_nullable_and_scores_are_not() -> None:
    described = operation("match { $h: Hut } return { count($h), sum($h.alt), min($h.name), max($h.alt) as m }")[
        "result"
    ]
    assert [(column["name"], column["kind"], column["nullable"]) for column in described] == [
        ("count", "bigint", True),
        ("sum", "float", True),
        ("min", "string", True),
        ("m", "int", True),
    ]
    scores = operation('match { $h: Hut } return { bm25($h.name, "a"), search($h.name, "a") }')["result"]
    assert [(column["kind"], column["nullable"]) for column in scores] == [("float", False), ("bool", False)]


def test_an_edge_insert_reads_both_endpoint_types_and_writes_the_edge() -> None:
    found = operation("insert Guards { from: $a, to: $b }", "$a: String, $b: String")
    assert found["reads"] == [
        {"kind": "node", "type_name": "Hut"},
        {"kind": "node", "type_name": "Warden"},
        {"kind": "edge", "type_name": "Guards"},
    ]
    assert found["writes"] == [{"kind": "edge", "type_name": "Guards"}]


def test_an_update_reads_and_writes_its_target_only() -> None:
    found = operation("update Path set { minutes: $n } where id = $i", "$n: I32, $i: String")
    assert found["reads"] == found["writes"] == [{"kind": "edge", "type_name": "Path"}]


def test_properties_count_as_set_when_any_update_sets_them() -> None:
    text = """
    query b($k: String) { update Doc set { n: 1, f: 2, at: now() } where key = $k }
    query a($k: String) { update Doc set { body: $k } where key = $k }
    """
    document = report(text).to_json()
    assert document["findings"] == [
        {
            "severity": "warning",
            "code": "L201",
            "message": "Doc.l exists in schema but no update query sets it",
            "type_name": "Doc",
            "property": "l",
            "query_names": ["a", "b"],
        }
    ]
    assert (document["status"], document["warnings"]) == ("ok", 1)


def test_an_update_in_a_failing_query_does_not_count() -> None:
    assert codes("query q($a: I32) { update Hut set { alt: $a } where nothing = 1 }") == []


def test_an_update_of_an_edge_asks_for_nothing() -> None:
    assert codes("query q($a: String) { update Guards set { since: null } where from = $a }") == []


@pytest.mark.parametrize(
    ("text", "code", "place", "message"),
    [
        pytest.param(
            "query q($a: I32) { match { $h: Hut } return { $h.code } }",
            "L203",
            "$a: I32",
            "query `q`: parameter $a is never used",
            id="unused-parameter",
        ),
        pytest.param(
            "query q() { match { $h: Hut $h path $x $w: Warden } return { $h.code } }",
            "L204",
            "$w: Warden",
            "query `q`: nothing connects $h, $x with $w; every combination is a row",
            id="cross-product",
        ),
        pytest.param(
            "query q() { match { $h: Hut } return { $h.name, count($h) } }",
            "L206",
            "count($h)",
            "query `q`: the aggregate column 'count' has no name of its own; add 'as …'",
            id="unnamed-aggregate",
        ),
    ],
)
def test_a_remark_is_an_info_and_changes_no_other_count(text: str, code: str, place: str, message: str) -> None:
    document = report(text).to_json()
    at = text.index(place)
    where = {"line": 1, "column": at + 1, "span": [at, at + len(place)]}
    assert document["findings"] == [
        {"severity": "info", "code": code, "message": message, **where, "query_names": ["q"]}
    ]
    assert [document[key] for key in ("status", "errors", "warnings", "infos")] == ["ok", 0, 0, 1]


@pytest.mark.parametrize(
    "match",
    [
        pytest.param("$h: Hut $w: Warden $h.name = $w.name", id="by-value"),
        pytest.param("$h: Hut $w: Warden $w guards $h", id="by-edge"),
        pytest.param("$h: Hut $h $e:path $x $w: Warden $e.minutes > $w.age", id="through-an-edge-variable"),
    ],
)
def test_connected_variables_are_no_cross_product(match: str) -> None:
    assert codes(f"query q() {{ match {{ {match} }} return {{ $h.code }} }}") == []


def test_ordering_a_large_type_without_a_limit_is_remarked_when_sizes_are_known() -> None:
    text = "query q() { match { $h: Hut } return { $h.code } order { $h.alt } }"
    assert codes(text) == []
    assert codes(text, large_types=["Hut"]) == ["L205"]
    assert codes(text.replace("} }", "} limit 5 }"), large_types=["Hut"]) == []


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("match { $h: Hut } return { $h.code } order { $h.alt desc, $h.code }", "L205", "$h.alt desc, $h.code"),
        ("match { $h: Hut $h path $x } return { $h.code, count($x) as n }", "L207", "$h path $x"),
        (
            "match { $h: Hut optional { $h.open $h <path> $x } } return { $h.code, count($x) as n }",
            "L207",
            "$h <path> $x",
        ),
        (
            "match { $h: Hut either { $w guards $h } or { $h path $_ } } return { count($h) as n }",
            "L207",
            "$w guards $h",
        ),
        ("match { $h: Hut } with { $h, count(*) as n } match { $w: Warden } return { $w }", "L204", "$w: Warden"),
        (
            "match { $h: Hut } return { $h.code as min } union match { $h: Hut } return { min($h.code) }",
            "L206",
            "min($h.code)",
        ),
        ("match { $h: Hut optional { $w: Warden } } return { $h, $w }", "L204", "optional { $w: Warden }"),
    ],
)
def test_a_remark_has_the_place_it_is_about(text: str, code: str, place: str) -> None:
    text = f"// places are those of the whole file: ä\nquery q() {{ {text} }}"
    found = report(text, large_types=["Hut"])
    places = [finding.place["span"] for finding in found.findings if finding.code == code]
    start = len(text[: text.index(place)].encode())
    assert places[0] == [start, start + len(place)]
    (line, *_) = (finding.excerpt for finding in found.findings if finding.code == code)
    assert line[0].startswith(" --> q.gq:2:")


def test_every_use_of_a_parameter_counts() -> None:
    used = """query q($a: I32, $b: String, $c: I64, $d: Vector(2)) {
      match { $h: Hut { alt: $a } not { $h.name = $b } } return { $h.code }
      order { nearest($h.vec, $d) } limit $c
    }"""
    assert codes(used) == []


def test_findings_are_sorted_by_severity_then_type_then_property() -> None:
    text = """
    query q($unused: I32, $k: String) { update Doc set { n: 1 } where key = $k update Warden set { name: $k } where badge = $k }
    """
    shown = [(finding.severity, finding.type_name, finding.property) for finding in report(text).findings]
    assert shown == [
        ("warning", "Doc", "at"),
        ("warning", "Doc", "body"),
        ("warning", "Doc", "f"),
        ("warning", "Doc", "l"),
        ("warning", "Warden", "age"),
        ("info", None, None),
    ]


@pytest.mark.parametrize(
    ("body", "types"),
    [
        ("match { $h: Hut $h path $x } return { $h.code, count($x) as n }", ["Path"]),
        ("match { $h: Hut $h path $_ } return { $h.code, count(*) as n }", ["Path"]),
        ("match { $h: Hut optional { $w guards $h } } return { $h.code, count($w) as n }", ["Guards"]),
        ("match { $h: Hut $h path $x $w guards $x } return { sum($x.alt) as s }", ["Guards", "Path"]),
        ("match { $h: Hut $h path|guards $x } return { avg($h.alt) as m }", ["Guards", "Path"]),
        ("match { $h: Hut $h $e:path $x } return { count($x) as n }", []),
        ("match { $h: Hut $h path $x } return { count(distinct $x) as n, max($x.alt) as m }", []),
        ("match { $h: Hut $h path{1,3} $x } return { count($x) as n }", []),
        ("match { $h: Hut not { $h path $x } } return { count($h) as n }", []),
        ("match { $h: Hut $h path $x } return { $x.code }", []),
        ("match { $h: Hut $h once $x } return { count($x) as n }", []),
        ("match { $h: Hut $h single $x } return { count($x) as n }", []),
    ],
)
def test_counting_over_pairs_that_may_be_parallel_is_a_warning(body: str, types: list[str]) -> None:
    schema = compile_schema(
        f"{SCHEMA} edge Once: Hut -> Hut {{ @unique(src, dst) }} edge Single: Hut -> Hut @card(0..1)"
    )
    found = lint(f"query q() {{ {body} }}", schema, query_path="q.gq", schema_source={})
    warned = [finding for finding in found.findings if finding.code == "L207"]
    assert [finding.type_name for finding in warned] == types
    assert found.warnings == len(types)
    assert all("@unique(src, dst)" in finding.message for finding in warned)


# --- the second group of extensions ----------------------------------------------------------


def test_blocks_unions_and_alternatives_are_read() -> None:
    found = operation("match { $h: Hut optional { $w guards $h } } return { $h.code, $w, $w.age, count(*) as n }")
    assert [read["type_name"] for read in found["reads"]] == ["Hut", "Warden", "Guards"]
    assert [(column["name"], column["nullable"]) for column in found["result"]] == [
        ("h.code", False),
        ("w", True),
        ("w.age", True),
        ("n", True),
    ]
    reads = operation("match { $x: Hut|Warden $x guards|path $y } return { $y }")["reads"]
    assert [(read["kind"], read["type_name"]) for read in reads] == [
        ("node", "Hut"),
        ("node", "Warden"),
        ("edge", "Guards"),
        ("edge", "Path"),
    ]


def test_columns_of_the_second_group_are_described() -> None:
    body = "match { $h: Hut shortest $p: $h path $x } return { $p.length, collect($h.alt) as alts, $p.nodes as way }"
    assert operation(body)["result"] == [
        {"name": "p.length", "kind": "bigint", "nullable": False},
        {"name": "alts", "kind": "list", "item_kind": "int", "nullable": True},
        {"name": "way", "kind": "list", "item_kind": "string", "nullable": False},
    ]


def test_a_driven_write_reads_its_match_and_writes_its_target() -> None:
    found = operation("match { $w: Warden $w guards $h } update $h set { alt: $w.age }")
    assert [read["type_name"] for read in found["reads"]] == ["Hut", "Warden", "Guards"]
    assert [write["type_name"] for write in found["writes"]] == ["Hut"]
    found = operation("match { $h: Hut } delete $h")
    assert [write["type_name"] for write in found["writes"]] == ["Hut", "Guards", "Path"]


def test_a_driven_update_counts_as_an_update_of_its_properties() -> None:
    text = "query q() { match { $w guards $h } update $w set { age: 1 } }"
    assert codes(text) == []
    assert "L203" in codes("query q($n: I32) { match { $w guards $h } update $w set { age: 1 } }")
    assert codes("query q($n: I32) { match { $w guards $h $h.alt > $n } update $w set { age: 1 } }") == []


def test_an_optional_block_that_shares_nothing_is_a_cross_product() -> None:
    assert "L204" in codes("query q() { match { $h: Hut optional { $w: Warden } } return { $h.code, $w.name } }")
    assert codes("query q() { match { $h: Hut optional { $w guards $h } } return { $h.code, $w.name } }") == []
