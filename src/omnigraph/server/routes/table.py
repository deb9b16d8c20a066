"""Every route of the server, in the order of the specification."""

from __future__ import annotations

from omnigraph.server.http.routing import Endpoint, Route
from omnigraph.server.routes import (
    agents,
    assistance,
    batches,
    blobs,
    branches,
    changes,
    commits,
    comparisons,
    describing,
    entities,
    exports,
    feeds,
    health,
    invocations,
    loads,
    permissions,
    reads,
    replays,
    tags,
    writes,
)

_GRAPH = "/graphs/{graph_id}"


def _nested(method: str, path: str, name: str, endpoint: Endpoint) -> Route:
    return Route(method, f"{_GRAPH}{path}", f"cluster_{name}", endpoint)


ROUTES = (
    Route("GET", "/healthz", "health", health.health, authenticated=False),
    Route("GET", "/readyz", "ready", health.ready, authenticated=False),
    Route("GET", "/openapi.json", "openapi", health.openapi, authenticated=False),
    Route("GET", "/metrics", "metrics", health.metrics),
    Route("POST", "/admin/reload", "reload", health.reload),
    Route("GET", "/graphs", "listGraphs", health.list_graphs),
    _nested("GET", "/permissions", "getPermissions", permissions.permissions),
    _nested("GET", "/snapshot", "getSnapshot", reads.snapshot),
    _nested("GET", "/describe", "describe", describing.describe),
    _nested("GET", "/indexes", "listIndexes", describing.indexes),
    _nested("GET", "/moment", "getMoment", describing.moment),
    _nested("GET", "/entities/{type}/{id}", "getEntity", entities.entity),
    _nested("GET", "/entities/{type}/{id}/neighbours", "getNeighbours", entities.neighbours),
    _nested("GET", "/entities/{type}/{id}/blame", "blame", entities.blame),
    _nested("GET", "/blob", "getBlob", blobs.blob),
    _nested("HEAD", "/blob", "headBlob", blobs.blob),
    _nested("POST", "/query", "query", reads.query),
    _nested("POST", "/explain", "explain", reads.explain),
    _nested("POST", "/assist", "assist", assistance.assist),
    _nested("POST", "/export", "export", exports.export),
    _nested("POST", "/mutate", "mutate", writes.mutate),
    _nested("POST", "/mutate/if-graph-commit", "mutate_if_graph_commit", writes.mutate_if),
    _nested("POST", "/mutate/ndjson", "mutateNdjson", batches.mutate_ndjson),
    _nested("GET", "/queries", "list_queries", invocations.list_queries),
    _nested("POST", "/queries/{name}", "invoke_query", invocations.invoke),
    _nested("POST", "/queries/{name}/if-graph-commit", "invoke_query_if_graph_commit", invocations.invoke_if),
    _nested("GET", "/schema", "getSchema", reads.schema),
    _nested("POST", "/schema/plan", "planSchema", assistance.plan_schema),
    _nested("POST", "/schema/apply", "applySchema", writes.apply_schema),
    _nested("POST", "/load", "load", loads.load),
    _nested("POST", "/load/ndjson", "loadNdjson", loads.load_ndjson),
    _nested("GET", "/branches", "listBranches", branches.list_branches),
    _nested("POST", "/branches", "createBranch", branches.create),
    _nested("DELETE", "/branches/{branch}", "deleteBranch", branches.delete),
    _nested("POST", "/branches/merge", "mergeBranches", branches.merge),
    _nested("GET", "/diff", "diff", comparisons.diff),
    _nested("GET", "/log", "log", comparisons.log),
    _nested("GET", "/commits", "listCommits", commits.list_commits),
    _nested("GET", "/commits/{commit_id}", "getCommit", commits.get_commit),
    _nested("POST", "/commits/{commit_id}/revert", "revertCommit", replays.revert),
    _nested("POST", "/commits/{commit_id}/cherry-pick", "cherryPickCommit", replays.cherry_pick),
    _nested("GET", "/tags", "listTags", tags.list_tags),
    _nested("POST", "/tags", "createTag", tags.create),
    _nested("GET", "/tags/{tag}", "getTag", tags.show),
    _nested("DELETE", "/tags/{tag}", "deleteTag", tags.delete),
    _nested("GET", "/commits/{commit_id}/changes", "getCommitChanges", changes.commit_changes),
    _nested("GET", "/changes", "pollChanges", changes.poll),
    _nested("GET", "/changes/stream", "streamChanges", feeds.stream),
    _nested("POST", "/changes/baseline", "captureChangeBaseline", changes.baseline),
    _nested("POST", "/mcp", "agent", agents.serve_agent),
)
