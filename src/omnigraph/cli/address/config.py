"""The operator config: servers, clusters, profiles, aliases and defaults of the person at the keyboard."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest

FILE_NAME = "config.yaml"
_SECTIONS: Mapping[str, frozenset[str] | None] = {
    "operator": frozenset({"actor"}),
    "defaults": frozenset(
        {"output", "table_max_column_width", "table_cell_layout", "server", "store", "default_graph"}
    ),
    "servers": None,
    "clusters": None,
    "profiles": None,
    "aliases": None,
}
_ENTRIES: Mapping[str, frozenset[str]] = {
    "servers": frozenset({"url"}),
    "clusters": frozenset({"root"}),
    "profiles": frozenset({"server", "cluster", "store", "default_graph"}),
    "aliases": frozenset({"server", "graph", "query", "args", "params", "format"}),
}
_FORMATS = ("table", "kv", "csv", "jsonl", "json")
_LAYOUTS = ("truncate", "wrap")


@dataclass(frozen=True, slots=True)
class Profile:
    """A named scope; exactly one of server, cluster and store must be set when it is used."""

    server: str | None = None
    cluster: str | None = None
    store: str | None = None
    default_graph: str | None = None

    def bindings(self) -> list[tuple[str, str]]:
        """The scopes it names, as (kind, value)."""
        kinds = (("server", self.server), ("cluster", self.cluster), ("store", self.store))
        return [(kind, value) for kind, value in kinds if value is not None]

    def problem(self) -> str | None:
        """Why it cannot be used, or None."""
        count = len(self.bindings())
        if count == 0:
            return "binds no scope; set one of server, cluster and store"
        if count > 1:
            return f"binds {count} scopes; keep one of server, cluster and store"
        return None


@dataclass(frozen=True, slots=True)
class Alias:
    """A stored query of a server under a short name."""

    server: str
    query: str
    graph: str | None = None
    args: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Defaults:
    """What applies when nothing else is said."""

    output: str | None = None
    table_max_column_width: int = 80
    table_cell_layout: str = "truncate"
    server: str | None = None
    store: str | None = None
    default_graph: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorConfig:
    """The whole file; an absent file is an empty config."""

    directory: Path
    actor: str | None = None
    servers: Mapping[str, str] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    aliases: Mapping[str, Alias] = field(default_factory=dict)
    defaults: Defaults = Defaults()


def config_directory(env: Mapping[str, str]) -> Path:
    """`$OMNIGRAPH_HOME`, else `~/.omnigraph`."""
    chosen = env.get("OMNIGRAPH_HOME", "")
    if chosen == "~" or chosen.startswith("~/"):
        return Path(os.path.expanduser(chosen))
    return Path(chosen) if chosen else Path.home() / ".omnigraph"


def load_config(env: Mapping[str, str]) -> OperatorConfig:
    """Read and check the config; unknown keys are warned about and ignored."""
    directory = config_directory(env)
    path = directory / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return OperatorConfig(directory)
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"could not read operator config '{path}': {error}") from error
    return _decode(_parse(text, path), path)


def _parse(text: str, path: Path) -> Mapping[str, Any]:
    import yaml  # type: ignore[import-untyped,unused-ignore]  # slow to import, and most calls have no config

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadRequest(f"could not parse operator config '{path}': {' '.join(str(error).split())}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise _malformed(path, "the file must hold a mapping")
    return found


def _decode(raw: Mapping[str, Any], path: Path) -> OperatorConfig:
    for key in _unknown_keys(raw, path):
        output.warn(f"unknown key `{key}` in {path} is ignored")
    operator = _section(raw, "operator", path)
    config = OperatorConfig(
        directory=path.parent,
        actor=_text(operator, "actor", "operator", path),
        servers={name: _needed(entry, "url", f"servers.{name}", path) for name, entry in _named(raw, "servers", path)},
        clusters={
            name: _needed(entry, "root", f"clusters.{name}", path) for name, entry in _named(raw, "clusters", path)
        },
        profiles={name: _profile(entry, f"profiles.{name}", path) for name, entry in _named(raw, "profiles", path)},
        aliases={name: _alias(entry, f"aliases.{name}", path) for name, entry in _named(raw, "aliases", path)},
        defaults=_defaults(_section(raw, "defaults", path), path),
    )
    if config.defaults.server is not None and config.defaults.store is not None:
        raise _malformed(path, "`defaults` binds one entity: set defaults.server or defaults.store, not both")
    if config.defaults.store is not None and config.defaults.default_graph is not None:
        raise _malformed(path, "defaults.store is already a single graph; remove defaults.default_graph")
    return config


def _unknown_keys(raw: Mapping[str, Any], path: Path) -> Iterator[str]:
    for section, value in raw.items():
        if section not in _SECTIONS:
            yield str(section)
            continue
        known = _SECTIONS[section]
        if not isinstance(value, dict):
            continue
        if known is not None:
            yield from (f"{section}.{key}" for key in value if key not in known)
            continue
        for name, entry in value.items():
            if isinstance(entry, dict):
                yield from (f"{section}.{name}.{key}" for key in entry if key not in _ENTRIES[section])


def _profile(entry: Mapping[str, Any], where: str, path: Path) -> Profile:
    return Profile(
        *(_text(entry, key, where, path) for key in ("server", "cluster", "store", "default_graph")),
    )


def _alias(entry: Mapping[str, Any], where: str, path: Path) -> Alias:
    args = entry.get("args") or []
    if not isinstance(args, list) or not all(isinstance(name, str) for name in args):
        raise _malformed(path, f"`{where}.args` must be a list of names")
    params = entry.get("params") or {}
    if not isinstance(params, dict):
        raise _malformed(path, f"`{where}.params` must be a mapping")
    return Alias(
        server=_needed(entry, "server", where, path),
        query=_needed(entry, "query", where, path),
        graph=_text(entry, "graph", where, path),
        args=tuple(args),
        params=params,
        format=_choice(entry, "format", where, path, _FORMATS),
    )


def _defaults(entry: Mapping[str, Any], path: Path) -> Defaults:
    width = entry.get("table_max_column_width")
    if width is not None and (not isinstance(width, int) or isinstance(width, bool) or width < 1):
        raise _malformed(path, "`defaults.table_max_column_width` must be a positive whole number")
    return Defaults(
        output=_choice(entry, "output", "defaults", path, _FORMATS),
        table_max_column_width=80 if width is None else width,
        table_cell_layout=_choice(entry, "table_cell_layout", "defaults", path, _LAYOUTS) or "truncate",
        server=_text(entry, "server", "defaults", path),
        store=_text(entry, "store", "defaults", path),
        default_graph=_text(entry, "default_graph", "defaults", path),
    )


def _section(raw: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    found = raw.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise _malformed(path, f"`{name}` must be a mapping")
    return found


def _named(raw: Mapping[str, Any], section: str, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, entry in _section(raw, section, path).items():
        if not isinstance(entry, dict):
            raise _malformed(path, f"`{section}.{name}` must be a mapping")
        yield str(name), entry


def _text(entry: Mapping[str, Any], key: str, where: str, path: Path) -> str | None:
    value = entry.get(key)
    if value is None or isinstance(value, str):
        return value or None
    raise _malformed(path, f"`{where}.{key}` must be text")


def _needed(entry: Mapping[str, Any], key: str, where: str, path: Path) -> str:
    value = _text(entry, key, where, path)
    if value is None:
        raise _malformed(path, f"`{where}.{key}` is missing")
    return value


def _choice(entry: Mapping[str, Any], key: str, where: str, path: Path, allowed: tuple[str, ...]) -> str | None:
    value = _text(entry, key, where, path)
    if value is not None and value not in allowed:
        raise _malformed(path, f"`{where}.{key}` must be one of {', '.join(allowed)}")
    return value


def _malformed(path: Path, why: str) -> BadRequest:
    return BadRequest(f"could not parse operator config '{path}': {why}")
