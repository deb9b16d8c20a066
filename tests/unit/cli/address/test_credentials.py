"""Which token goes where, and how the file is kept."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from omnigraph.cli.address.credentials import forget_token, store_token, token_for, token_source
from omnigraph.errors import BadRequest

SERVERS = {"prod": "http://h:8080/", "team": "http://h:8080/team", "other-one": "https://o"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in SERVERS:
        store_token(tmp_path, name, f"t-{name}")
    return tmp_path


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h:8080", "t-prod"),
        ("http://h:8080/graphs/k", "t-prod"),
        ("http://h:8080/team/graphs/k", "t-team"),
        ("http://h:8080/teams", "t-prod"),
        ("http://h:8080-evil", None),
        ("http://h:80800/x", None),
        ("https://o/graphs/k", "t-other-one"),
    ],
)
def test_a_token_is_never_sent_to_another_url(home: Path, url: str, expected: str | None) -> None:
    assert token_for(url, SERVERS, home, {}) == expected


def test_the_environment_comes_first_for_its_server_and_last_for_all(home: Path) -> None:
    env = {"OMNIGRAPH_TOKEN_OTHER_ONE": " keyed ", "OMNIGRAPH_BEARER_TOKEN": "any", "OMNIGRAPH_TOKEN_PROD": " "}
    assert token_for("https://o", SERVERS, home, env) == "keyed"
    assert token_for("http://h:8080", SERVERS, home, env) == "t-prod"
    assert token_for("http://elsewhere", SERVERS, home, env) == "any"
    assert token_source("other-one", home, env) == "OMNIGRAPH_TOKEN_OTHER_ONE"
    assert token_source("unknown", home, env) == "OMNIGRAPH_BEARER_TOKEN"
    assert token_source("unknown", home, {}) is None


def test_other_sections_are_kept_verbatim(tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    path.write_text("# mine\n[a]\n  token = 'quoted'\nnote = x\n\n[b]\ntoken =\n")
    path.chmod(0o600)
    store_token(tmp_path, "b", "new")
    assert path.read_text() == "# mine\n[a]\n  token = 'quoted'\nnote = x\n\n[b]\ntoken = new\n"
    assert token_for("http://a", {"a": "http://a"}, tmp_path, {}) == "quoted"
    forget_token(tmp_path, "a")
    assert path.read_text() == "# mine\n[b]\ntoken = new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["credentials"]


def test_a_file_that_others_can_read_is_refused(home: Path) -> None:
    (home / "credentials").chmod(0o640)
    for use in (
        lambda: token_for("https://o", SERVERS, home, {}),
        lambda: store_token(home, "x", "y"),
        lambda: forget_token(home, "prod"),
    ):
        with pytest.raises(BadRequest, match="chmod 600"):
            use()
