"""The options of commands that list commits, as arguments of the verb behind them."""

from __future__ import annotations

from typing import Any

from omnigraph.cli.call import Call
from omnigraph.errors import BadRequest


def history_options(call: Call) -> dict[str, Any]:
    """`--filter`, `--maintenance` and `--limit`; a name that is given twice is refused."""
    wanted: dict[str, Any] = {}
    for text in call.many("--filter"):
        name, _, value = text.partition("=")
        if name in wanted:
            raise BadRequest(f"--filter {name} is given twice; a commit has one of it")
        wanted[name] = value
    return {**wanted, "maintenance": call.given("--maintenance"), "limit": call.number("--limit")}
