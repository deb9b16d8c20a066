"""Bearer tokens: where they come from, and whom a presented one belongs to; only digests are kept."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omnigraph.errors import StartRefused
from omnigraph.policy.aws.secret import SECRET, read_secret
from omnigraph.policy.oidc import OidcVerifier, oidc_from

FILE = "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"
INLINE = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"
SINGLE = "OMNIGRAPH_SERVER_BEARER_TOKEN"
DEFAULT_ACTOR = "default"
RESERVED_PREFIX = "omnigraph:"

_Tokens = dict[str, tuple[str, ...]]
# The one that comes and the one that goes; more would be tokens that are never withdrawn.
_MOST_TOKENS = 2
# 128 random bits take 22 characters of base64 and 32 of hex; what is shorter, or repeats itself, can be guessed.
_SHORTEST_TOKEN = 22
_FEWEST_CHARACTERS = 8
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ResolvedActor:
    """Who sent a request, as proved by a credential; nothing else a client sends has a say in it."""

    actor_id: str
    tenant_id: str | None = None
    scopes: tuple[str, ...] = ("full",)
    source: str = "static"
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TokenTable:
    """SHA-256 digests of tokens with their actors, sorted by actor; `source` is fit for a log line.

    With an identity provider, `oidc` decides about tokens that are not in the table.
    """

    entries: tuple[tuple[bytes, ResolvedActor], ...]
    source: str
    oidc: OidcVerifier | None = None

    def __len__(self) -> int:
        """How many ways in there are; none means that no request can be let in."""
        return len(self.entries) + (self.oidc is not None)

    @property
    def actors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(actor.actor_id for _, actor in self.entries))

    def verify(self, presented: str) -> ResolvedActor | None:
        """Whose token this is; the time it takes does not depend on which one, or on whether any."""
        digest = hash_token(presented)
        found: ResolvedActor | None = None
        for stored, actor in self.entries:
            if hmac.compare_digest(stored, digest) and found is None:
                found = actor
        return self._claimed(presented) if found is None and self.oidc is not None else found

    def _claimed(self, presented: str) -> ResolvedActor | None:
        claimed = None if self.oidc is None else self.oidc.verify(presented)
        if claimed is None:
            return None
        return ResolvedActor(claimed.actor_id, claimed.tenant_id, source="oidc", groups=claimed.groups)


def hash_token(token: str) -> bytes:
    """What is stored instead of a token."""
    # A header can smuggle lone surrogates in; they must compare unequal, not fail.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def token_fingerprint(token: str) -> str:
    """How a log names a token that was refused."""
    return hash_token(token).hex()[:8]


def load_tokens(environ: Mapping[str, str]) -> TokenTable:
    """The tokens that the environment configures; StartRefused when they make no sense. Never names a token."""
    source = "env-or-file" if _setting(environ, SECRET) is None else "aws-secrets-manager"
    _warn_of_readers(environ)
    return TokenTable(_configured(environ), source, oidc_from(environ))


def reload_tokens(environ: Mapping[str, str], current: TokenTable) -> TokenTable | None:
    """The table as its file, variables or secret hold it now, or None when nothing changed.

    StartRefused when it is not a table any more. The identity provider's keys have a rhythm of their own and are kept.
    """
    entries = _configured(environ)
    if entries == current.entries:
        return None
    if not entries and current.oidc is None:
        raise StartRefused("the token table is empty now; no request could be let in any more")
    return replace(current, entries=entries)


def is_remote(environ: Mapping[str, str]) -> bool:
    """Whether the table comes over the network, and should not be asked for all the time."""
    return _setting(environ, SECRET) is not None


def _configured(environ: Mapping[str, str]) -> tuple[tuple[bytes, ResolvedActor], ...]:
    secret = _setting(environ, SECRET)
    if secret is not None:
        return _hashed(_parse(read_secret(secret, environ), SECRET))
    return _hashed(_with_single(environ, _declared(environ)))


def _warn_of_readers(environ: Mapping[str, str]) -> None:
    """A warning, not a refusal, about secrets that any user of the machine can read: containers mount them so."""
    path = _setting(environ, FILE)
    if path is None:
        return
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return  # the reading says what is wrong with it
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        _log.warning("the token file is open to every user of this machine; chmod 600 it", extra={"path": path})


def _warn_of_weak(tokens: _Tokens) -> None:
    for actor, given in sorted(tokens.items()):
        if any(len(token) < _SHORTEST_TOKEN or len(set(token)) < _FEWEST_CHARACTERS for token in given):
            _log.warning("a token can be guessed; use 32 random bytes", extra={"actor_id": actor})


def _with_single(environ: Mapping[str, str], tokens: _Tokens) -> _Tokens:
    single = _setting(environ, SINGLE)
    if single is None:
        return tokens
    if DEFAULT_ACTOR in tokens:
        raise StartRefused(f"{SINGLE} and the token table both name the actor '{DEFAULT_ACTOR}'")
    return {**tokens, DEFAULT_ACTOR: (single,)}


def _declared(environ: Mapping[str, str]) -> _Tokens:
    path = _setting(environ, FILE)
    if path is not None:
        return _parse(_read_file(path), f"{FILE} ({path})")
    inline = _setting(environ, INLINE)
    return {} if inline is None else _parse(inline, INLINE)


def _setting(environ: Mapping[str, str], name: str) -> str | None:
    return environ.get(name, "").strip() or None


def _read_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise StartRefused(f"{FILE}: '{path}' cannot be read: {reason}") from error


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object as they were written, duplicates included."""


