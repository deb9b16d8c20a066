"""The command table: every command with its arguments and options, in the order in which help lists them."""

from __future__ import annotations

from omnigraph.cli.commands.bulk import ANALYTICS, INTAKE, PIPELINES
from omnigraph.cli.commands.control import CONTROL
from omnigraph.cli.commands.copies import COPIES
from omnigraph.cli.commands.direct import DIRECT
from omnigraph.cli.commands.local import LOCAL
from omnigraph.cli.commands.reads import READS
from omnigraph.cli.commands.writes import SERVED, WRITES
from omnigraph.cli.table.model import Command

COMMANDS: tuple[Command, ...] = (
    *READS,
    *WRITES,
    *SERVED,
    *DIRECT,
    *COPIES,
    *ANALYTICS,
    *CONTROL,
    *PIPELINES,
    *INTAKE,
    *LOCAL,
)

GROUPS = {
    "backup": "Backups of graphs: make them, list them, check them, remove old ones",
    "blob": "Read Blob properties, whole or in part",
    "branch": "Create, list, delete and merge branches",
    "changes": "The change feed and its baselines",
    "cluster": "Declared deployments: plan them, apply them, look at them",
    "commit": "Look at commits, undo them, repeat them",
    "graphs": "The graphs of a server",
    "pipeline": "Declared pipelines: check them, run them, look at their runs",
    "policy": "Try out the applied policy of a cluster",
    "profile": "Profiles of the operator config",
    "queries": "The stored queries of an applied graph",
    "schema": "Show the schema and change it",
    "tag": "Names for commits",
}

# Spellings that older documents show → what to write today.
FORMER_COMMANDS = {
    "read": "query",
    "change": "mutate",
    "ingest": "load",
    "config": "profile",
}
# What other tools call it → what it is called here.
ELSEWHERE_COMMANDS = {
    "branches": "branch list",
    "cherry-pick": "commit cherry-pick",
    "commits": "commit list",
    "create": "init",
    "delete": "mutate",
    "explain": "query --explain",
    "format": "fmt",
    "help": "--help",
    "history": "log",
    "insert": "mutate",
    "merge": "branch merge",
    "repl": "shell",
    "revert": "commit revert",
    "search": "query",
    "show": "get",
    "stats": "snapshot",
    "status": "doctor",
    "tags": "tag list",
    "update": "mutate",
}
ELSEWHERE_OPTIONS = {"--at": "--snapshot", "--commit": "--snapshot", "--file": "--data", "--output": "--out"}
# Options that are something else here, given without a value as elsewhere.
MISUNDERSTOOD = {
    ("query", "--profile"): "`--profile` names a profile of the operator config; `--analyze` measures a query",
    ("log", "--graph"): "`--graph` selects a graph of a server or cluster; `log` always draws",
}
FORMER_OPTIONS = {
    "--alias": "use `omnigraph alias NAME`",
    "--name": "give the query's name as an argument: `omnigraph query NAME`",
    "--target": "say which graph with --server, --store or --profile",
    "--config": "say which graph with --server, --store or --profile",
    "--reembed_all": "write --reembed-all",
    "--uri": "give the URI as an argument",
    "--table": "select types with --type",
}


def find(path: tuple[str, ...]) -> Command | None:
    """The command at a path, by its name or its other name."""
    for command in COMMANDS:
        same_group = command.path[:-1] == path[:-1]
        if command.path == path or (same_group and command.also == path[-1]):
            return command
    return None


def members(group: str) -> tuple[Command, ...]:
    """The commands of a group."""
    return tuple(command for command in COMMANDS if command.path[0] == group and len(command.path) > 1)
