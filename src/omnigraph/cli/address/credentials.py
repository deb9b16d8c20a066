"""Bearer tokens: the credentials file, its permissions, and which token belongs to which URL."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from omnigraph.errors import BadRequest

_SECTION = re.compile(r"\s*\[(.+?)\]\s*$")
_TOKEN = re.compile(r"\s*token\s*=(.*)$")


def credentials_path(directory: Path) -> Path:
    """Where tokens are kept."""
    return directory / "credentials"


def token_for(url: str, servers: Mapping[str, str], directory: Path, env: Mapping[str, str]) -> str | None:
    """The token to send to a URL: of the configured server it belongs to, else the one of the environment."""
    name = _server_of(url, servers)
    if name is not None:
        keyed = env.get(f"OMNIGRAPH_TOKEN_{variable_name(name)}", "").strip()
        found = keyed or _stored(directory, name)
        if found:
            return found
    return env.get("OMNIGRAPH_BEARER_TOKEN", "").strip() or None


def token_source(server: str, directory: Path, env: Mapping[str, str]) -> str | None:
    """Where the token of a configured server comes from, or None when it has none."""
    variable = f"OMNIGRAPH_TOKEN_{variable_name(server)}"
    if env.get(variable, "").strip():
        return variable
    if _stored(directory, server):
        return str(credentials_path(directory))
    return "OMNIGRAPH_BEARER_TOKEN" if env.get("OMNIGRAPH_BEARER_TOKEN", "").strip() else None


def variable_name(server: str) -> str:
    """The part of the environment variable that names a server.

    >>> variable_name("prod-eu")
    'PROD_EU'
    """
    return "".join(each.upper() if each.isascii() else each for each in server).replace("-", "_")


def store_token(directory: Path, server: str, token: str) -> Path:
    """Write a server's token, leaving every other section as it is."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = credentials_path(directory)
    lines = _without(_lines(path), server)
    if lines and lines[-1].strip():
        lines.append("")
    _replace(path, [*lines, f"[{server}]", f"token = {token}"])
    return path


def forget_token(directory: Path, server: str) -> Path:
    """Remove a server's token; nothing happens when there is none."""
    path = credentials_path(directory)
    before = _lines(path)
    after = _without(before, server)
    if after != before:
        _replace(path, after)
    return path


def _server_of(url: str, servers: Mapping[str, str]) -> str | None:
    """The server with the longest base that is this URL or one of its parents; `http://h:80` is none of `http://h:8080`."""
    best: tuple[int, str] | None = None
    for name, base in servers.items():
        stem = base.rstrip("/")
        belongs = url.rstrip("/") == stem or url.startswith(f"{stem}/")
        if belongs and (best is None or len(stem) > best[0]):
            best = len(stem), name
    return None if best is None else best[1]


def _stored(directory: Path, server: str) -> str | None:
    section = None
    for text in _lines(credentials_path(directory)):
        if text.lstrip().startswith("#"):
            continue
        if (header := _SECTION.match(text)) is not None:
            section = header.group(1).strip()
        elif section == server and (found := _TOKEN.match(text)) is not None:
            return _unquoted(found.group(1).strip()) or None
    return None


def _unquoted(value: str) -> str:
    for quote in "\"'":
        if len(value) >= 2 and value[0] == value[-1] == quote:
            return value[1:-1].strip()
    return value


def _without(lines: list[str], server: str) -> list[str]:
    kept: list[str] = []
    inside = False
    for text in lines:
        if (header := _SECTION.match(text)) is not None:
            inside = header.group(1).strip() == server
        if not inside:
            kept.append(text)
    return kept


def _lines(path: Path) -> list[str]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise BadRequest(f"'{path}' can be read by others (mode {mode:04o}); run: chmod 600 {path}")
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"could not read '{path}': {error}") from error


def _replace(path: Path, lines: list[str]) -> None:
    # The new file is private from its first byte (mkstemp), and readers see the old one or the new one.
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(f"{text}\n" for text in lines))
        os.replace(unfinished, path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
