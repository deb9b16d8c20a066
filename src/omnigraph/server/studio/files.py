"""The built files of the studio and the headers they are served with."""

from __future__ import annotations

import re
import secrets
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

NONCE = "__CSP_NONCE__"  # what the build writes where the nonce of an answer belongs

_INDEX = "index.html"
_ASSET = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.(js|css|woff2|svg|png)")
_KINDS = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "woff2": "font/woff2",
    "svg": "image/svg+xml",
    "png": "image/png",
}
# Everything comes from this origin; nothing of a graph can become a script, a frame or a form.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; font-src 'self'; "
    "img-src 'self' blob: data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>OmniGraph studio</title></head><body>
<h1>The studio was not built</h1>
<p>This installation of OmniGraph has no built studio. Install a released wheel, or run <code>make studio</code> in a
checkout of the repository and restart the server. The HTTP API, described at <a href="/openapi.json">/openapi.json</a>,
works without it.</p>
</body></html>
"""


def is_built() -> bool:
    """Whether this installation has the pages."""
    return (_folder() / _INDEX).is_file()


def page() -> tuple[str, dict[str, str]]:
    """The page with a nonce of its own, or a page that says what is missing, and its headers."""
    nonce = secrets.token_urlsafe(16)
    text = _index().replace(NONCE, nonce) if is_built() else NOT_BUILT
    return text, {**_guarded(nonce), "Cache-Control": "no-store"}


def asset(name: str) -> tuple[bytes, str, dict[str, str]] | None:
    """The bytes of a built file, their kind and headers; None for a name that was not built.

    Names contain a hash of the content, so a browser may keep a file for as long as it likes.
    """
    if _ASSET.fullmatch(name) is None:
        return None
    found = _folder() / "assets" / name
    if not found.is_file():
        return None
    kept = {**_guarded(secrets.token_urlsafe(16)), "Cache-Control": "public, max-age=31536000, immutable"}
    return found.read_bytes(), _KINDS[name.rpartition(".")[2]], kept


def _guarded(nonce: str) -> dict[str, str]:
    return {"Content-Security-Policy": _POLICY.format(nonce=nonce), **_GUARDS}


def _folder() -> Traversable:
    return files("omnigraph.server.studio") / "built"


@cache
def _index() -> str:
    return (_folder() / _INDEX).read_text(encoding="utf-8")
