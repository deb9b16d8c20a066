"""What `cluster validate` accepts and refuses, and the digests it computes: cases 1 to 12."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_desk import CONFIG, FIND, Desk, case, codes, paths

from omnigraph.cluster.state.digests import graph_digest, provider_digest
from omnigraph.errors import BadRequest
from omnigraph.policy.external_blobs import allow_list, normalize_base


@case(1)
def test_a_sound_declaration_validates_with_digests_and_dependencies(desk: Desk, case: str) -> None:
    report = desk.validate()
    assert report["ok"]
    addresses = ["graph.knowledge", "policy.base", "query.knowledge.find_person", "schema.knowledge"]
    assert sorted(report["resource_digests"]) == addresses
    assert {"from": "policy.base", "to": "graph.knowledge"} in report["dependencies"]
    assert {"from": "query.knowledge.find_person", "to": "schema.knowledge"} in report["dependencies"]
    assert codes(report) == ["external_blob_ingress_default_deny"]
    assert not (desk.place / "__cluster").exists()


@case(2)
@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        (CONFIG + "wat: 1\n", "invalid_cluster_yaml", "wat"),
        (CONFIG + "ui: {}\n", "future_phase_field", "ui"),
        (CONFIG + "graphs: {}\n", "duplicate_yaml_key", "graphs"),
        (CONFIG.replace("schema: people.pg", "schema: 1"), "invalid_cluster_yaml", "graphs.knowledge.schema"),
        (CONFIG.replace("    queries", "    streaming: {}\n    queries"), "removed_streaming_declaration", None),
        ("version: 2\n", "unsupported_cluster_config_version", "version"),
        ("version: 1\nmetadata: {name: ' '}\n", "empty_metadata_name", "metadata.name"),
        ("version: 1\nstorage: ' '\n", "invalid_storage_root", "storage"),
        ("version: 1\nstorage: s3://\n", "invalid_storage_root", "storage"),
        ("version: 1\nstorage: ftp://x/y\n", "storage_root_invalid", "storage"),
        ("version: 1\ngraphs: {9lives: {schema: people.pg}}\n", "invalid_resource_id", "graphs.9lives"),
        ("version: 1\nstate: {lock: yes}\n", "invalid_cluster_yaml", "state.lock"),
        ("graphs: [", "invalid_cluster_yaml", "cluster.yaml"),
    ],
)
def test_a_document_of_the_wrong_shape_is_refused(
    desk: Desk, case: str, text: str, code: str, path: str | None
) -> None:
    desk.write("cluster.yaml", text)
    report = desk.validate()
    assert not report["ok"]
    assert codes(report, "error") == [code]
    assert path is None or paths(report, code) == [path]


def test_declared_pipelines_are_allowed(desk: Desk) -> None:
    desk.write("cluster.yaml", CONFIG + "pipelines: {}\n")
    assert desk.validate()["ok"]


def test_pipelines_are_part_of_the_plan(desk: Desk) -> None:
    desk.write("m.yaml", "sources: {p: {path: p.csv}}\nnodes: {Person: {from: p}}\n")
    desk.write("cluster.yaml", CONFIG + "pipelines: {nightly: {graph: knowledge, mapping: m.yaml}}\n")

    def changes() -> dict[str, str]:
        found = desk.plan()["changes"]
        return {each["resource"]: each["operation"] for each in found if each["resource"].startswith("pipeline.")}

    assert changes() == {"pipeline.nightly": "create"}
    desk.import_state()
    applied = desk.apply()
    assert applied["ok"], applied["diagnostics"]
    assert changes() == {}
    desk.write("m.yaml", "sources: {p: {path: q.csv}}\nnodes: {Person: {from: p}}\n")
    assert changes() == {"pipeline.nightly": "update"}
    desk.write("cluster.yaml", CONFIG)
    assert changes() == {"pipeline.nightly": "delete"}


def test_a_pipeline_for_an_undeclared_graph_is_refused(desk: Desk) -> None:
    desk.write("cluster.yaml", CONFIG + "pipelines: {nightly: {graph: missing, mapping: m.yaml}}\n")
    assert codes(desk.validate(), "error") == ["invalid_pipeline"]


def test_a_directory_without_a_declaration_says_so(tmp_path: Path) -> None:
    assert codes(Desk(tmp_path / "nowhere").validate()) == ["config_dir_not_found"]
    assert codes(Desk(tmp_path).validate()) == ["cluster_config_read_error"]


@case(3)
def test_every_missing_file_is_reported_in_one_run(desk: Desk, case: str) -> None:
    for name in ("people.pg", "find.gq", "base.yaml"):
        (desk.place / name).unlink()
    expected = ["policy_file_missing", "query_file_missing", "schema_file_missing"]
    assert sorted(codes(desk.validate(), "error")) == expected


@case(4)
def test_a_policy_can_be_bound_to_declared_graphs_only(desk: Desk, case: str) -> None:
    desk.write("cluster.yaml", CONFIG.replace("[knowledge]", "[query.knowledge.x, missing]"))
    assert codes(desk.validate(), "error") == ["wrong_kind_reference", "dangling_graph_reference"]


@case(5)
def test_one_scope_has_one_bundle_of_one_kind(desk: Desk, case: str) -> None:
    desk.write("cluster.yaml", CONFIG.replace("[knowledge]", "[cluster, knowledge]"))
    assert codes(desk.validate(), "error") == ["policy_mixed_binding_kinds"]
    desk.write("cluster.yaml", CONFIG + "  more: {file: base.yaml, applies_to: [graph.knowledge]}\n")
    report = desk.validate()
    assert paths(report, "duplicate_policy_binding") == ["policies.more.applies_to"]
    desk.write("cluster.yaml", CONFIG.replace("[knowledge]", "[]"))
    assert codes(desk.validate(), "error") == ["policy_missing_applies_to"]


_RULE = "version: 1\ngroups: {g: [a]}\nrules: [{id: r, allow: {actors: {group: g}, actions: [%s]%s}}]\n"


@case(6)
@pytest.mark.parametrize(
    ("policy", "scope", "names"),
    [
        (_RULE % ("graph_list", ""), "knowledge", "server-scoped"),
        (_RULE % ("read", ""), "cluster", "per-graph"),
        (_RULE % ("invoke_query", ", branch_scope: any"), "knowledge", "branch_scope"),
        (_RULE % ("read", ", branch_scpoe: any"), "knowledge", "branch_scpoe"),
        (_RULE % ("read", ", types: [Persn]"), "knowledge", "Persn"),
        (_RULE % ("read", ", mask: {Person: [shoe]}"), "knowledge", "Person.shoe"),
        (_RULE % ("read", ", mask: {Person: [name]}"), "knowledge", "the key of 'Person'"),
    ],
)
def test_a_bundle_that_cannot_be_enforced_is_refused(
    desk: Desk, case: str, policy: str, scope: str, names: str
) -> None:
    desk.write("base.yaml", policy)
    desk.write("cluster.yaml", CONFIG.replace("[knowledge]", f"[{scope}]"))
    report = desk.validate()
    assert paths(report, "policy_invalid") == ["policies.base.file"]
    assert names in report["diagnostics"][0]["message"]


_PROVIDER = "providers: {embedding: {default: {%s}}}\n"


@case(7)
@pytest.mark.parametrize(
    ("provider", "reference", "code"),
    [
        ("kind: openai, api_key: sk-123", "default", "embedding_api_key_inline"),
        ("kind: openai", "default", "embedding_api_key_required"),
        ("kind: telepathy, api_key: '${KEY}'", "default", "invalid_embedding_provider"),
        ("kind: mock", "absent", "dangling_embedding_provider_reference"),
        ("kind: mock", "provider.policy.x", "wrong_kind_reference"),
    ],
)
def test_providers_hold_no_secret_and_references_resolve(
    desk: Desk, case: str, provider: str, reference: str, code: str
) -> None:
    graph = CONFIG.replace("    queries", f"    embedding_provider: {reference}\n    queries")
    desk.write("cluster.yaml", graph + _PROVIDER % provider)
    assert codes(desk.validate(), "error") == [code]


_ALLOW = "    external_blobs: {allow: [%s]}\n"


@case(8)
@pytest.mark.parametrize(
    ("bases", "code"),
    [
        ("{base: 'file:///tmp', scope: server_safe}", "invalid_external_blob_base"),
        (
            "{base: 's3://b/a', scope: server_safe}, {base: 's3://b/a/c', scope: server_safe}",
            "invalid_external_blob_policy",
        ),
        (
            "{base: 's3://b/a', scope: server_safe}, {base: 'S3://B/a/', scope: embedded_only}",
            "invalid_external_blob_policy",
        ),
    ],
)
def test_blob_bases_are_safe_and_disjoint(desk: Desk, case: str, bases: str, code: str) -> None:
    desk.write("cluster.yaml", CONFIG.replace("    queries", _ALLOW % bases + "    queries"))
    assert codes(desk.validate(), "error") == [code]


@case(9)
def test_a_blob_base_has_one_spelling(case: str) -> None:
    assert normalize_base("S3://Assets-Bucket/knowledge", "server_safe").uri == "s3://assets-bucket/knowledge/"
    assert normalize_base("s3://b/a%62c/ü", "server_safe").uri == "s3://b/abc/%C3%BC/"
    assert normalize_base("file:///tmp", "embedded_only").uri == f"file://{Path('/tmp').resolve()}/"


@pytest.mark.parametrize(
    "base",
    [" s3://b/a", "s3://b/a\\c", "s3://u@b/a", "s3://b:80/a", "s3://b/a?x=1", "s3://b/a#x", "s3://b/../a",
     "s3://b/%2e%2e/a", "s3://b//a", "s3://b", "http://b/a", "s3://b/" + "a" * 70_000, "relative/path", "s3://b/a%2Fc"],
)  # fmt: skip
def test_a_blob_base_with_two_readings_is_refused(base: str) -> None:
    with pytest.raises(BadRequest):
        normalize_base(base, "server_safe")


@case(10)
def test_a_query_is_declared_under_its_name_and_fits_the_schema(desk: Desk, case: str) -> None:
    desk.write("cluster.yaml", CONFIG.replace("find_person:", "other:"))
    assert codes(desk.validate(), "error") == ["query_key_mismatch"]
    desk.declare().write("find.gq", FIND.replace("Person {", "Robot {"))
    assert codes(desk.validate(), "error") == ["query_typecheck_error"]
    desk.write("people.pg", "node Person { name: String @key  name: String }")
    assert codes(desk.validate()) == ["schema_catalog_error", "query_typecheck_skipped"]
    desk.write("people.pg", "node {")
    assert codes(desk.validate(), "error") == ["schema_parse_error"]
    desk.write("find.gq", "query {")
    assert codes(desk.validate(), "error") == ["schema_parse_error", "query_parse_error"]


@case(11)
@pytest.mark.parametrize("queries", ["gq", "[gq/a.gq, gq/b.gq]", "gq/both.gq"])
def test_every_declaration_in_the_files_is_registered(desk: Desk, case: str, queries: str) -> None:
    desk.write("cluster.yaml", CONFIG.replace("{find_person: {file: find.gq}}", queries))
    one, two = FIND, FIND.replace("find_person", "find_again")
    if queries.endswith("both.gq"):
        desk.write("gq/both.gq", one + two)
    else:
        desk.write("gq/a.gq", one)
        desk.write("gq/b.gq", two)
    report = desk.validate()
    assert report["ok"], report
    assert [a for a in report["resource_digests"] if a.startswith("query")] == [
        "query.knowledge.find_again",
        "query.knowledge.find_person",
    ]


@case(11)
def test_a_name_is_declared_once(desk: Desk, case: str) -> None:
    desk.write("cluster.yaml", CONFIG.replace("{find_person: {file: find.gq}}", "gq"))
    desk.write("gq/a.gq", FIND)
    desk.write("gq/b.gq", FIND)
    assert codes(desk.validate(), "error") == ["duplicate_query_name"]


def test_an_empty_directory_of_queries_is_only_worth_a_warning(desk: Desk) -> None:
    (desk.place / "gq").mkdir()
    desk.write("cluster.yaml", CONFIG.replace("{find_person: {file: find.gq}}", "gq"))
    report = desk.validate()
    assert report["ok"]
    assert "query_dir_empty" in codes(report, "warning")


@case(12)
def test_layout_and_comments_do_not_change_the_config_digest(desk: Desk, case: str) -> None:
    before = desk.plan()["desired_revision"]["config_digest"]
    desk.write(
        "cluster.yaml",
        "# a comment\npolicies:\n  base:\n    applies_to:\n    - knowledge\n    file: 'base.yaml'\nversion: 1\n"
        "graphs: {knowledge: {queries: {find_person: {file: find.gq}}, schema: people.pg}}\n",
    )
    assert desk.plan()["desired_revision"]["config_digest"] == before
    desk.write("cluster.yaml", CONFIG.replace("[knowledge]", "[graph.knowledge]"))
    assert desk.plan()["desired_revision"]["config_digest"] != before


def test_digests_are_those_of_the_ledgers_that_exist() -> None:
    schema, query = "ab" * 32, {"find_person": "cd" * 32}
    blobs = allow_list([normalize_base("s3://assets-bucket/knowledge/", "server_safe")])
    provider = ("provider.embedding.default", "ef" * 32)
    assert graph_digest("knowledge", "", {}) == "af305c236e92b5c7004823bd7fd40dcec6a7c56bb6c0697a45e12a840139bd4c"
    assert graph_digest("knowledge", schema, query) == (
        "c4d32419b798a19c41f6776807525a85ecbcca39abb15bd8aa34623586c2136c"
    )
    assert graph_digest("knowledge", schema, query, provider, blobs) == (
        "c24cd0ba55331ee2b37c34fdd82d2c34a24167dde77c7d31cf5012480b601c0e"
    )
    assert provider_digest({"kind": "mock", "model": "recorded-x"}) == (
        "9407ded8cec5d0bd317ddecc1613eb410eb5a792a35f8baea5afed3bb080e106"
    )


def test_a_graph_that_has_no_place_in_a_url_is_worth_a_warning(desk: Desk) -> None:
    desk.write("cluster.yaml", "version: 1\ngraphs: {my_graph: {schema: people.pg}, healthz: {schema: people.pg}}\n")
    report = desk.validate()
    assert report["ok"]
    assert paths(report, "graph_id_not_servable") == ["graphs.my_graph", "graphs.healthz"]
