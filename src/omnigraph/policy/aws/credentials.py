"""Where AWS credentials come from, in the order in which every AWS tool looks for them.

Environment, web identity (Kubernetes), profile, container (ECS, EKS), instance (EC2). A place that is configured and
fails is an error: going on to the next one would answer as somebody else.
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree

from omnigraph.policy.aws.wire import Credentials, NotAnswered, ask, ask_json

_CONTAINER = "http://169.254.170.2"
_INSTANCE = "http://169.254.169.254"
# Where a token for container credentials may be sent without TLS: this machine, ECS, EKS.
_CONTAINER_HOSTS = frozenset({"127.0.0.1", "::1", "localhost", "169.254.170.2", "169.254.170.23", "fd00:ec2::23"})
_TTL = {"X-aws-ec2-metadata-token-ttl-seconds": "300"}
_INSTANCE_SECONDS = 1.0


def find_credentials(environ: Mapping[str, str], region: str) -> Credentials:
    """The credentials of this process; NotAnswered says which place failed, or that there is none."""
    for place in (_from_environment, _from_web_identity, _from_profile, _from_container, _from_instance):
        found = place(environ, region)
        if found is not None:
            return found
    raise NotAnswered(
        "no AWS credentials were found in the environment, a web identity, a profile, the container or the instance"
    )


def profile_setting(environ: Mapping[str, str], name: str) -> str | None:
    """A setting of the chosen profile, from the credentials file or the config file."""
    profile = environ.get("AWS_PROFILE", "").strip() or "default"
    home = Path(environ.get("HOME", "~")).expanduser() / ".aws"
    credentials = environ.get("AWS_SHARED_CREDENTIALS_FILE", "").strip() or home / "credentials"
    config = environ.get("AWS_CONFIG_FILE", "").strip() or home / "config"
    named = profile if profile == "default" else f"profile {profile}"
    return _ini(Path(credentials), profile, name) or _ini(Path(config), named, name)


def _from_environment(environ: Mapping[str, str], _: str) -> Credentials | None:
    key, secret = environ.get("AWS_ACCESS_KEY_ID", "").strip(), environ.get("AWS_SECRET_ACCESS_KEY", "").strip()
    if not key and not secret:
        return None
    if not key or not secret:
        raise NotAnswered("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together")
    return Credentials(key, secret, environ.get("AWS_SESSION_TOKEN", "").strip() or None)


def _from_web_identity(environ: Mapping[str, str], region: str) -> Credentials | None:
    role, file = environ.get("AWS_ROLE_ARN", "").strip(), environ.get("AWS_WEB_IDENTITY_TOKEN_FILE", "").strip()
    if not role or not file:
        return None
    asked = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": role,
        "RoleSessionName": environ.get("AWS_ROLE_SESSION_NAME", "").strip() or "omnigraph-server",
        "WebIdentityToken": _text(file, "AWS_WEB_IDENTITY_TOKEN_FILE"),
    }
    url = environ.get("AWS_ENDPOINT_URL_STS", "").strip() or f"https://sts.{region}.{domain(region)}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = ask("POST", f"{url.rstrip('/')}/", form, urlencode(asked).encode())
    try:
        fields = {
            each.tag.rpartition("}")[2]: (each.text or "").strip() for each in ElementTree.fromstring(answer).iter()
        }
    except ElementTree.ParseError:
        fields = {}
    return _credentials(fields, "the web identity", session="SessionToken")


def _from_profile(environ: Mapping[str, str], _: str) -> Credentials | None:
    key = profile_setting(environ, "aws_access_key_id")
    secret = profile_setting(environ, "aws_secret_access_key")
    if key is None or secret is None:
        if environ.get("AWS_PROFILE", "").strip():
            raise NotAnswered("AWS_PROFILE names a profile without aws_access_key_id and aws_secret_access_key")
        return None
    return Credentials(key, secret, profile_setting(environ, "aws_session_token"))


def _from_container(environ: Mapping[str, str], _: str) -> Credentials | None:
    relative = environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "").strip()
    url = f"{_CONTAINER}{relative}" if relative else environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", "").strip()
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _CONTAINER_HOSTS):
        raise NotAnswered("AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or an address of this machine")
    file = environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "").strip()
    token = environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "").strip()
    token = _text(file, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") if file else token
    return _credentials(ask_json("GET", url, {"Authorization": token} if token else {}, local=True), "the container")


def _from_instance(environ: Mapping[str, str], _: str) -> Credentials | None:
    if environ.get("AWS_EC2_METADATA_DISABLED", "").strip().lower() == "true":
        return None
    base = (environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "").strip() or _INSTANCE).rstrip("/")
    try:
        token = ask("PUT", f"{base}/latest/api/token", _TTL, local=True, seconds=_INSTANCE_SECONDS).decode("latin-1")
    except NotAnswered:
        return None  # not a machine of AWS
    headers = {"X-aws-ec2-metadata-token": token.strip()}
    roles = f"{base}/latest/meta-data/iam/security-credentials/"
    role = ask("GET", roles, headers, local=True).decode("latin-1").split("\n")[0].strip()
    return _credentials(ask_json("GET", f"{roles}{role}", headers, local=True), "the instance")


def domain(region: str) -> str:
    """The domain of the services of a region."""
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


def _credentials(fields: Mapping[str, Any], place: str, *, session: str = "Token") -> Credentials:
    key, secret, token = (fields.get(name) for name in ("AccessKeyId", "SecretAccessKey", session))
    if not (isinstance(key, str) and isinstance(secret, str) and key and secret):
        raise NotAnswered(f"{place} handed out no credentials")
    return Credentials(key, secret, token if isinstance(token, str) and token else None)


def _text(path: str, variable: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise NotAnswered(f"{variable}: '{path}' cannot be read") from None


def _ini(path: Path, section: str, name: str) -> str | None:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, configparser.Error):
        # The parser's message would quote a line, and that may hold a key.
        raise NotAnswered(f"'{path}' cannot be read as a file of profiles") from None
    return parser.get(section, name, fallback="").strip() or None
