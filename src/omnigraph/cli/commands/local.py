"""Commands that touch no graph."""

from __future__ import annotations

from omnigraph.cli.commands import shared
from omnigraph.cli.commands.shared import JSON
from omnigraph.cli.table.globals import ADDRESSING
from omnigraph.cli.table.model import Argument, Capability, Command, Option

_SERVER = Argument("NAME", "a server of the operator config", required=True)

LOCAL = (
    Command(
        ("alias",),
        Capability.LOCAL,
        "Run a stored query that the operator config gives a name",
        "operate.served.alias",
        frozenset(ADDRESSING),  # refused by the command itself, which says why
        (
            Argument("NAME", "an alias of the operator config", required=True),
            Argument("ARG", "values for the alias's args, in order", repeats=True),
        ),
        (*shared.PARAMS_OPTIONS, shared.FORMAT, shared.ALL_ROWS, JSON),
        (("--params", "--params-file"), ("--format", "--json")),
    ),
    Command(
        ("embed",),
        Capability.LOCAL,
        "Fill vectors into a file of records",
        "data.embed.embed",
        options=(
            Option("--seed", "a YAML file that names source, output and spec", "YAML"),
            Option("--input", "records as JSON lines", "JSONL"),
            Option("--output", "where to write them with vectors", "JSONL"),
            Option("--spec", "which fields become which vector", "JSON"),
            Option("--clean", "remove vectors instead"),
            Option("--reembed-all", "embed again what has a vector already"),
            Option("--type", "only records of this type", "TYPE", repeats=True),
            Option("--select", "only records whose field has this value", "[TYPE:]FIELD=VALUE", repeats=True),
            shared.PROGRESS,
            JSON,
        ),
        conflicts=(
            ("--seed", "--input"),
            ("--seed", "--output"),
            ("--seed", "--spec"),
            ("--clean", "--reembed-all"),
        ),
    ),
    Command(
        ("fmt",),
        Capability.LOCAL,
        "Format query and schema files",
        "data.fmt.fmt",
        arguments=(
            Argument("PATH", "a .gq or .pg file, or a directory of them; - or nothing is standard input", repeats=True),
        ),
        options=(
            Option("--check", "write nothing; fail if a file is not formatted"),
            Option("--diff", "write nothing; print what would change"),
            Option(
                "--language",
                "the language of standard input or of files with another ending",
                "LANGUAGE",
                choices=("gq", "pg"),
            ),
        ),
    ),
    Command(
        ("lsp",),
        Capability.LOCAL,
        "Speak the language server protocol with an editor, on stdin and stdout",
        "operate.lsp.lsp",
        frozenset({"--store"}),
        (shared.URI,),
        options=(Option("--schema", "check queries against this schema file", "FILE"),),
        conflicts=(("--schema", "--store"),),
        notes="Without either: the editor's setting omnigraph.schema, or the schema.pg beside or above a query file.",
    ),
    Command(
        ("login",),
        Capability.LOCAL,
        "Store a bearer token for a server",
        "operate.login.login",
        arguments=(_SERVER,),
        options=(Option("--token", "the token; without it one line is read from standard input", "TOKEN"), JSON),
    ),
    Command(
        ("logout",),
        Capability.LOCAL,
        "Forget the token of a server",
        "operate.login.logout",
        arguments=(_SERVER,),
        options=(JSON,),
    ),
    Command(
        ("profile", "list"),
        Capability.LOCAL,
        "List the profiles of the operator config",
        "operate.profile.list_profiles",
        options=(JSON,),
    ),
    Command(
        ("profile", "show"),
        Capability.LOCAL,
        "Show what a profile, or the defaults, resolve to",
        "operate.profile.show",
        arguments=(Argument("NAME", "a profile; by default $OMNIGRAPH_PROFILE, else the defaults"),),
        options=(JSON,),
    ),
    Command(
        ("completion",),
        Capability.LOCAL,
        "Print a completion script for a shell",
        "operate.completion.print_script",
        arguments=(Argument("SHELL", "the shell", required=True, choices=("bash", "zsh", "fish")),),
    ),
    Command(("version",), Capability.LOCAL, "Print the release and the storage format", "operate.version.version"),
)
