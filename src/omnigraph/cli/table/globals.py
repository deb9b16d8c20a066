"""The options that every command takes, before or after its name."""

from __future__ import annotations

from omnigraph.cli.table.model import Option

GLOBAL_OPTIONS = (
    Option("--as", "actor recorded on writes", "ACTOR"),
    Option("--server", "a server of the operator config, or its base URL", "NAME|URL"),
    Option("--graph", "a graph inside a server or cluster", "GRAPH_ID"),
    Option("--profile", "a profile of the operator config [env: OMNIGRAPH_PROFILE]", "NAME"),
    Option("--store", "the storage of one graph: a path, file://, s3://, az:// or gs://", "URI"),
    Option("--cluster", "a cluster of the operator config, a directory or a storage root", "DIR|URI"),
    Option("--yes", "consent to a destructive write on a target that is not local"),
    Option("--quiet", "do not say on stderr which target is written"),
)

# Consent and quietness make sense everywhere; these say which graph and who, in the order in which misuse is reported.
ADDRESSING = ("--server", "--cluster", "--graph", "--store", "--as", "--profile")


def global_option(name: str) -> Option | None:
    """The global option with this name."""
    return next((option for option in GLOBAL_OPTIONS if option.name == name), None)
