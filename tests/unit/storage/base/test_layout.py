"""Roots, addresses and names: one spelling per graph, and refusals that say what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.errors import BadRequest
from omnigraph.ids import fnv1a64
from omnigraph.storage.base.layout import normalize_branch, normalize_root, ref_file, split_key, table_location


@pytest.mark.parametrize(
    ("name", "digits"),
    [
        ("Person", "40d76f1f51639ec0"),
        ("Company", "7cb4e55c59663b1c"),
        ("Knows", "602a25a3bd0b455b"),
        ("WorksAt", "844eefbe5068b644"),
    ],
)
def test_directory_names_hash_the_type_name_only(name: str, digits: str) -> None:
    assert f"{fnv1a64(name):016x}" == digits
    assert table_location(f"node:{name}") == f"nodes/{digits}"
    assert table_location(f"edge:{name}") == f"edges/{digits}"


def test_a_taken_directory_gets_the_incarnation_as_suffix() -> None:
    home = table_location("node:Person")
    assert table_location("node:Person", taken={home: "node:Human"}, incarnation=255) == f"{home}-00000000000000ff"
    assert table_location("node:Person", taken={home: "node:Person"}, incarnation=255) == home


@pytest.mark.parametrize("spelling", ["g", "./g", "g/", "x/../g", "file://{cwd}/g", "{cwd}//g", " {cwd}/g "])
def test_local_spellings_converge(spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    root = normalize_root(spelling.replace("{cwd}", str(tmp_path)))
    assert root.uri == str(tmp_path / "g")
    assert root.is_local
    assert root.storage_options is None


def test_a_file_url_is_decoded_and_a_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert normalize_root("file:///a%20b/c").uri == "/a b/c"
    assert normalize_root("~/g").uri == str(tmp_path / "g")


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("https://host/g", "server address"),
        ("HTTP://host/g", "server address"),
        ("ftp://b/g", "unsupported storage scheme 'ftp'"),
        ("file://host/g", "must not name a host"),
        ("s3://", "names no bucket"),
        ("s3://b/../c", "cannot contain"),
    ],
)
def test_unusable_roots_are_refused_with_advice(uri: str, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        normalize_root(uri)


def test_s3_settings_come_from_the_environment_only_when_given() -> None:
    assert normalize_root("s3://b/p/", env={}).storage_options is None
    assert normalize_root("s3://b", env={"AWS_ALLOW_HTTP": "false", "AWS_REGION": ""}).storage_options is None
    plain = normalize_root("s3://b/p", env={"AWS_ENDPOINT_URL": "https://e"})
    assert plain.storage_options == {"aws_endpoint": "https://e", "aws_virtual_hosted_style_request": "false"}
    assert plain.canonical == "s3://b/p"


def test_azure_and_google_settings_come_from_the_environment() -> None:
    azure = {"AZURE_STORAGE_ACCOUNT": "second", "AZURE_STORAGE_ACCOUNT_NAME": "first", "AZURE_STORAGE_KEY": "key"}
    root = normalize_root("az://box//a/b/", env=azure)
    assert (root.uri, root.scheme, root.container, root.prefix) == ("az://box/a/b", "az", "box", "a/b")
    assert root.storage_options == {"azure_storage_account_name": "first", "azure_storage_account_key": "key"}
    google = normalize_root("gs://bucket", env={"GOOGLE_SERVICE_ACCOUNT": "/keys/a.json", "AZURE_CLIENT_ID": "x"})
    assert (google.uri, google.prefix, google.is_local) == ("gs://bucket", "", False)
    assert google.storage_options == {"google_service_account": "/keys/a.json"}


@pytest.mark.parametrize(
    ("uri", "endpoint", "switch"),
    [
        ("s3://b/p", "AWS_ENDPOINT_URL_S3", "AWS_ALLOW_HTTP"),
        ("s3://b/p", "AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP"),
        ("az://b/p", "AZURE_STORAGE_ENDPOINT", "AZURE_ALLOW_HTTP"),
        ("gs://b/p", "GOOGLE_BASE_URL", "GOOGLE_ALLOW_HTTP"),
    ],
)
def test_a_server_without_tls_needs_the_switch_that_the_error_names(uri: str, endpoint: str, switch: str) -> None:
    for spelled in ("http://e:1", "HTTP://e:1"):
        with pytest.raises(BadRequest, match=rf"^{endpoint} names a server without TLS.*set {switch}=true"):
            normalize_root(uri, env={endpoint: spelled, switch: "false"})
        allowed = normalize_root(uri, env={endpoint: spelled, switch: "true"}).storage_options or {}
        assert allowed["allow_http"] == "true"
        assert spelled in allowed.values()
    assert normalize_root(uri, env={endpoint: "https://e:1"}).storage_options is not None


def test_addresses_name_the_lineage_of_a_ref(tmp_path: Path) -> None:
    root = normalize_root(tmp_path)
    table = root.table("nodes/x", "review/a")
    assert table.uri == f"{tmp_path}/nodes/x/tree/review/a"
    assert table.trunk.uri == f"{tmp_path}/nodes/x"
    assert table.on(None) == table.trunk
    assert root.manifest("b").uri == f"{tmp_path}/__manifest/tree/b"
    assert ref_file("review/a") == "_refs/branches/review%2Fa.json"


def test_main_is_no_branch_name() -> None:
    assert normalize_branch("main") is None
    assert normalize_branch(" main ") is None
    assert normalize_branch(None) is None
    assert normalize_branch(" x ") == "x"
    with pytest.raises(BadRequest):
        normalize_branch(" ")


@pytest.mark.parametrize("key", ["Person", "node:", "graph:Person", ":Person"])
def test_what_is_no_table_key_is_refused(key: str) -> None:
    with pytest.raises(BadRequest):
        split_key(key)