def _parse(text: str, source: str) -> _Tokens:
    try:
        document = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        # The parser's message would quote the text around the mistake, and that may be a token.
        raise StartRefused(f"{source}: not valid JSON") from None
    if not isinstance(document, _Pairs):
        raise StartRefused(f"{source}: expected a JSON object of actors and their tokens")
    tokens: _Tokens = {}
    for actor, given in document:
        name = _actor(actor, source)
        if name in tokens:
            raise StartRefused(f"{source}: the actor '{name}' occurs twice")
        tokens[name] = _tokens_of(name, given, source)
    return tokens


def _actor(given: str, source: str) -> str:
    name = given.strip()
    if not name:
        raise StartRefused(f"{source}: an actor is blank")
    if name.startswith(RESERVED_PREFIX):
        raise StartRefused(f"{source}: the actor '{name}' is reserved; names may not start with '{RESERVED_PREFIX}'")
    return name


def _tokens_of(actor: str, given: Any, source: str) -> tuple[str, ...]:
    """One token, or a list of two while one replaces the other."""
    several = isinstance(given, list) and not isinstance(given, _Pairs)
    tokens = given if several else [given]
    if not 1 <= len(tokens) <= _MOST_TOKENS:
        message = f"'{actor}' has {len(tokens)} tokens; it may have one, or two while one replaces the other"
        raise StartRefused(f"{source}: {message}")
    for token in tokens:
        if not isinstance(token, str):
            raise StartRefused(f"{source}: the token of '{actor}' is not text")
        if not token.strip():
            raise StartRefused(f"{source}: the token of '{actor}' is blank")
    return tuple(token.strip() for token in tokens)


def _hashed(tokens: _Tokens) -> tuple[tuple[bytes, ResolvedActor], ...]:
    _warn_of_weak(tokens)
    owners: dict[bytes, str] = {}
    for actor, token in ((actor, token) for actor, given in sorted(tokens.items()) for token in given):
        digest = hash_token(token)
        if owners.get(digest) == actor:
            raise StartRefused(f"the actor '{actor}' has the same token twice")
        if digest in owners:
            raise StartRefused(f"the actors '{owners[digest]}' and '{actor}' have the same token")
        owners[digest] = actor
    return tuple((digest, ResolvedActor(actor)) for digest, actor in owners.items())
