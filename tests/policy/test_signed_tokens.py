"""Tokens of an identity provider: which are believed, and the many that are not."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from omnigraph.errors import StartRefused
from omnigraph.policy import oidc
from omnigraph.policy.oidc import ACTOR_CLAIM, AUDIENCE, GROUPS_CLAIM, ISSUER, JWKS, LEEWAY, TENANT_CLAIM
from omnigraph.policy.tokens import SINGLE, TokenTable, load_tokens

GOOD = {"iss": "https://id.example.org", "aud": "omnigraph", "sub": "act-ada", "org": "acme"}


@pytest.fixture(scope="module")
def keys() -> dict[str, Any]:
    made = {name: rsa.generate_private_key(public_exponent=65537, key_size=2048) for name in ("one", "two", "foreign")}
    return {**made, "curve": ec.generate_private_key(ec.SECP256R1())}


def key_set(keys: dict[str, Any], *names: str) -> str:
    documents = []
    for name in names:
        algorithm = ECAlgorithm if name == "curve" else RSAAlgorithm
        document = json.loads(algorithm.to_jwk(keys[name].public_key()))
        documents.append({**document, "kid": name, "use": "sig", "alg": "ES256" if name == "curve" else "RS256"})
    return json.dumps({"keys": documents})


def signed(keys: dict[str, Any], name: str = "one", *, kid: str | None = None, **changes: Any) -> str:
    claims = {**GOOD, "exp": int(time.time()) + 600, **changes}
    claims = {claim: value for claim, value in claims.items() if value is not None}
    return jwt.encode(claims, keys[name], "ES256" if name == "curve" else "RS256", headers={"kid": kid or name})


@pytest.fixture
def environ(keys: dict[str, Any], tmp_path: Path) -> dict[str, str]:
    (tmp_path / "jwks.json").write_text(key_set(keys, "one", "curve"))
    return {ISSUER: GOOD["iss"], AUDIENCE: "omnigraph", JWKS: str(tmp_path / "jwks.json"), LEEWAY: "5"}


def actor(table: TokenTable, token: str) -> str | None:
    found = table.verify(token)
    return None if found is None else found.actor_id


@pytest.mark.parametrize("name", ["one", "curve"])
def test_a_token_of_the_provider_names_its_actor(keys: dict[str, Any], environ: dict[str, str], name: str) -> None:
    table = load_tokens({**environ, TENANT_CLAIM: "org", SINGLE: "static"})
    found = table.verify(signed(keys, name))
    assert found is not None
    assert (found.actor_id, found.tenant_id, found.source) == ("act-ada", "acme", "oidc")
    assert actor(table, "static") == "default"
    assert len(table) == 2


def test_another_claim_may_name_the_actor(keys: dict[str, Any], environ: dict[str, str]) -> None:
    table = load_tokens({**environ, ACTOR_CLAIM: "email"})
    assert actor(table, signed(keys, email="ada@example.org")) == "ada@example.org"
    assert actor(table, signed(keys)) is None


@pytest.mark.parametrize(
    ("claim", "groups"),
    [
        pytest.param(["team", "admins"], {"team", "admins"}, id="a list"),
        pytest.param("team", {"team"}, id="one name"),
        pytest.param(["team", 7, None, ["admins"]], {"team"}, id="a list with other things"),
        pytest.param({"team": True}, set(), id="no list"),
        pytest.param(None, set(), id="nothing"),
    ],
)
def test_a_claim_may_name_groups(keys: dict[str, Any], environ: dict[str, str], claim: Any, groups: set[str]) -> None:
    found = load_tokens({**environ, GROUPS_CLAIM: "roles"}).verify(signed(keys, roles=claim))
    assert found is not None
    assert found.groups == groups
    unasked = load_tokens(environ).verify(signed(keys, roles=claim))
    assert unasked is not None
    assert unasked.groups == set()


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": 1},
        {"exp": None},
        {"iss": "https://evil.example.org"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"nbf": 9_999_999_999},
        {"sub": ""},
        {"sub": 7},
        {"sub": "omnigraph:recovery"},
    ],
)
def test_a_token_that_says_the_wrong_thing_is_refused(
    keys: dict[str, Any], environ: dict[str, str], changes: dict[str, Any]
) -> None:
    table = load_tokens(environ)
    assert actor(table, signed(keys)) == "act-ada"
    if not isinstance(changes.get("sub", ""), str):
        token = jwt.encode({**GOOD, "exp": int(time.time()) + 600}, keys["one"], "RS256", headers={"kid": "one"})
        head, _, tail = token.split(".")
        forged = base64.urlsafe_b64encode(json.dumps({**GOOD, **changes}).encode()).decode().rstrip("=")
        assert actor(table, f"{head}.{forged}.{tail}") is None
        return
    assert actor(table, signed(keys, **changes)) is None


def with_public_key_as_secret(keys: dict[str, Any], claims: dict[str, Any]) -> str:
    """A token that anybody can make, for a verifier that lets the token choose the algorithm."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public = keys["one"].public_key().public_bytes(serialization.Encoding.PEM, form)
    head = {"alg": "HS256", "typ": "JWT", "kid": "one"}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (head, claims)]
    mac = hmac.new(public, b".".join(parts), "sha256").digest()
    return b".".join([*parts, base64.urlsafe_b64encode(mac).rstrip(b"=")]).decode()


