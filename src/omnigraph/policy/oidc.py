"""Signed tokens of an identity provider: whose they are, proved by a key of the provider's set."""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from omnigraph.errors import StartRefused

ISSUER = "OMNIGRAPH_OIDC_ISSUER"
AUDIENCE = "OMNIGRAPH_OIDC_AUDIENCE"
JWKS = "OMNIGRAPH_OIDC_JWKS"
ACTOR_CLAIM = "OMNIGRAPH_OIDC_ACTOR_CLAIM"
TENANT_CLAIM = "OMNIGRAPH_OIDC_TENANT_CLAIM"
GROUPS_CLAIM = "OMNIGRAPH_OIDC_GROUPS_CLAIM"
LEEWAY = "OMNIGRAPH_OIDC_LEEWAY_SECONDS"

# Asymmetric only: with a shared secret everybody who can check a token could make one.
_ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
_REFRESH_SECONDS = 60.0
_FETCH_SECONDS = 5.0
_MAX_BYTES = 1 << 20
_MAX_TOKEN = 16 << 10
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """What a token must say, and where the keys are."""

    issuer: str
    audience: str
    jwks: str
    actor_claim: str = "sub"
    tenant_claim: str | None = None
    leeway_seconds: int = 60
    groups_claim: str | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """Who a valid token is about."""

    actor_id: str
    tenant_id: str | None
    groups: frozenset[str] = frozenset()


class OidcVerifier:
    """Checks tokens against the keys of one provider; safe to share between threads, never waits for the network."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._refreshed = time.monotonic()
        self._keys = _load_keys(settings.jwks)

    def verify(self, presented: str) -> Claimed | None:
        """Who the token is about; None when anything about it is wrong, and a log line says what."""
        if presented.count(".") != 2 or len(presented) > _MAX_TOKEN:
            return None
        jwt = _jwt()
        try:
            key = self._key(jwt.get_unverified_header(presented).get("kid"))
            if key is None:
                return None
            wanted = self.settings
            claims = jwt.decode(
                presented,
                key.key,
                algorithms=[key.algorithm_name],
                audience=wanted.audience,
                issuer=wanted.issuer,
                leeway=wanted.leeway_seconds,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            _LOG.info("signed token refused", extra={"reason": type(error).__name__})
            return None
        return self._claimed(claims)

    def refresh(self) -> None:
        """Read the keys again; the old ones stay when that fails."""
        try:
            self._keys = _load_keys(self.settings.jwks)
        except StartRefused as error:
            _LOG.warning("the keys of the identity provider cannot be read", extra={"reason": error.message})

    def _key(self, name: Any) -> Any:
        found = self._keys.get(name)
        if found is None and name is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if found is None and self._may_refresh():
            # The provider may have rotated its keys. This request is refused; no request waits for a slow provider.
            threading.Thread(target=self.refresh, name="oidc-keys", daemon=True).start()
        return found

    def _may_refresh(self) -> bool:
        with self._lock:
            due = time.monotonic() - self._refreshed >= _REFRESH_SECONDS
            if due:
                self._refreshed = time.monotonic()
            return due

    def _claimed(self, claims: Mapping[str, Any]) -> Claimed | None:
        actor = claims.get(self.settings.actor_claim)
        tenant = None if self.settings.tenant_claim is None else claims.get(self.settings.tenant_claim)
        if not isinstance(actor, str) or not actor.strip() or actor.startswith("omnigraph:"):
            _LOG.info("signed token refused", extra={"reason": f"no usable claim '{self.settings.actor_claim}'"})
            return None
        return Claimed(actor.strip(), tenant if isinstance(tenant, str) else None, self._groups(claims))

    def _groups(self, claims: Mapping[str, Any]) -> frozenset[str]:
        """The names in the claim, a list or one name; anything else names none."""
        found = None if self.settings.groups_claim is None else claims.get(self.settings.groups_claim)
        names = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        return frozenset(name for name in names if isinstance(name, str))


def oidc_from(environ: Mapping[str, str]) -> OidcVerifier | None:
    """The verifier that the environment configures, if any; StartRefused when it is configured by halves."""
    names = (ISSUER, AUDIENCE, JWKS, ACTOR_CLAIM, TENANT_CLAIM, LEEWAY, GROUPS_CLAIM)
    given = {name: environ.get(name, "").strip() for name in names}
    if not any(given.values()):
        return None
    for name in (ISSUER, AUDIENCE, JWKS):
        if not given[name]:
            raise StartRefused(f"{name} is missing; an identity provider needs {ISSUER}, {AUDIENCE} and {JWKS}")
    leeway = given[LEEWAY] or "60"
    if not (leeway.isascii() and leeway.isdecimal()):
        raise StartRefused(f"{LEEWAY} is not a whole number of seconds")
    settings = OidcSettings(
        given[ISSUER],
        given[AUDIENCE],
        given[JWKS],
        given[ACTOR_CLAIM] or "sub",
        given[TENANT_CLAIM] or None,
        int(leeway),
        given[GROUPS_CLAIM] or None,
    )
    return OidcVerifier(settings)


def _load_keys(place: str) -> dict[str | None, Any]:
    """The usable keys of a set by id."""
    try:
        document = json.loads(_fetch(place) if "://" in place else Path(place).read_bytes())
        keys = _jwt().PyJWKSet.from_dict(document).keys
    except StartRefused:
        raise
    except Exception as error:
        raise StartRefused(f"{JWKS}: '{place}' cannot be used: {error}") from error
    usable = {
        key.key_id: key for key in keys if key.algorithm_name in _ALGORITHMS and key.public_key_use in (None, "sig")
    }
    if not usable:
        raise StartRefused(f"{JWKS}: '{place}' contains no key for signatures that can be checked")
    return usable


def _fetch(url: str) -> bytes:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise StartRefused(f"{JWKS}: '{url}' must be an https:// URL or a file")
    with urllib.request.urlopen(url, timeout=_FETCH_SECONDS) as answer:
        data: bytes = answer.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise StartRefused(f"{JWKS}: '{url}' is larger than a key set can be")
    return data


def _jwt() -> Any:
    try:
        import jwt
    except ImportError as error:
        raise StartRefused("signed tokens need the pyjwt package; install omnigraph[server]") from error
    return jwt
