"""Commands that need the storage itself."""

from __future__ import annotations

from omnigraph.cli.commands import shared
from omnigraph.cli.commands.shared import ANY_SCOPE, DIRECT_SCOPE, JSON, URI
from omnigraph.cli.table.model import Argument, Capability, Command, Option

DIRECT = (
    Command(
        ("init",),
        Capability.DIRECT,
        "Create a graph from a schema",
        "data.load.init",
        frozenset({"--as", "--store"}),
        arguments=(
            Argument("URI", "where to create it: a path, file://, s3://, az:// or gs://", required=True, graph=True),
        ),
        options=(
            shared.SCHEMA_FILE,
            Option("--force", "accept schema files that an interrupted init left behind"),
            shared.MESSAGE,
        ),
    ),
    Command(
        ("lint",),
        Capability.DIRECT,
        "Check a query file against a schema",
        "data.lint.lint_file",
        DIRECT_SCOPE,
        (URI,),
        (
            Option("--query", "the file of queries to check", "FILE", required=True),
            Option("--schema", "check against this schema file; no graph is needed then", "FILE"),
            JSON,
        ),
    ),
    Command(
        ("optimize",),
        Capability.DIRECT,
        "Compact datasets, build and extend their indexes",
        "operate.maintenance.optimize",
        DIRECT_SCOPE,
        (URI,),
        (shared.MESSAGE, shared.PROGRESS, JSON),
    ),
    Command(
        ("check",),
        Capability.DIRECT,
        "Verify files, checksums, rows, indexes and every commit of a graph",
        "operate.maintenance.check",
        DIRECT_SCOPE,
        (URI,),
        (
            Option("--branch", "only what this branch knows; by default every branch and tag", "BRANCH"),
            Option("--quick", "only look whether the files of heads and tags are there and have their sizes"),
            shared.PROGRESS,
            JSON,
        ),
        notes="Changes nothing. Ends with exit code 1 when something is wrong.",
    ),
    Command(
        ("repair",),
        Capability.DIRECT,
        "Show dataset versions that were not published, or publish them",
        "operate.maintenance.repair",
        DIRECT_SCOPE,
        (URI,),
        (
            Option("--confirm", "publish what is verified to be maintenance"),
            Option("--force", "with --confirm: publish also what is not"),
            shared.MESSAGE,
            JSON,
        ),
        needs=(("--force", "--confirm"),),
    ),
    Command(
        ("cleanup",),
        Capability.DIRECT,
        "Remove old dataset versions; this cannot be undone",
        "operate.maintenance.cleanup",
        DIRECT_SCOPE,
        (URI,),
        (
            Option("--keep", "keep this many newest versions of every dataset", "N", number=True),
            Option("--older-than", "remove only what is older, such as 7d (s, m, h, d, w)", "DURATION"),
            Option("--confirm", "remove them; without it only the policy is shown"),
            shared.PROGRESS,
            JSON,
        ),
        notes="Fewer than 3 versions may be too few for a rollback; 10 is a good number. What live branches and tags\n"
        "need always stays.",
    ),
    Command(
        ("doctor",),
        Capability.DIRECT,
        "Check the operator config and a graph; changes nothing",
        "operate.doctor.doctor",
        DIRECT_SCOPE,
        (URI,),
        (JSON,),
    ),
    Command(
        ("indexes",),
        Capability.DIRECT,
        "List declared indexes and what they cover",
        "operate.maintenance.indexes",
        ANY_SCOPE,
        (URI,),
        (shared.BRANCH, JSON),
    ),
    Command(
        ("serve",),
        Capability.DIRECT,
        "Serve one graph over HTTP on this machine, for development",
        "operate.serve.serve",
        DIRECT_SCOPE,
        (URI,),
        (
            Option(
                "--bind",
                "the loopback address to listen on; port 0 takes a free one",
                "HOST:PORT",
                default="127.0.0.1:8080",
            ),
            Option("--queries", "a file of queries to offer as stored queries", "FILE", repeats=True),
            Option("--workers", "processes that share the address", "N", number=True, default="1"),
            Option("--unauthenticated", "do not ask for a token"),
        ),
        notes="The graph has the id 'default'. A token is printed before the address; it opens everything. Export\n"
        "that line, then ask with `omnigraph query --server http://127.0.0.1:8080 --graph default …`.",
    ),
    Command(
        ("studio",),
        Capability.DIRECT,
        "Open a graph in the browser of this machine",
        "operate.studio.studio",
        DIRECT_SCOPE,
        (URI,),
        (
            Option(
                "--bind",
                "the loopback address to listen on; port 0 takes a free one",
                "HOST:PORT",
                default="127.0.0.1:0",
            ),
            Option("--queries", "a file of queries to offer as stored queries", "FILE", repeats=True),
            Option("--no-open", "print the address only"),
        ),
        notes="The address that is printed and opened signs in once, on this machine. Ctrl+C stops the studio.",
    ),
    Command(
        ("schema", "plan"),
        Capability.DIRECT,
        "Show the steps from the schema of a branch to another",
        "data.schema.plan",
        frozenset({"--server", "--graph", "--store", "--profile"}),
        (URI,),
        (shared.SCHEMA_FILE, shared.BRANCH, shared.DATA_LOSS, JSON),
    ),
)
