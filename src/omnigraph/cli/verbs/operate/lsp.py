"""`lsp`: the language server for editors, on stdin and stdout."""

from __future__ import annotations

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.files import source_file
from omnigraph.errors import BadRequest


def lsp(call: Call) -> None:
    """Speak the protocol until the editor goes away."""
    try:
        from omnigraph.lsp.server import build
    except ImportError:
        raise BadRequest("the language server needs pygls: pip install 'omnigraph[lsp]'") from None
    path = call.text("--schema")
    named = call.argument("URI") or call.text("--store")
    if path is not None and named is not None:
        raise BadRequest("--schema and a graph are mutually exclusive; give one of them")
    if path is not None:
        build(schema=str(source_file(path).absolute())).start_io()
    elif named is None:
        build().start_io()
    else:
        with read_target(call).storage_reader() as graph:
            build(lambda: str(graph.schema.source)).start_io()
