"""Which URIs an allow list covers, and how they are spelled afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.errors import BadRequest
from omnigraph.policy.external_blobs import MAX_URI_BYTES, policy_of, without_credentials

POLICY = policy_of(["s3://Bucket/docs/2024", "s3://other/a%20b"])


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("s3://bucket/docs/2024/a.pdf", "s3://bucket/docs/2024/a.pdf"),
        ("S3://BUCKET/docs/2024/deep/er/a+b (1).pdf", "s3://bucket/docs/2024/deep/er/a+b%20(1).pdf"),
        ("s3://bucket/d%6Fcs/2024/%C3%BC", "s3://bucket/docs/2024/%C3%BC"),
        ("s3://other/a b/x", "s3://other/a%20b/x"),
    ],
)
def test_a_uri_below_a_base_has_one_spelling(given: str, stored: str) -> None:
    assert POLICY is not None
    assert POLICY.reference(given) == stored
    assert POLICY.reference(stored) == stored


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("s3://bucket/docs/2024", "no allowed base covers it"),
        ("s3://bucket/docs/20245/a", "no allowed base covers it"),
        ("s3://bucket/Docs/2024/a", "no allowed base covers it"),
        ("file:///docs/2024/a", "no allowed base covers it"),
        ("s3://bucket/docs/2024/", "it holds an empty segment"),
        ("s3://bucket/docs/2024//a", "it holds an empty segment"),
        ("s3://bucket/docs/2024/../../secret", "it holds an empty segment"),
        ("s3://bucket/docs/2024/%2e%2e/%2E%2e/secret", "it holds an empty segment"),
        ("s3://bucket/docs/2024/..%2f..%2fsecret", "it holds an empty segment"),
        ("s3://bucket/docs/2024/a%00", "it holds a NUL"),
        ("s3://bucket/docs/2024/a\nb", "a character that no URI can have"),
        ("s3://bucket/docs/2024/\ud800", "a character that no URI can have"),
        ("s3://bucket/docs/2024\\a", "it holds a backslash"),
        ("s3://bucket/docs/2024/a?versionId=1", "it holds a query"),
        ("s3://bucket/docs/2024/a#x", "it holds a fragment"),
        (" s3://bucket/docs/2024/a", "it has white space around it"),
        ("s3://key:secret@bucket/docs/2024/a", "it holds user information or a port"),
        ("s3://bucket:9000/docs/2024/a", "it holds user information or a port"),
        ("https://bucket/docs/2024/a", "neither an s3:// nor a file:/// URI"),
        ("s3:///docs/2024/a", "neither an s3:// nor a file:/// URI"),
        ("docs/2024/a", "neither an s3:// nor a file:/// URI"),
        ("s3://[bucket/docs/2024/a", "it is not a URI"),
        ("", "neither an s3:// nor a file:/// URI"),
    ],
)
def test_everything_else_is_refused_without_repeating_it(given: str, reason: str) -> None:
    assert POLICY is not None
    with pytest.raises(BadRequest) as caught:
        POLICY.reference(given)
    assert reason in caught.value.message
    assert "secret" not in caught.value.message


def test_a_link_does_not_lead_out_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "open" / "inside").write_bytes(b"x")
    (tmp_path / "open" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "way").symlink_to(tmp_path / "open")
    policy = policy_of([(tmp_path / "way").as_uri()])
    assert policy is not None
    inside = (tmp_path / "open" / "inside").as_uri()
    assert policy.reference(inside) == policy.reference((tmp_path / "way" / "inside").as_uri()) == inside
    with pytest.raises(BadRequest, match="no allowed base covers it"):
        policy.reference((tmp_path / "way" / "out").as_uri())


def test_bases_are_checked_and_none_means_none(tmp_path: Path) -> None:
    assert policy_of([]) is None
    for wrong in (
        ["s3://bucket"],
        ["s3://[b/x"],
        ["https://x/y"],
        [(tmp_path / "absent").as_uri()],
        ["s3://b/x", "s3://b/x/y"],
    ):
        with pytest.raises(BadRequest):
            policy_of(wrong)
    with pytest.raises(BadRequest, match="list of bases"):
        policy_of("s3://bucket/docs")


def test_what_is_shown_holds_no_credentials() -> None:
    shown = without_credentials("s3://key:secret@bucket/a@b?X-Amz-Signature=1#f")
    assert shown == "s3://bucket/a@b"
    assert without_credentials("just text") == "just text"
    assert MAX_URI_BYTES == 65_536
