"""`serve`: one graph over HTTP on this machine, for development."""

from __future__ import annotations

import os
from socket import socket
from typing import TYPE_CHECKING

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.server.process.deployment import Deployment


def serve(call: Call) -> None:
    """Serve a graph under the id `default` until interrupted; the token is printed once."""
    try:
        import prometheus_client  # noqa: F401  # what the server imports itself once it is started
        import uvicorn  # noqa: F401

        from omnigraph.server import logs
        from omnigraph.server.process.listening import bound_socket, parse_bind, require_loopback
        from omnigraph.server.process.workers import serve_with
        from omnigraph.server.settings import settings_from, write_settings
        from omnigraph.server.studio import sign_in
    except ImportError as error:
        raise BadRequest(f"serving needs the server extra ({error.name}): pip install omnigraph[server]") from error
    bind = parse_bind(call.value("--bind"))
    require_loopback(bind)
    logs.configure(call.env)
    uri = read_target(call).uri
    token = None if call.given("--unauthenticated") else sign_in.new_secret()

    def listen() -> socket:
        listening = bound_socket(bind)
        if token is not None:
            # The name under which the command line looks for a token, so that the line can be exported as it is.
            output.line(f"OMNIGRAPH_BEARER_TOKEN={token}")
        return listening

    queries, writing = call.many("--queries"), write_settings(os.environ)

    def deploy() -> Deployment:
        from omnigraph.server.process.development import development_deployment

        return development_deployment(uri, queries=queries, token=token, settings=writing)

    serve_with(
        deploy,
        settings_from(os.environ, bind.host),
        listen,
        workers=call.number("--workers") or 1,
    )