def test_a_token_is_believed_for_its_signature_only(keys: dict[str, Any], environ: dict[str, str]) -> None:
    table = load_tokens(environ)
    good = signed(keys)
    head, body, tail = good.split(".")
    claims = {**GOOD, "exp": int(time.time()) + 600}
    bad = [
        signed(keys, "foreign", kid="one"),
        signed(keys, "foreign"),
        jwt.encode(claims, None, "none", headers={"kid": "one"}),
        with_public_key_as_secret(keys, claims),
        f"{head}.{body}.",
        f"{head}.{body}.{tail[:-4]}AAAA",
        f"{head}.{body}",
        "..",
        "a.b.c",
        good + "." + tail,
        "x" * 20_000 + ".y.z",
    ]
    for token in bad:
        assert actor(table, token) is None
    assert actor(table, good) == "act-ada"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({AUDIENCE: ""}, AUDIENCE),
        ({ISSUER: " "}, ISSUER),
        ({JWKS: ""}, JWKS),
        ({JWKS: "/nowhere/jwks.json"}, "cannot be used"),
        ({JWKS: "http://id.example.org/jwks"}, "https"),
        ({LEEWAY: "soon"}, LEEWAY),
    ],
)
def test_half_a_configuration_does_not_start(environ: dict[str, str], changes: dict[str, str], why: str) -> None:
    with pytest.raises(StartRefused, match=why):
        load_tokens({**environ, **changes})


def test_a_set_without_a_usable_key_does_not_start(environ: dict[str, str]) -> None:
    Path(environ[JWKS]).write_text(json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "s", "alg": "HS256"}]}))
    with pytest.raises(StartRefused, match="no key"):
        load_tokens(environ)


@pytest.fixture
def provider(keys: dict[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """A key set behind a URL; what it serves can be changed."""
    served = {"text": key_set(keys, "one")}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(served["text"].encode())

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/jwks", served
        server.shutdown()
        thread.join()


def test_rotated_keys_are_fetched_again(
    keys: dict[str, Any],
    environ: dict[str, str],
    provider: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, served = provider
    table = load_tokens({**environ, JWKS: url})
    assert actor(table, signed(keys)) == "act-ada"
    served["text"] = key_set(keys, "two")
    assert actor(table, signed(keys, "two")) is None, "not more often than once a minute"
    monkeypatch.setattr(oidc, "_REFRESH_SECONDS", 0.0)
    assert actor(table, signed(keys, "two")) is None, "nobody waits for the provider"
    for thread in threading.enumerate():
        if thread.name == "oidc-keys":
            thread.join()
    assert actor(table, signed(keys, "two")) == "act-ada"
    assert actor(table, signed(keys, "one")) is None
    served["text"] = "nonsense"
    assert table.oidc is not None
    table.oidc.refresh()
    assert actor(table, signed(keys, "two")) == "act-ada", "the last good keys stay"
