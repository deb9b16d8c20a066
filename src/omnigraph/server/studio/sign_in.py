"""The one-time code that `omnigraph studio` opens a browser with, and the token it is exchanged for."""

from __future__ import annotations

import hmac
import secrets
import threading
from hashlib import sha256


class OneTimeCode:
    """A code that is exchanged for a token once; kept as a digest, and forgotten when it was used."""

    def __init__(self, token: str, code: str) -> None:
        self._token = token
        self._digest: bytes | None = _digest(code)
        self._lock = threading.Lock()

    def redeem(self, code: str) -> str | None:
        """The token for the right code, the first time; None otherwise. A wrong code does not use the right one up."""
        with self._lock:
            if self._digest is None or not hmac.compare_digest(self._digest, _digest(code)):
                return None
            self._digest = None
            return self._token


def new_secret() -> str:
    """A token or a code that cannot be guessed."""
    return secrets.token_urlsafe(24)


def _digest(code: str) -> bytes:
    return sha256(code.encode(errors="replace")).digest()
