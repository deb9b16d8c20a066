"""`login` and `logout`: bearer tokens of servers."""

from __future__ import annotations

import sys

from omnigraph.cli.address.credentials import forget_token, store_token
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest


def login(call: Call) -> None:
    """Keep a token."""
    name = _server_name(call)
    given = call.text("--token")
    token = (sys.stdin.readline() if given is None else given).strip()
    if not token:
        raise BadRequest("no token provided")
    if not token.isprintable():
        raise BadRequest("the token must be one line of printable characters")
    declared = name in call.config.servers
    path = store_token(call.config.directory, name, token)
    if not declared:
        output.note(f"note: '{name}' is not in `servers:` of the operator config, so no command uses this token yet")
    if call.json:
        output.document({"server": name, "credentials_path": str(path), "declared": declared})
    else:
        output.line(f"stored credential for '{name}' in {path}")


def logout(call: Call) -> None:
    """Forget a token; there need not be one."""
    name = _server_name(call)
    path = forget_token(call.config.directory, name)
    if call.json:
        output.document({"server": name, "credentials_path": str(path)})
    else:
        output.line(f"removed credential for '{name}' from {path}")


def _server_name(call: Call) -> str:
    name = call.required("NAME").strip()
    if not name or not name.isprintable() or "]" in name:
        raise BadRequest(f"'{call.required('NAME')}' cannot be a server name")
    return name
