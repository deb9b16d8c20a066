"""Data commands that write."""

from __future__ import annotations

from omnigraph.cli.commands import shared
from omnigraph.cli.commands.shared import BRANCH, JSON, READ_SCOPE, URI, URI_OPTION, WRITE_SCOPE
from omnigraph.cli.model import Argument, Capability, Command, Option

_COMMIT_ID = Argument("COMMIT_ID", "a graph commit id", required=True)
_STRATEGY = Option(
    "--strategy",
    "who wins where both sides changed one entity",
    "STRATEGY",
    choices=("fail", "ours", "theirs"),
    default="fail",
)
_BRANCH_NAME = Argument("NAME", "the branch", required=True)

WRITES = (
    Command(
        ("mutate",),
        Capability.DATA,
        "Run a mutation as one commit",
        "query.mutate",
        WRITE_SCOPE,
        (Argument("NAME", "which query of the source; without a source, a stored query of a server"),),
        (
            *shared.SOURCE_OPTIONS,
            *shared.PARAMS_OPTIONS,
            shared.PARAM,
            BRANCH,
            Option("--if-commit", "only when the branch is still at this commit; otherwise exit 4", "COMMIT_ID"),
            JSON,
        ),
        shared.SOURCE_CONFLICTS,
    ),
    Command(
        ("load",),
        Capability.DATA,
        "Load records from a file as one commit",
        "load.load",
        WRITE_SCOPE,
        (URI,),
        (
            Option("--data", "JSON lines: a file, a directory, a glob, or - for standard input", "FILE", required=True),
            Option(
                "--mode",
                "insert strictly, upsert by id, or replace every type that the data mentions",
                "MODE",
                choices=("overwrite", "append", "merge"),
                required=True,
            ),
            BRANCH,
            Option("--from", "create a missing branch from this one first", "BASE"),
            Option("--runner", "where the work runs", "RUNNER", choices=("auto", "inline", "spark"), default="auto"),
            JSON,
        ),
    ),
    Command(
        ("branch", "create"),
        Capability.DATA,
        "Create a branch",
        "branch.create",
        WRITE_SCOPE,
        (_BRANCH_NAME,),
        (URI_OPTION, Option("--from", "the branch to start at", "BASE", default="main"), JSON),
        label="branch",
    ),
    Command(
        ("branch", "list"),
        Capability.DATA,
        "List branches",
        "branch.list_branches",
        WRITE_SCOPE,
        (),
        (URI_OPTION, JSON),
        label="branch",
    ),
    Command(
        ("branch", "delete"),
        Capability.DATA,
        "Delete a branch that nothing depends on",
        "branch.delete",
        WRITE_SCOPE,
        (_BRANCH_NAME,),
        (URI_OPTION, JSON),
        label="branch",
    ),
    Command(
        ("branch", "merge"),
        Capability.DATA,
        "Merge a branch into another",
        "branch.merge",
        WRITE_SCOPE,
        (Argument("SOURCE", "the branch to merge", required=True),),
        (
            URI_OPTION,
            Option("--into", "the branch that receives the changes", "BRANCH", default="main"),
            Option("--delete-branch", "delete the source after the merge"),
            Option("--preview", "report what would happen, conflicts included, and write nothing"),
            _STRATEGY,
            Option(
                "--resolve",
                "decide one entity: ours, theirs, or a JSON object of values to set",
                "TYPE/ID=CHOICE",
                repeats=True,
            ),
            Option("--disjoint", "combine updates of different properties of one entity"),
            JSON,
        ),
        (("--preview", "--delete-branch"),),
        label="branch",
    ),
    Command(
        ("commit", "revert"),
        Capability.DATA,
        "Undo what a commit changed with a new commit",
        "replay.revert",
        WRITE_SCOPE,
        (_COMMIT_ID,),
        (URI_OPTION, BRANCH, _STRATEGY, JSON),
        label="commit",
    ),
    Command(
        ("commit", "cherry-pick"),
        Capability.DATA,
        "Repeat what a commit changed on another branch",
        "replay.cherry_pick",
        WRITE_SCOPE,
        (_COMMIT_ID,),
        (URI_OPTION, BRANCH, _STRATEGY, JSON),
        label="commit",
    ),
    Command(
        ("tag", "create"),
        Capability.DATA,
        "Name a commit",
        "tag.create",
        WRITE_SCOPE,
        (
            Argument("NAME", "the tag", required=True),
            Argument("COMMIT", "a commit id; by default the head of the branch"),
        ),
        (URI_OPTION, BRANCH, Option("--message", "what the tag is for", "TEXT"), JSON),
        label="tag",
    ),
    Command(
        ("tag", "list"),
        Capability.DATA,
        "List tags",
        "tag.list_tags",
        READ_SCOPE,
        (),
        (URI_OPTION, JSON),
        label="tag",
    ),
    Command(
        ("tag", "delete"),
        Capability.DATA,
        "Remove a tag",
        "tag.delete",
        WRITE_SCOPE,
        (Argument("NAME", "the tag", required=True),),
        (URI_OPTION, JSON),
        label="tag",
    ),
    Command(
        ("schema", "apply"),
        Capability.DATA,
        "Change the schema in one commit",
        "schema.apply",
        WRITE_SCOPE,
        (URI,),
        (shared.SCHEMA_FILE, shared.DATA_LOSS, JSON),
    ),
)

SERVED = (
    Command(
        ("graphs", "list"),
        Capability.SERVED,
        "List the graphs of a server",
        "served.list_graphs",
        frozenset({"--server", "--profile"}),
        (),
        (JSON,),
    ),
)
