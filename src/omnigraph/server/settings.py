"""Tunable numbers of a server, from its flags and environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from omnigraph.engine.read.frames.budget import Limits, limits_from
from omnigraph.errors import StartRefused
from omnigraph.server.admission import Caps, caps_from
from omnigraph.server.http.connections import CONNECTIONS, PER_ADDRESS, PROXIES, Wire, default_connections
from omnigraph.server.http.hosts import ALLOWED, without_port
from omnigraph.server.turns import ReadCaps
from omnigraph.server.uploads import ACTOR_BYTES, DIRECTORY, EXPANDED_BYTES, FILE_BYTES, LIFETIME, UploadLimits
from omnigraph.settings import DEFAULTS
from omnigraph.settings import Settings as WriteSettings

CORS_ORIGINS = "OMNIGRAPH_CORS_ORIGINS"
METRICS_BIND = "OMNIGRAPH_METRICS_BIND"
STUDIO = "OMNIGRAPH_STUDIO"

_QUERY_SECONDS = 60.0
_BODY_SECONDS = 120.0
_SLOW_MS = 1_000
_RESPONSE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much a server does at once, how long it waits, and what it reports."""

    caps: Caps = field(default_factory=Caps)
    limits: Limits = field(default_factory=lambda: Limits(seconds=_QUERY_SECONDS))
    body_seconds: float = _BODY_SECONDS
    wire: Wire = field(default_factory=lambda: Wire(connections=default_connections()))
    read_caps: ReadCaps = field(default_factory=ReadCaps)
    response_bytes: int = _RESPONSE_BYTES
    shutdown_seconds: int = 30
    drain_seconds: float = 0.0
    read_threads: int = field(default_factory=lambda: max(8, 2 * (os.cpu_count() or 1)))
    write_threads: int = 32
    slow_ms: int = _SLOW_MS
    reload_seconds: float = 2.0
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: frozenset[str] = frozenset()
    metrics_bind: str | None = None
    studio: bool = True
    uploads: UploadLimits = field(default_factory=UploadLimits)


def settings_from(environ: Mapping[str, str], host: str = "") -> Settings:
    """The settings of the environment, for a server that listens at this host."""
    limits = limits_from(environ)
    if limits.seconds is None and "OMNIGRAPH_QUERY_TIMEOUT_MS" not in environ:
        limits = replace(limits, seconds=_QUERY_SECONDS)
    return Settings(
        caps=caps_from(environ),
        wire=_wire(environ),
        read_caps=_read_caps(environ),
        response_bytes=_number(environ, "OMNIGRAPH_RESPONSE_MAX_BYTES", _RESPONSE_BYTES),
        shutdown_seconds=_number(environ, "OMNIGRAPH_SHUTDOWN_MS", 30_000) // 1000,
        limits=limits,
        body_seconds=_seconds(environ, "OMNIGRAPH_BODY_TIMEOUT_MS", _BODY_SECONDS),
        drain_seconds=_number(environ, "OMNIGRAPH_DRAIN_MS", 0, least=0) / 1000,
        read_threads=_number(environ, "OMNIGRAPH_READ_THREADS", Settings().read_threads),
        write_threads=_number(environ, "OMNIGRAPH_WRITE_THREADS", Settings().write_threads),
        slow_ms=_number(environ, "OMNIGRAPH_SLOW_QUERY_MS", _SLOW_MS),
        reload_seconds=_number(environ, "OMNIGRAPH_RELOAD_MS", 2_000) / 1000,
        cors_origins=_names(environ, CORS_ORIGINS),
        allowed_hosts=frozenset(without_port(name) for name in (*_names(environ, ALLOWED), host) if name),
        metrics_bind=environ.get(METRICS_BIND, "").strip() or None,
        studio=environ.get(STUDIO, "").strip().lower() not in ("0", "false", "off"),
        uploads=_uploads(environ),
    )


def _uploads(environ: Mapping[str, str]) -> UploadLimits:
    known = UploadLimits()
    return UploadLimits(
        environ.get(DIRECTORY, "").strip() or None,
        _number(environ, FILE_BYTES, known.file_bytes),
        _number(environ, EXPANDED_BYTES, known.expanded_bytes),
        _number(environ, ACTOR_BYTES, known.actor_bytes),
        _seconds(environ, LIFETIME, known.seconds),
    )


def _wire(environ: Mapping[str, str]) -> Wire:
    known = Wire()
    return Wire(
        connections=_number(environ, CONNECTIONS, default_connections()),
        per_address=_number(environ, PER_ADDRESS, known.per_address),
        proxies=frozenset(_names(environ, PROXIES)),
        header_seconds=_seconds(environ, "OMNIGRAPH_HEADER_TIMEOUT_MS", known.header_seconds),
        body_seconds=_seconds(environ, "OMNIGRAPH_BODY_TIMEOUT_MS", known.body_seconds),
        idle_seconds=_number(environ, "OMNIGRAPH_IDLE_SECONDS", known.idle_seconds),
        send_seconds=_seconds(environ, "OMNIGRAPH_SEND_TIMEOUT_MS", known.send_seconds),
    )


def _read_caps(environ: Mapping[str, str]) -> ReadCaps:
    known = ReadCaps()
    seconds = _number(environ, "OMNIGRAPH_PER_ACTOR_READ_SECONDS", 0, least=0)
    return ReadCaps(
        _number(environ, "OMNIGRAPH_PER_ACTOR_READS_MAX", known.running),
        _number(environ, "OMNIGRAPH_PER_ACTOR_WAITING_MAX", known.waiting),
        _number(environ, "OMNIGRAPH_WAITING_MAX", known.all_waiting),
        _seconds(environ, "OMNIGRAPH_READ_WAIT_MS", known.wait_seconds),
        seconds or None,
        _number(environ, "OMNIGRAPH_LONG_READS_MAX", known.long),
    )


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    return _number(environ, name, int(default * 1000)) / 1000


def write_settings(environ: Mapping[str, str]) -> WriteSettings:
    """How the graphs of a server write; a request can wait longer for a schema change than a program would."""
    seconds = _number(environ, "OMNIGRAPH_REPREPARE_SECONDS", int(DEFAULTS.reprepare_seconds))
    wait = _number(environ, "OMNIGRAPH_WRITER_WAIT_MS", DEFAULTS.writer_wait_ms)
    return WriteSettings(writer_wait_ms=wait, reprepare_seconds=seconds)


def _names(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in environ.get(name, "").split(",") if each.strip())


def _number(environ: Mapping[str, str], name: str, default: int, *, least: int = 1) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and int(text) >= least):
        raise StartRefused(f"{name} must be a positive whole number, not '{text}'")
    return int(text)
