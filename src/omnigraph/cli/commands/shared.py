"""Options that several commands declare alike."""

from __future__ import annotations

from omnigraph.cli.table.model import Argument, Option

READ_SCOPE = frozenset({"--server", "--graph", "--store", "--profile"})
WRITE_SCOPE = READ_SCOPE | {"--as"}
DIRECT_SCOPE = frozenset({"--graph", "--store", "--cluster", "--profile"})
# Commands for storage that a server has a route for as well.
ANY_SCOPE = DIRECT_SCOPE | {"--server"}

FORMATS = ("table", "kv", "csv", "jsonl", "json")

URI = Argument("URI", "the graph: a path, file://, s3://, az:// or gs://", graph=True)
JSON = Option("--json", "print one JSON document")
BRANCH = Option("--branch", "the branch to use", "BRANCH", default="main")
# What commands with arguments of their own took before the graph could be their last one.
URI_OPTION = Option("--uri", "the graph", "URI", former=True)
COMMIT_ID = Argument("COMMIT_ID", "a commit: its id or the beginning of it, a tag, HEAD, HEAD~1", required=True)
SNAPSHOT = Option(
    "--snapshot", "read as of a commit (its id or the beginning of it, a tag, HEAD~1) or point in time", "COMMIT_ID"
)
AT = Option("--at", "as of a commit (its id or the beginning of it, a tag, HEAD~1) or point in time", "COMMIT_ID")
PICTURE = Option("--out", "a file to write: .svg, .html, .png, .dot or .mmd", "FILE")
FORMAT = Option("--format", "how rows are printed", "FORMAT", choices=FORMATS)
ALL_ROWS = Option("--all", "every row of a table, also more than a thousand at a terminal")

PROGRESS = Option(
    "--progress",
    "a bar where a person watches, or JSON lines on stderr",
    "FORM",
    choices=("bar", "json", "off"),
    default="bar",
)

SOURCE_OPTIONS = (
    Option("--query", "a file of queries", "FILE"),
    Option("--query-string", "query text; a body alone will do", "GQ", short="-e"),
)
PARAMS_OPTIONS = (
    Option("--params", "parameters as a JSON object", "JSON"),
    Option("--params-file", "a file that holds the parameters as a JSON object", "PATH"),
)
PARAM = Option(
    "--param",
    "one parameter; JSON or plain text, and always text where the query declares a String",
    "NAME=VALUE",
    short="-p",
    repeats=True,
)
SOURCE_CONFLICTS = (("--query", "--query-string"), ("--params", "--params-file"))

CHANGE_FILTERS = (
    Option("--kind", "only nodes or only edges", "KIND", choices=("node", "edge"), repeats=True),
    Option("--type", "only this type", "TYPE", repeats=True),
    Option("--op", "only this operation", "OP", choices=("insert", "update", "delete"), repeats=True),
)
MESSAGE = Option("--message", "why, in a few words; kept with the commit", "TEXT", short="-m")
COMMIT_FILTERS = ("actor", "kind", "since", "until", "type", "message")
HISTORY_OPTIONS = (
    Option(
        "--filter",
        "only commits with this actor, kind, type or part of a message, or of this time; several must all hold",
        "NAME=VALUE",
        repeats=True,
        pairs=COMMIT_FILTERS,
    ),
    Option("--maintenance", "also index builds and compactions"),
    Option("--limit", "at most this many commits", "N", number=True),
)
LIMIT = Option("--limit", "changes per page, at most 8192", "N", number=True, default="1000")
SCHEMA_FILE = Option("--schema", "a schema file (.pg)", "FILE", required=True)
DATA_LOSS = Option("--allow-data-loss", "drop for good what a soft drop would keep")
