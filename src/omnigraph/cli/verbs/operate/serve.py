"""`serve`: one graph over HTTP on this machine, for development."""

from __future__ import annotations

import os
from socket import socket

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest


def serve(call: Call) -> None:
    """Serve a graph under the id `default` until interrupted; the token is printed once."""
    try:
        from omnigraph.server import logs
        from omnigraph.server.process import development, workers
        from omnigraph.server.process.serve import bound_socket, parse_bind
        from omnigraph.server.settings import settings_from, write_settings
    except ImportError as error:
        raise BadRequest(f"serving needs the server extra ({error.name}): pip install omnigraph[server]") from error
    bind = parse_bind(call.value("--bind"))
    development.require_loopback(bind)
    logs.configure(call.env)
    uri = read_target(call).uri
    token = None if call.given("--unauthenticated") else development.new_token()

    def listen() -> socket:
        listening = bound_socket(bind)
        if token is not None:
            # The name under which the command line looks for a token, so that the line can be exported as it is.
            output.line(f"OMNIGRAPH_BEARER_TOKEN={token}")
        return listening

    queries, writing = call.many("--queries"), write_settings(os.environ)
    workers.serve_with(
        lambda: development.development_deployment(uri, queries=queries, token=token, settings=writing),
        settings_from(os.environ, bind.host),
        listen,
        workers=call.number("--workers") or 1,
    )
