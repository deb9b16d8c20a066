"""The names that a server without tokens answers to."""

from __future__ import annotations

import pytest

from omnigraph.server.http.hosts import is_own
from omnigraph.server.settings import settings_from

OWN = [
    "localhost",
    "LOCALHOST:8080",
    "localhost.",
    "a.localhost:1",
    "127.0.0.1:8080",
    "127.9.9.9",
    "[::1]:8080",
    "[::1]",
]
OWN += ["10.1.2.3:80", "graphs.example:8080", "Other.Example", "box.internal:99", None]
FOREIGN = [
    "",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example:80",
    "notlocalhost",
    "[evil.example]:80",
]


@pytest.mark.parametrize("header", OWN)
def test_a_server_knows_its_own_names(header: str | None) -> None:
    environ = {"OMNIGRAPH_ALLOWED_HOSTS": " graphs.example, other.example:8080,"}
    assert is_own(header, settings_from(environ, "box.internal").allowed_hosts)


@pytest.mark.parametrize("header", FOREIGN)
@pytest.mark.parametrize("bind", ["127.0.0.1", "::1", "0.0.0.0", ""])
def test_and_no_others_unless_any_is_allowed(header: str, bind: str) -> None:
    assert not is_own(header, settings_from({}, bind).allowed_hosts)
    assert is_own(header, settings_from({"OMNIGRAPH_ALLOWED_HOSTS": "*"}, bind).allowed_hosts)
