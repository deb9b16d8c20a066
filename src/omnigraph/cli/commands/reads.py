"""Data commands that only read."""

from __future__ import annotations

from omnigraph.cli.commands import shared
from omnigraph.cli.commands.shared import BRANCH, JSON, READ_SCOPE, URI, URI_OPTION, WRITE_SCOPE
from omnigraph.cli.model import Argument, Capability, Command, Option

_COMMIT_ID = Argument("COMMIT_ID", "a graph commit id", required=True)

READS = (
    Command(
        ("query",),
        Capability.DATA,
        "Run a read and print its rows",
        "query.query",
        READ_SCOPE,
        (Argument("NAME", "which query of the source; without a source, a stored query of a server"),),
        (
            *shared.SOURCE_OPTIONS,
            *shared.PARAMS_OPTIONS,
            shared.PARAM,
            BRANCH,
            shared.SNAPSHOT,
            shared.FORMAT,
            JSON,
            Option("--explain", "print the plan instead of running it"),
            Option("--analyze", "run it and print the plan with rows and time per operator"),
        ),
        (*shared.SOURCE_CONFLICTS, ("--branch", "--snapshot"), ("--format", "--json"), ("--explain", "--analyze")),
        notes="`--query -` reads the source from standard input.",
    ),
    Command(
        ("get",),
        Capability.DATA,
        "Print one entity as JSON",
        "inspect.get",
        READ_SCOPE,
        (
            Argument("TYPE", "a node or edge type", required=True),
            Argument("ID", "the entity's id", required=True),
        ),
        (URI_OPTION, BRANCH, shared.SNAPSHOT),
        (("--branch", "--snapshot"),),
    ),
    Command(
        ("snapshot",),
        Capability.DATA,
        "Show which dataset versions a branch publishes",
        "inspect.snapshot",
        WRITE_SCOPE,
        (URI,),
        (BRANCH, JSON),
    ),
    Command(
        ("export",),
        Capability.DATA,
        "Stream a branch as JSON lines",
        "load.export",
        WRITE_SCOPE,
        (URI,),
        (BRANCH, Option("--type", "only the node and edge types of this name", "TYPE", repeats=True)),
    ),
    Command(
        ("schema", "show"),
        Capability.DATA,
        "Print the accepted schema",
        "schema.show",
        WRITE_SCOPE,
        (URI,),
        (JSON,),
        also="get",
    ),
    Command(
        ("commit", "list"),
        Capability.DATA,
        "List the commits of a branch, newest first",
        "commit.list_commits",
        READ_SCOPE,
        (URI,),
        (BRANCH, JSON),
        label="commit",
    ),
    Command(
        ("commit", "show"),
        Capability.DATA,
        "Show one commit",
        "commit.show",
        READ_SCOPE,
        (_COMMIT_ID,),
        (URI_OPTION, JSON),
        label="commit",
    ),
    Command(
        ("log",),
        Capability.DATA,
        "Draw the history of a branch, merges included",
        "history.log",
        READ_SCOPE,
        (URI,),
        (
            BRANCH,
            Option("--oneline", "one line per commit"),
            Option("--actor", "only commits of this actor", "ACTOR"),
            Option("--limit", "at most this many commits", "N", number=True),
            JSON,
        ),
    ),
)
