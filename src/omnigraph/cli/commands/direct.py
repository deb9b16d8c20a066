"""Commands that need the storage itself."""

from __future__ import annotations

from omnigraph.cli.commands import shared
from omnigraph.cli.commands.shared import DIRECT_SCOPE, JSON, URI
from omnigraph.cli.model import Argument, Capability, Command, Option

DIRECT = (
    Command(
        ("init",),
        Capability.DIRECT,
        "Create a graph from a schema",
        "load.init",
        arguments=(Argument("URI", "where to create it: a path, file:// or s3://", required=True),),
        options=(
            shared.SCHEMA_FILE,
            Option("--force", "accept schema files that an interrupted init left behind"),
        ),
    ),
    Command(
        ("lint",),
        Capability.DIRECT,
        "Check a query file against a schema",
        "lint.lint_file",
        DIRECT_SCOPE,
        (URI,),
        (
            Option("--query", "the file of queries to check", "FILE", required=True),
            Option("--schema", "check against this schema file; no graph is needed then", "FILE"),
            JSON,
        ),
    ),
    Command(
        ("schema", "plan"),
        Capability.DIRECT,
        "Show the steps from the accepted schema to another",
        "schema.plan",
        frozenset({"--store", "--profile"}),
        (URI,),
        (shared.SCHEMA_FILE, shared.DATA_LOSS, JSON),
    ),
)
