"""Commands of the control plane: declared deployments and their policies."""

from __future__ import annotations

from omnigraph.cli.commands.shared import JSON
from omnigraph.cli.table.model import Argument, Capability, Command, Option

_CONFIG = Option("--config", "the directory that holds cluster.yaml", "DIR", default=".")
_ACTOR = frozenset({"--as"})
_SCOPE = frozenset({"--cluster", "--graph", "--profile"})
_SERVER_BUNDLE = Option("--scope", "`cluster` selects the bundle of the server itself", "SCOPE", choices=("cluster",))
_ACTIONS = (
    "read",
    "export",
    "change",
    "schema_apply",
    "branch_create",
    "branch_delete",
    "branch_merge",
    "admin",
    "graph_list",
    "metrics",
    "reload",
    "invoke_query",
)


def _cluster(
    name: str, summary: str, handler: str, *, accepts: frozenset[str] = frozenset(), argument: Argument | None = None
) -> Command:
    arguments = () if argument is None else (argument,)
    path = ("cluster", name)
    return Command(path, Capability.CONTROL, summary, f"operate.cluster.{handler}", accepts, arguments, (_CONFIG, JSON))


CONTROL = (
    _cluster("validate", "Check cluster.yaml and everything it refers to", "validate"),
    _cluster("plan", "Show what an apply would do", "plan"),
    _cluster("apply", "Make storage match the declaration", "apply", accepts=_ACTOR),
    _cluster(
        "approve",
        "Consent to a destructive change",
        "approve",
        accepts=_ACTOR,
        argument=Argument("RESOURCE", "the address of the change, such as graph.old", required=True),
    ),
    _cluster("status", "Show the ledger, the lock and stored files", "status"),
    _cluster("refresh", "Record what is really there", "refresh"),
    _cluster("import", "Start a ledger from the graphs that are there", "import_state"),
    _cluster(
        "force-unlock",
        "Remove the lock of a command that died",
        "force_unlock",
        argument=Argument("LOCK_ID", "the id that the refused command named", required=True),
    ),
    Command(
        ("queries", "list"),
        Capability.CONTROL,
        "List the stored queries of an applied graph",
        "operate.queries.list_queries",
        _SCOPE,
        options=(JSON,),
        label="queries",
    ),
    Command(
        ("queries", "validate"),
        Capability.CONTROL,
        "Check stored queries against the schema of their graph",
        "operate.queries.validate",
        _SCOPE,
        options=(JSON,),
        label="queries",
    ),
    Command(
        ("policy", "validate"),
        Capability.CONTROL,
        "Compile an applied policy bundle",
        "operate.policy.validate",
        _SCOPE,
        options=(_SERVER_BUNDLE,),
        label="policy",
    ),
    Command(
        ("policy", "test"),
        Capability.CONTROL,
        "Run a file of expected decisions",
        "operate.policy.test",
        _SCOPE,
        options=(Option("--tests", "the file of cases", "FILE", required=True), _SERVER_BUNDLE),
        label="policy",
    ),
    Command(
        ("policy", "explain"),
        Capability.CONTROL,
        "Show how one request is decided, and by which rule",
        "operate.policy.explain",
        _SCOPE,
        options=(
            Option("--actor", "who asks", "ACTOR", required=True),
            Option("--action", "what for", "ACTION", required=True, choices=_ACTIONS),
            Option("--branch", "on which branch", "BRANCH"),
            Option("--target-branch", "with which branch as its target", "BRANCH"),
            _SERVER_BUNDLE,
        ),
        label="policy",
    ),
)
