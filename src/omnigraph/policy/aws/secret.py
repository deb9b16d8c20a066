"""The text of one secret of AWS Secrets Manager."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from omnigraph.errors import StartRefused
from omnigraph.policy.aws.credentials import domain, find_credentials, profile_setting
from omnigraph.policy.aws.wire import NotAnswered, ask_json, signed

SECRET = "OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET"

_SERVICE = "secretsmanager"
_HEADERS = {"content-type": "application/x-amz-json-1.1", "x-amz-target": f"{_SERVICE}.GetSecretValue"}


def read_secret(secret_id: str, environ: Mapping[str, str]) -> str:
    """The secret's text; StartRefused says what is in the way."""
    try:
        value = _ask(secret_id, environ).get("SecretString")
    except NotAnswered as error:
        raise StartRefused(f"{SECRET}: the secret '{secret_id}' cannot be read: {error}") from None
    except ValueError:
        raise StartRefused(f"{SECRET}: one of the AWS settings is not an address") from None
    if not isinstance(value, str):
        raise StartRefused(f"{SECRET}: the secret '{secret_id}' contains no text")
    return value


def _ask(secret_id: str, environ: Mapping[str, str]) -> Mapping[str, object]:
    region = _region(secret_id, environ)
    named = environ.get("AWS_ENDPOINT_URL_SECRETS_MANAGER", "").strip()
    url = f"{(named or f'https://{_SERVICE}.{region}.{domain(region)}').rstrip('/')}/"
    body = json.dumps({"SecretId": secret_id}).encode()
    credentials = find_credentials(environ, region)
    at = datetime.now(UTC)
    return ask_json("POST", url, signed(credentials, url, _HEADERS, body, service=_SERVICE, region=region, at=at), body)


def _region(secret_id: str, environ: Mapping[str, str]) -> str:
    """The region of the secret itself where its name tells, else the one that is configured."""
    parts = secret_id.split(":")
    named = parts[3] if len(parts) > 5 and parts[0] == "arn" else ""
    for region in (named, environ.get("AWS_REGION", ""), environ.get("AWS_DEFAULT_REGION", "")):
        if region.strip():
            return region.strip()
    configured = profile_setting(environ, "region")
    if configured is None:
        raise NotAnswered("no AWS region is set; set AWS_REGION, or name the secret by its ARN")
    return configured
