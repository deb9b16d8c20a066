"""The actions that a policy can allow, and what each of them is about."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Literal

BundleKind = Literal["graph", "server"]


class Action(StrEnum):
    """What an actor wants to do."""

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_CREATE = "branch_create"
    BRANCH_DELETE = "branch_delete"
    BRANCH_MERGE = "branch_merge"
    ADMIN = "admin"
    INVOKE_QUERY = "invoke_query"
    GRAPH_LIST = "graph_list"
    METRICS = "metrics"
    RELOAD = "reload"


class About(Enum):
    """Which branch a rule for an action may be limited by."""

    BRANCH = "branch_scope"
    TARGET = "target_branch_scope"
    NEITHER = "no scope"


ABOUT: Mapping[Action, About] = {
    Action.READ: About.BRANCH,
    Action.EXPORT: About.BRANCH,
    Action.CHANGE: About.BRANCH,
    Action.SCHEMA_APPLY: About.TARGET,
    Action.BRANCH_CREATE: About.TARGET,
    Action.BRANCH_DELETE: About.TARGET,
    Action.BRANCH_MERGE: About.TARGET,
    Action.ADMIN: About.NEITHER,
    Action.INVOKE_QUERY: About.NEITHER,
    Action.GRAPH_LIST: About.NEITHER,
    Action.METRICS: About.NEITHER,
    Action.RELOAD: About.NEITHER,
}


def kind_of(action: Action) -> BundleKind:
    """Whether an action is about one graph or about the server."""
    return "server" if action in (Action.GRAPH_LIST, Action.METRICS, Action.RELOAD) else "graph"
