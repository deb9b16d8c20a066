"""`studio`: one graph in the browser of this machine."""

from __future__ import annotations

import os
import webbrowser
from socket import socket
from typing import TYPE_CHECKING

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.server.process.deployment import Deployment


def studio(call: Call) -> None:
    """Serve a graph and its studio until interrupted; the address that is opened signs in once."""
    try:
        import prometheus_client  # noqa: F401  # what the server imports itself once it is started
        import uvicorn  # noqa: F401

        from omnigraph.server import logs
        from omnigraph.server.process.listening import bound_socket, parse_bind, require_loopback
        from omnigraph.server.process.workers import serve_with
        from omnigraph.server.settings import settings_from, write_settings
        from omnigraph.server.studio import files, sign_in
    except ImportError as error:
        raise BadRequest(f"the studio needs the server extra ({error.name}): pip install omnigraph[server]") from error
    if not files.is_built():
        message = "this installation has no built studio: install a released wheel, or run `make studio` in a checkout"
        raise BadRequest(f"{message}; `omnigraph serve` serves the HTTP API without it")
    bind = parse_bind(call.value("--bind"))
    require_loopback(bind)
    logs.configure({"OMNIGRAPH_LOG": "warning", **call.env})
    uri = read_target(call).uri
    token, code = sign_in.new_secret(), sign_in.new_secret()

    def listen() -> socket:
        listening = bound_socket(bind)
        # The code is in the fragment: a browser does not send it to any server, and the page removes it at once.
        address = f"http://{_host(listening)}/studio/#/start?code={code}"
        output.line(f"The studio is at {address}")
        output.line("This address signs in once. Press Ctrl+C to stop.")
        if not call.given("--no-open"):
            webbrowser.open(address)
        return listening

    queries, writing = call.many("--queries"), write_settings(os.environ)
    once = sign_in.OneTimeCode(token, code)

    def deploy() -> Deployment:
        from omnigraph.server.process.development import development_deployment

        return development_deployment(uri, queries=queries, token=token, settings=writing, sign_in=once)

    serve_with(
        deploy,
        settings_from({**os.environ, "OMNIGRAPH_STUDIO": "on"}, bind.host),
        listen,
    )


def _host(listening: socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
