"""Token tables out of AWS Secrets Manager, asked for over HTTP from a service that checks every signature."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import StartRefused
from omnigraph.policy.aws.secret import SECRET
from omnigraph.policy.aws.wire import Credentials, signed
from omnigraph.policy.tokens import SINGLE, load_tokens, reload_tokens

KEYS = {"AKIDPLAIN": "plain-secret", "ASIATEMP": "temporary-secret"}
SESSION = "session-token"
HIDDEN = (*KEYS.values(), SESSION, "sec-")


@dataclass
class Amazon:
    """What the service holds, and what it was asked."""

    port: int = 0
    secrets: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def environ(self, **more: str) -> dict[str, str]:
        """The environment of a machine that is in no cloud but this one."""
        here = f"http://127.0.0.1:{self.port}"
        return {
            SECRET: "tokens",
            "AWS_REGION": "eu-north-1",
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": here,
            "AWS_ENDPOINT_URL_STS": here,
            "AWS_EC2_METADATA_DISABLED": "true",
            "HOME": "/nonexistent",
            **more,
        }

    def keyed(self, **more: str) -> dict[str, str]:
        keys = {"AWS_ACCESS_KEY_ID": "AKIDPLAIN", "AWS_SECRET_ACCESS_KEY": KEYS["AKIDPLAIN"]}
        return self.environ(**{**keys, **more})


@pytest.fixture
def amazon(service: Amazon) -> Amazon:
    service.secrets = {"tokens": {"SecretString": '{"ada": "sec-a"}'}}
    service.asked.clear()
    return service


@pytest.fixture(scope="module")
def service() -> Iterator[Amazon]:
    cloud = Amazon()

    class Service(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

        def answer(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_PUT(self) -> None:
            cloud.asked.append(self.path)
            self.answer(200, "imds-token")

        def do_GET(self) -> None:
            cloud.asked.append(self.path)
            temporary = {"AccessKeyId": "ASIATEMP", "SecretAccessKey": KEYS["ASIATEMP"], "Token": SESSION}
            roles = "/latest/meta-data/iam/security-credentials/"
            wanted = {"/container": ("Authorization", "container-token")}
            name, value = wanted.get(self.path, ("X-aws-ec2-metadata-token", "imds-token"))
            if self.headers[name] != value or self.path not in (roles, f"{roles}server-role", "/container"):
                self.answer(403, "{}")
            else:
                self.answer(200, "server-role\n" if self.path == roles else json.dumps(temporary))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if b"AssumeRoleWithWebIdentity" in body:
                cloud.asked.append("sts")
                ns = "https://sts.amazonaws.com/doc/2011-06-15/"
                inner = (
                    f"<AccessKeyId>ASIATEMP</AccessKeyId><SecretAccessKey>{KEYS['ASIATEMP']}</SecretAccessKey>"
                    f"<SessionToken>{SESSION}</SessionToken>"
                )
                good = b"WebIdentityToken=web-token" in body
                self.answer(200 if good else 403, f'<R xmlns="{ns}"><Credentials>{inner}</Credentials></R>')
                return
            cloud.asked.append("secret")
            assert self.headers["X-Amz-Target"] == "secretsmanager.GetSecretValue"
            assert self.headers["Content-Type"] == "application/x-amz-json-1.1"
            if not is_signed(self.headers, body):
                # As the real one does: with everything that was signed.
                quoted = f"should have been {self.headers['X-Amz-Security-Token']}"
                self.answer(400, json.dumps({"__type": "InvalidSignatureException", "message": quoted}))
                return
            found = cloud.secrets.get(json.loads(body)["SecretId"])
            if found is None:
                self.answer(400, json.dumps({"__type": "com.amazonaws#ResourceNotFoundException", "Message": "sec-"}))
            elif isinstance(found, int):
                self.answer(found, json.dumps({"__type": "AccessDeniedException", "Message": "sec-"}))
            else:
                self.answer(200, found if isinstance(found, str) else json.dumps(found))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    cloud.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield cloud
    server.shutdown()
    server.server_close()
    thread.join()


def is_signed(headers: Mapping[str, str], body: bytes) -> bool:
    """Signature version 4, computed once more from what arrived."""
    scheme, _, proof = headers["Authorization"].partition(" ")
    parts = dict(part.strip().split("=", 1) for part in proof.split(","))
    key_id, day, region, service, end = parts["Credential"].split("/")
    names = parts["SignedHeaders"].split(";")
    assert {"host", "x-amz-date", "x-amz-target", "content-type"} <= set(names)
    assert ("x-amz-security-token" in names) == (key_id == "ASIATEMP")
    if key_id == "ASIATEMP" and headers["X-Amz-Security-Token"] != SESSION:
        return False
    lines = "".join(f"{name}:{headers[name]}\n" for name in names)
    request = f"POST\n/\n\n{lines}\n{';'.join(names)}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{day}/{region}/{service}/{end}"
    text = f"{scheme}\n{headers['X-Amz-Date']}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = b"AWS4" + KEYS.get(key_id, "").encode()
    for part in (day, region, service, end):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), parts["Signature"])


def test_the_signature_is_the_one_of_a_published_example() -> None:
    """AWS's test vector `post-vanilla`."""
    who = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    at = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
    sent = signed(who, "https://example.amazonaws.com/", {}, b"", service="service", region="us-east-1", at=at)
    assert sent["authorization"].endswith("5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b")
    assert "wJalr" not in repr(who)


