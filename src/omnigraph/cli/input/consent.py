"""Saying what is about to be written, and asking before something is destroyed."""

from __future__ import annotations

import sys

from omnigraph.cli.address.target import Target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest


def echo(call: Call, target: Target) -> None:
    """One line on stderr: which command writes to which target."""
    if not call.given("--quiet"):
        output.note(f"omnigraph {call.command.name} → {target.uri} ({target.access})")


def require_consent(call: Call, target: Target, label: str) -> None:
    """Refuse a destructive write on a target that is not local unless the user agrees."""
    if target.is_local or call.given("--yes"):
        return
    if call.json or not sys.stdin.isatty():
        raise BadRequest(f"refusing destructive `{label}` on '{target.uri}' without --yes")
    sys.stderr.write(f"{label} on {target.uri} cannot be undone. Continue? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadRequest("aborted")
