"""Token tables out of AWS Secrets Manager, asked for over HTTP from a service that checks every signature."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aws_service import KEYS, SESSION, Amazon, amazon_service
from omnigraph.errors import StartRefused
from omnigraph.policy.aws.secret import SECRET
from omnigraph.policy.aws.wire import Credentials, signed
from omnigraph.policy.tokens import SINGLE, load_tokens, reload_tokens

HIDDEN = (*KEYS.values(), SESSION, "sec-")


@pytest.fixture(scope="module")
def service() -> Iterator[Amazon]:
    with amazon_service() as found:
        yield found


@pytest.fixture
def amazon(service: Amazon) -> Amazon:
    service.secrets = {"tokens": {"SecretString": '{"ada": "sec-a"}'}}
    service.asked.clear()
    return service


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
        pytest.param("binary", {}, "contains no text", id="binary"),
        pytest.param("broken", {}, "not valid JSON", id="no table"),
        pytest.param("array", {}, "expected a JSON object", id="no object"),
        pytest.param("garbled", {}, "did not answer a JSON object", id="no answer"),
        pytest.param("down", {}, "status 503", id="server down"),
        pytest.param(
            "tokens", {"AWS_ENDPOINT_URL_SECRETS_MANAGER": "http://127.0.0.1:1"}, "cannot be reached", id="off"
        ),
        pytest.param("tokens", {"AWS_ENDPOINT_URL_SECRETS_MANAGER": "http://[x"}, "is not an address", id="no address"),
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