def test_a_table_out_of_a_secret_is_read_and_read_again(amazon: Amazon) -> None:
    environ = amazon.keyed(**{SINGLE: "ignored"})
    table = load_tokens(environ)
    assert table.source == "aws-secrets-manager"
    assert table.verify("sec-a").actor_id == "ada"  # type: ignore[union-attr]
    assert table.verify("ignored") is None, "the secret excludes the other sources"
    assert reload_tokens(environ, table) is None
    amazon.secrets["tokens"] = {"SecretString": '{"ada": ["sec-b", "sec-a"]}'}
    both = reload_tokens(environ, table)
    assert both is not None
    assert [both.verify(token).actor_id for token in ("sec-a", "sec-b")] == ["ada", "ada"]  # type: ignore[union-attr]


@pytest.mark.parametrize("place", ["session", "profile", "config", "container", "web identity", "instance"])
def test_credentials_are_found_where_aws_tools_find_them(amazon: Amazon, place: str, tmp_path: Path) -> None:
    here = f"http://127.0.0.1:{amazon.port}"
    profile = f"[ops]\naws_access_key_id = AKIDPLAIN\naws_secret_access_key = {KEYS['AKIDPLAIN']}\n"
    (tmp_path / "credentials").write_text(profile)
    (tmp_path / "config").write_text(profile.replace("[ops]", "[profile ops]\nregion = eu-west-1"))
    (tmp_path / "token").write_text("web-token\n")
    given = {
        "session": {
            "AWS_ACCESS_KEY_ID": "ASIATEMP",
            "AWS_SECRET_ACCESS_KEY": KEYS["ASIATEMP"],
            "AWS_SESSION_TOKEN": SESSION,
        },
        "profile": {"AWS_PROFILE": "ops", "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials")},
        "config": {"AWS_PROFILE": "ops", "AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_REGION": ""},
        "container": {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{here}/container",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-token",
        },
        "web identity": {"AWS_ROLE_ARN": "arn:x", "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token")},
        "instance": {"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": here},
    }
    assert load_tokens(amazon.environ(**given[place])).actors == ("ada",)
    assert amazon.asked[-1] == "secret"


def test_the_region_of_an_arn_comes_first(amazon: Amazon) -> None:
    name = "arn:aws:secretsmanager:eu-west-3:123456789012:secret:tokens-a1b2c3"
    amazon.secrets[name] = {"SecretString": '{"eve": "sec-e"}'}
    assert load_tokens(amazon.keyed(**{SECRET: name, "AWS_REGION": ""})).actors == ("eve",)


@pytest.mark.parametrize(
    ("secret", "environ", "said"),
    [
        pytest.param("tokens", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "no AWS credentials", id="none"),
        pytest.param("tokens", {"AWS_SECRET_ACCESS_KEY": ""}, "must be set together", id="half"),
        pytest.param("tokens", {"AWS_ACCESS_KEY_ID": "AKIDWRONG"}, "InvalidSignatureException", id="wrong key"),
        pytest.param(
            "tokens", {"AWS_SESSION_TOKEN": "expired-sec-"}, "cannot be read: .*InvalidSignatureException", id="expired"
        ),
        pytest.param("denied", {}, r"AccessDeniedException \(status 403\)", id="403"),
        pytest.param("missing", {}, "'missing' cannot be read: ResourceNotFoundException", id="missing"),
        pytest.param("binary", {}, "holds no text", id="binary"),
        pytest.param("broken", {}, "not valid JSON", id="no table"),
        pytest.param("array", {}, "expected a JSON object", id="no object"),
        pytest.param("garbled", {}, "did not answer a JSON object", id="no answer"),
        pytest.param("down", {}, "status 503", id="server down"),
        pytest.param(
            "tokens", {"AWS_ENDPOINT_URL_SECRETS_MANAGER": "http://127.0.0.1:1"}, "cannot be reached", id="off"
        ),
        pytest.param("tokens", {"AWS_REGION": " "}, "no AWS region", id="no region"),
    ],
)
def test_what_is_in_the_way_is_said_and_nothing_else(
    amazon: Amazon, secret: str, environ: dict[str, str], said: str
) -> None:
    amazon.secrets |= {
        "denied": 403,
        "binary": {"SecretBinary": "sec-"},
        "broken": {"SecretString": '{"ada": "sec-a"'},
        "array": {"SecretString": '["sec-a"]'},
        "garbled": "sec-garbled",
        "down": 503,
    }
    given = amazon.keyed(**{SECRET: secret, SINGLE: "t", **environ})
    if "AWS_SESSION_TOKEN" in environ:
        given |= {"AWS_ACCESS_KEY_ID": "ASIATEMP", "AWS_SECRET_ACCESS_KEY": KEYS["ASIATEMP"]}
    with pytest.raises(StartRefused, match=said) as refused:
        load_tokens(given)
    assert not any(hidden in refused.value.message for hidden in HIDDEN)


def test_credentials_are_not_sent_to_strangers(amazon: Amazon) -> None:
    elsewhere = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.com/x", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t"}
    with pytest.raises(StartRefused, match="must be https"):
        load_tokens(amazon.environ(**elsewhere))
    assert amazon.asked == []
