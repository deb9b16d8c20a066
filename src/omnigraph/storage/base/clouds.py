"""Object stores by URI scheme: how a root is spelled on each, and the client options that the environment gives.

The options have the names that lance and obstore both take.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from omnigraph.errors import BadRequest

ALLOW_HTTP = "allow_http"
PATH_STYLE = "AWS_S3_FORCE_PATH_STYLE"
RETRY_SECONDS = "OMNIGRAPH_STORE_RETRY_SECONDS"
RETRY_OPTION = "client_retry_timeout"
DEFAULT_RETRY_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Cloud:
    """One kind of object store.

    `variables` maps environment variables to options; of two that give one option the first comes first. `endpoints`
    are the variables that name another server, given to the option `endpoint`; `example` are
    those that most people set, and `others` say no option by themselves.
    """

    container: str
    variables: tuple[tuple[str, str], ...]
    endpoints: tuple[str, ...]
    endpoint: str
    allow_http: str
    example: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that is about it."""
        return (*(name for name, _ in self.variables), *self.endpoints, self.allow_http, *self.others)


CLOUDS = {
    "s3": Cloud(
        container="bucket",
        variables=(
            ("AWS_REGION", "aws_region"),
            ("AWS_ACCESS_KEY_ID", "aws_access_key_id"),
            ("AWS_SECRET_ACCESS_KEY", "aws_secret_access_key"),
            ("AWS_SESSION_TOKEN", "aws_session_token"),
        ),
        endpoints=("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
        endpoint="aws_endpoint",
        allow_http="AWS_ALLOW_HTTP",
        example=("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
        others=(PATH_STYLE,),
    ),
    "az": Cloud(
        container="container",
        variables=(
            ("AZURE_STORAGE_ACCOUNT_NAME", "azure_storage_account_name"),
            ("AZURE_STORAGE_ACCOUNT", "azure_storage_account_name"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "azure_storage_account_key"),
            ("AZURE_STORAGE_KEY", "azure_storage_account_key"),
            ("AZURE_STORAGE_SAS_TOKEN", "azure_storage_sas_token"),
            ("AZURE_STORAGE_TOKEN", "azure_storage_token"),
            ("AZURE_CLIENT_ID", "azure_storage_client_id"),
            ("AZURE_CLIENT_SECRET", "azure_storage_client_secret"),
            ("AZURE_TENANT_ID", "azure_storage_tenant_id"),
            ("AZURE_FEDERATED_TOKEN_FILE", "azure_federated_token_file"),
        ),
        endpoints=("AZURE_STORAGE_ENDPOINT",),
        endpoint="azure_storage_endpoint",
        allow_http="AZURE_ALLOW_HTTP",
        example=("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"),
    ),
    "gs": Cloud(
        container="bucket",
        variables=(
            ("GOOGLE_SERVICE_ACCOUNT", "google_service_account"),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "google_service_account_key"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "google_application_credentials"),
            ("GOOGLE_SKIP_SIGNATURE", "google_skip_signature"),
        ),
        endpoints=("GOOGLE_BASE_URL",),
        endpoint="google_base_url",
        allow_http="GOOGLE_ALLOW_HTTP",
        example=("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT"),
    ),
}


_NO_SECRETS = frozenset({"aws_region", "azure_storage_account_name"})
_received: dict[str, str] = {}


def is_remote(path: str) -> bool:
    """Whether a path is on an object store.

    >>> is_remote("az://container/a"), is_remote("S3://bucket"), is_remote("/tmp/a"), is_remote("jdbc://a")
    (True, True, False, False)
    """
    scheme, mark, _ = path.partition("://")
    return bool(mark) and scheme.lower() in CLOUDS


def environment() -> Mapping[str, str]:
    """The variables that say how object stores are reached: those of this process, or of the one that it works for."""
    return {**os.environ, **_received} if _received else os.environ


def store_variables(env: Mapping[str, str]) -> dict[str, str]:
    """What another process needs to reach what this one reaches; what is not set here, it has itself.

    Credentials of a store are sent as a whole, so that no key of one account meets the token of another.

    >>> store_variables({"AWS_REGION": "eu-west-1", "AZURE_CLIENT_ID": "", "HOME": "/root"})
    {'AWS_REGION': 'eu-west-1'}
    >>> store_variables({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})["AWS_SESSION_TOKEN"]
    ''
    """
    found: dict[str, str] = {}
    for cloud in CLOUDS.values():
        credentials = [name for name, option in cloud.variables if option not in _NO_SECRETS]
        if any(env.get(name) for name in credentials):
            found |= {name: env.get(name, "") for name in credentials}
        found |= {name: env[name] for name in cloud.names if env.get(name)}
    return found | ({RETRY_SECONDS: env[RETRY_SECONDS]} if env.get(RETRY_SECONDS) else {})


def receive_variables(variables: Mapping[str, str]) -> None:
    """Reach object stores as the process does that has sent these variables, until another one sends some."""
    _received.clear()
    _received.update(variables)


def cloud_uri(scheme: str, text: str) -> str:
    """The one spelling of a root on an object store."""
    container, _, prefix = text.partition("://")[2].partition("/")
    segments = [segment for segment in prefix.split("/") if segment]
    if not container:
        raise BadRequest(f"'{text}' names no {CLOUDS[scheme].container}")
    if any(segment in (".", "..") for segment in segments):
        raise BadRequest(f"'{text}': an object-store prefix cannot contain '.' or '..'")
    return "/".join([f"{scheme}:/", container, *segments])


def cloud_options(scheme: str, env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What a client of the store needs, as sorted pairs; BadRequest when it would have to talk without TLS unasked."""
    cloud = CLOUDS[scheme]
    options = {option: env[name] for name, option in reversed(cloud.variables) if env.get(name)}
    named = next((name for name in cloud.endpoints if env.get(name)), None)
    if named is not None:
        options[cloud.endpoint] = env[named]
    if _is_true(env, cloud.allow_http):
        options[ALLOW_HTTP] = "true"
    elif named is not None and urlsplit(env[named]).scheme.lower() == "http":
        raise BadRequest(f"{named} names a server without TLS (http://); set {cloud.allow_http}=true to allow that")
    if env.get(RETRY_SECONDS):
        options[RETRY_OPTION] = _seconds(env[RETRY_SECONDS])
    if scheme == "s3" and (named is not None or _is_true(env, PATH_STYLE)):
        # Without an endpoint the default of AWS (virtual-hosted) is right unless path style is forced.
        options["aws_virtual_hosted_style_request"] = "false"
    return tuple(sorted(options.items()))


def _seconds(text: str) -> str:
    if not text.strip().isdecimal():
        raise BadRequest(f"{RETRY_SECONDS} must be a whole number of seconds, not '{text}'")
    return str(int(text))


def _is_true(env: Mapping[str, str], name: str) -> bool:
    return env.get(name, "").strip().lower() == "true"
