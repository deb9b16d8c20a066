"""`omnigraph-server`: flags and environment in, a serving process out; every refusal to start says why."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.errors import OmnigraphError, StartRefused
from omnigraph.server import logs

if TYPE_CHECKING:
    from omnigraph.server.process.deployment import Deployment

UNAUTHENTICATED = "OMNIGRAPH_UNAUTHENTICATED"
REQUIRE_ALL = "OMNIGRAPH_REQUIRE_ALL_GRAPHS"
READ_ONLY = "OMNIGRAPH_READ_ONLY"
CLUSTER = "OMNIGRAPH_CLUSTER"
BIND = "OMNIGRAPH_BIND"

_USAGE = 64


@dataclass(frozen=True, slots=True)
class Options:
    """What an operator asked for."""

    cluster: str
    bind: str
    unauthenticated: bool
    require_all_graphs: bool
    workers: int
    read_only: bool = False


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Serve a cluster until a signal; the exit code is 0 then, 64 for a bad command line, else 1."""
    given = list(sys.argv[1:] if argv is None else argv)
    logs.configure(environ)
    try:
        options = parse_options(given, environ)
        _run(options, environ)
    except _Usage as error:
        sys.stderr.write(f"error: {error}\n")
        return _USAGE
    except OmnigraphError as error:
        sys.stderr.write(f"error: {error.message}\n")
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


def parse_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    """Flags win over the environment."""
    parser = argparse.ArgumentParser("omnigraph-server", description="Serve the graphs of a cluster over HTTP.")
    parser.add_argument("--cluster", help="the cluster: a directory, or its root such as s3://bucket/prefix")
    parser.add_argument("--bind", help="host:port to listen on (default 127.0.0.1:8080; port 0 takes a free one)")
    parser.add_argument("--unauthenticated", action="store_true", help="serve everybody when there are no tokens")
    parser.add_argument("--require-all-graphs", action="store_true", help="do not start with a quarantined graph")
    parser.add_argument("--read-only", action="store_true", help="serve reads only, beside a server that writes")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the address (default 1)")
    found = parser.parse_args(argv)
    cluster = found.cluster or environ.get(CLUSTER, "").strip()
    if not cluster:
        message = "the server boots from a cluster: give --cluster <dir | scheme://root>, or set OMNIGRAPH_CLUSTER"
        raise _Usage(message)
    if found.workers < 1:
        raise _Usage("--workers must be at least 1")
    return Options(
        cluster,
        found.bind or environ.get(BIND, "").strip() or "127.0.0.1:8080",
        found.unauthenticated or is_truthy(environ, UNAUTHENTICATED),
        found.require_all_graphs or is_truthy(environ, REQUIRE_ALL),
        found.workers,
        found.read_only or is_truthy(environ, READ_ONLY),
    )


def is_truthy(environ: Mapping[str, str], name: str) -> bool:
    """A switch in the environment: on unless it is empty, `0` or `false`."""
    return environ.get(name, "").strip().lower() not in ("", "0", "false")


def _run(options: Options, environ: Mapping[str, str]) -> None:
    # Arrow and Lance take most of a second to import; a command line that makes no sense is refused before that.
    from omnigraph.server.process.listening import bound_socket, parse_bind
    from omnigraph.server.process.workers import serve_with
    from omnigraph.server.settings import settings_from

    bind = parse_bind(options.bind)
    settings = settings_from(environ, bind.host)

    def deploy() -> Deployment:
        from omnigraph.server.process.boot import cluster_deployment

        return cluster_deployment(
            options.cluster,
            environ,
            unauthenticated=options.unauthenticated,
            require_all_graphs=options.require_all_graphs,
            read_only=options.read_only,
        )

    serve_with(deploy, settings, lambda: bound_socket(bind), workers=options.workers)


class _Usage(StartRefused):
    """The command line makes no sense."""
