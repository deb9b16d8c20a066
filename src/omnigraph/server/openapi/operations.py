"""The operations of the document: one row per route, with what it takes and every status it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.server.openapi.shapes import TEXT, U64, Shape, listed, one_of, ref

JSON = "application/json"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
EVENTS = "text/event-stream"
PLAIN = "text/plain"
OCTETS = "application/octet-stream"
BINARY: Shape = {"type": "string", "format": "binary"}

_SENTENCES = {
    200: "Success",
    202: "Taken note of",
    206: "A part of the value",
    302: "The value lies elsewhere",
    304: "The client has this value",
    400: "The request makes no sense as it stands",
    401: "No valid bearer token",
    403: "Policy says no",
    404: "Not found",
    405: "The method is not allowed here",
    406: "The client accepts no form that there is",
    409: "Two things cannot both hold",
    410: "History that is needed was reclaimed",
    412: "A precondition does not hold",
    413: "More than a limit allows",
    415: "The content type is not understood",
    416: "The range lies outside the value",
    424: "An external object cannot be read",
    429: "Too many requests of this actor",
    500: "The server failed",
    503: "Not now: an interrupted operation must be recovered first, or the server is stopping",
}
_WRITES = (400, 401, 403, 409, 413, 424, 429, 503)
_READS = (401, 403)
_ADMIN = (400, 401, 403, 404, 409, 429, 503)
_OPTIONAL_BODIES = frozenset(
    {
        "InvokeStoredQueryRequest",
        "ReplayRequest",
        "CheckRequest",
        "OptimizeRequest",
        "EnsureIndicesRequest",
        "CleanupRequest",
        "RepairRequest",
    }
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: `answer` is a component, or a media type of lines or bytes."""

    method: str
    path: str
    name: str
    tag: str
    summary: str
    statuses: tuple[int, ...]
    answer: str | None = None
    body: str | None = None
    query: tuple[Shape, ...] = ()
    headers: tuple[Shape, ...] = ()
    media: tuple[str, ...] = (JSON,)
    error: str = "ErrorOutput"
    open: bool = False  # a token is looked at and not asked for
    public: bool = False  # a token is not even looked at

    def document(self) -> dict[str, Any]:
        """The operation object."""
        parameters = [*_path_parameters(self.path), *self.query, *self.headers]
        found: dict[str, Any] = {"operationId": self.name, "tags": [self.tag], "summary": self.summary}
        if parameters:
            found["parameters"] = parameters
        if self.body is not None:
            found["requestBody"] = _request_body(self.body)
        found["responses"] = {str(status): self._response(status) for status in (200, *sorted(self.statuses))}
        if not self.public:
            # Every route can refuse what no table lists: a malformed graph id, a body that arrives too slowly.
            found["responses"]["default"] = {"description": "Any other refusal", **self._envelope()}
            found["security"] = [{"bearer_token": []}, *([{}] if self.open else [])]
        return found

    def _envelope(self) -> dict[str, Any]:
        return {} if self.method == "head" else {"content": {JSON: {"schema": ref(self.error)}}}

    def _response(self, status: int) -> dict[str, Any]:
        said: dict[str, Any] = {"description": _SENTENCES[status]}
        if status >= 400:
            return {**said, **self._envelope()}
        if status in (202, 302, 304) or self.method == "head" or self.answer is None:
            return said
        return {**said, "content": {kind: {"schema": _content(kind, self.answer)} for kind in self.media}}


def _content(kind: str, answer: str) -> Shape:
    if kind in (JSON,):
        return ref(answer)
    return dict(BINARY) if kind in (ARROW, OCTETS) else dict(TEXT)


def _request_body(body: str) -> dict[str, Any]:
    if body == OCTETS:
        return {"required": True, "content": {OCTETS: {"schema": dict(BINARY)}}}
    if body == NDJSON:
        return {"required": True, "content": {NDJSON: {"schema": TEXT}}}
    required = body not in _OPTIONAL_BODIES
    return {"required": required, "content": {JSON: {"schema": ref(body)}}}


def _path_parameters(path: str) -> list[Shape]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [_path_parameter(name) for name in names]


def _path_parameter(name: str) -> Shape:
    shape = {"type": "string", "pattern": "^[A-Za-z0-9-]{1,64}$"} if name == "graph_id" else {**TEXT, "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": shape}


def _query(name: str, shape: Mapping[str, Any] = TEXT, *, required: bool = False) -> Shape:
    return {"name": name, "in": "query", "required": required, "schema": dict(shape)}


def _header(name: str, *, required: bool = False) -> Shape:
    return {"name": name, "in": "header", "required": required, "schema": TEXT}


_BRANCH = _query("branch")
_FILTERS = (
    _query("limit", {"type": "integer", "format": "int32", "minimum": 1, "maximum": 8192}),
    _query("kind", listed(ref("EntityKindOutput"))),
    _query("type", listed(TEXT)),
    _query("op", listed(ref("ChangeOpOutput"))),
)
_WAIT = _header("Prefer")
_CONDITION = (_header("Omnigraph-If-Graph-Commit", required=True), _WAIT)
_WRITE = (_header("If-Match"), _WAIT)
_BLOB = (
    _query("entity", ref("BlobEntityKind"), required=True),
    _query("type", required=True),
    _query("id", required=True),
    _query("property", required=True),
    _BRANCH,
    _query("snapshot"),
    _query("at"),
)
_AT = (_BRANCH, _query("snapshot"), _query("at"))
_CONDITIONS = tuple(_header(name) for name in ("If-Match", "If-None-Match"))
_RANGE = tuple(_header(name) for name in ("If-Range", "Range"))
_MODE = _query("mode", one_of("overwrite", "append", "merge", "patch"))
_HISTORY = (
    _query("limit", {"type": "integer", "format": "int32", "minimum": 0}),
    _query("actor"),
    _query("kind", ref("CommitKind")),
    *(_query(name) for name in ("since", "until", "type", "message")),
    _query("maintenance", {"type": "boolean"}),
)
_G = "/graphs/{graph_id}"

# fmt: off
OPERATIONS = (
    Operation("get", "/healthz", "health", "health", "Liveness", (), "HealthOutput", public=True),
    Operation("get", "/readyz", "ready", "health", "Readiness", (503,), "ReadyOutput", open=True),
    Operation("get", "/openapi.json", "openapi", "management", "This document", (), "ApiDocument", public=True),
    Operation("get", "/metrics", "metrics", "management", "Counters for Prometheus", (401, 404), "text",
              media=(PLAIN,)),
    Operation("post", "/admin/reload", "reload", "management", "Read the applied revision and the tokens again",
              (401, 403, 409), "ReloadOutput"),
    Operation("get", "/graphs", "listGraphs", "management", "List served graphs", (401, 403, 405), "GraphListResponse"),
    Operation("get", f"{_G}/permissions", "cluster_getPermissions", "management", "What the sender may do on a branch",
              (400, 401), "PermissionsOutput", query=(_BRANCH,)),
    Operation("get", f"{_G}/snapshot", "cluster_getSnapshot", "snapshots", "Show published datasets", _READS,
              "SnapshotOutput", query=_AT),
    Operation("get", f"{_G}/describe", "cluster_describe", "snapshots", "Describe a graph", (*_READS, 404, 410),
              "DescriptionOutput", query=_AT),
    Operation("get", f"{_G}/indexes", "cluster_listIndexes", "snapshots", "List indexes", (*_READS, 404),
              "IndexListOutput", query=(_BRANCH,)),
    Operation("get", f"{_G}/moment", "cluster_getMoment", "commits", "The commit of a version or an instant",
              (400, 401, 403, 404, 410), "CommitOutput",
              query=(_BRANCH, _query("commit"), _query("version", U64), _query("time"))),
    Operation("get", f"{_G}/entities/{{type}}/{{id}}", "cluster_getEntity", "entities", "Show an entity",
              (400, 401, 403, 404, 410), "EntityOutput", query=_AT),
    Operation("get", f"{_G}/entities/{{type}}/{{id}}/neighbours", "cluster_getNeighbours", "entities",
              "The edges of a node, counted, and a page of each", (400, 401, 403, 404, 410), "NeighbourhoodOutput",
              query=(*_AT, _query("edge"), _query("direction", one_of("out", "in")), _query("after"),
                     _query("limit", {"type": "integer", "format": "int32", "minimum": 0, "maximum": 1000}))),
    Operation("get", f"{_G}/entities/{{type}}/{{id}}/blame", "cluster_blame", "entities",
              "The commit behind each value of an entity", (400, 401, 403, 404, 410), "BlameOutput", query=_AT),
    Operation("get", f"{_G}/entities/{{type}}/{{id}}/history", "cluster_entityHistory", "entities",
              "The commits that changed an entity, newest first", (400, 401, 403, 404, 410), "EntityHistoryOutput",
              query=(*_AT, _query("after"),
                     _query("limit", {"type": "integer", "format": "int32", "minimum": 1, "maximum": 1000}))),
    Operation("get", f"{_G}/blob", "cluster_getBlob", "blobs", "Read a blob",
              (206, 302, 304, 400, 401, 403, 404, 412, 416, 500), "blob", query=_BLOB, headers=(*_CONDITIONS, *_RANGE),
              media=(OCTETS,)),
    Operation("head", f"{_G}/blob", "cluster_headBlob", "blobs", "Look at a blob",
              (302, 304, 400, 401, 403, 404, 412, 500), "blob", query=_BLOB, headers=_CONDITIONS),
    Operation("post", f"{_G}/query", "cluster_query", "queries", "Run a read",
              (400, 401, 403, 413, 429, 503), "ReadOutput", "QueryRequest",
              headers=(_header("Prefer"),), media=(JSON, NDJSON, ARROW)),
    Operation("post", f"{_G}/explain", "cluster_explain", "queries", "The plan of a read, and what it costs",
              (400, 401, 403, 404, 413, 429, 503), "ExplainOutput", "ExplainRequest", headers=(_header("Prefer"),)),
    Operation("post", f"{_G}/assist", "cluster_assist", "queries", "Findings, completion, meanings and layout",
              (400, 401, 403, 404), "AssistOutput", "AssistRequest"),
    Operation("post", f"{_G}/export", "cluster_export", "queries", "Export entities as lines",
              (400, 401, 403, 404, 409, 413, 415, 503), "lines", "ExportRequest", media=(NDJSON,)),
    Operation("post", f"{_G}/mutate", "cluster_mutate", "mutations", "Run a mutation", (*_WRITES, 412),
              "ChangeOutput", "ChangeRequest", headers=_WRITE),
    Operation("post", f"{_G}/mutate/if-graph-commit", "cluster_mutate_if_graph_commit", "mutations",
              "Run a mutation if the branch is at a commit", (*_WRITES, 412), "ChangeOutput", "ChangeRequest",
              headers=_CONDITION),
    Operation("post", f"{_G}/mutate/ndjson", "cluster_mutateNdjson", "mutations", "Run a batch of mutations",
              (*_WRITES, 412, 415), "BatchOutput", NDJSON,
              query=(_BRANCH, _query("if_commit"), _query("message")), headers=_WRITE),
    Operation("get", f"{_G}/queries", "cluster_list_queries", "queries", "List stored queries", _READS,
              "QueriesCatalogOutput", query=(_BRANCH,)),
    Operation("post", f"{_G}/queries/{{name}}", "cluster_invoke_query", "queries", "Invoke a stored query",
              (*_WRITES, 404, 412, 500), "InvokeStoredQueryResponse", "InvokeStoredQueryRequest", headers=_WRITE,
              media=(JSON, NDJSON, ARROW)),
    Operation("post", f"{_G}/queries/{{name}}/if-graph-commit", "cluster_invoke_query_if_graph_commit", "queries",
              "Invoke a stored mutation if the branch is at a commit", (*_WRITES, 404, 412, 500),
              "InvokeStoredQueryResponse", "InvokeStoredQueryRequest", headers=_CONDITION),
    Operation("get", f"{_G}/schema", "cluster_getSchema", "schema", "Show the schema", (*_READS, 404, 410),
              "SchemaOutput", query=_AT),
    Operation("post", f"{_G}/schema/plan", "cluster_planSchema", "schema", "What a schema change would do",
              (400, 401, 403, 404), "SchemaPlanOutput", "SchemaPlanRequest"),
    Operation("post", f"{_G}/schema/apply", "cluster_applySchema", "mutations", "Change the schema of a branch",
              (400, 401, 403, 404, 409, 429), "SchemaApplyOutput", "SchemaApplyRequest"),
    Operation("post", f"{_G}/load", "cluster_load", "mutations", "Load records", (*_WRITES, 412), "IngestOutput",
              "IngestRequest", headers=_WRITE),
    Operation("post", f"{_G}/load/ndjson", "cluster_loadNdjson", "mutations", "Load a batch of lines",
              (*_WRITES, 404, 412, 415), "GraphBatchLoadOutput", NDJSON,
              query=(_BRANCH, _query("from"), _MODE, _query("dry_run", {"type": "boolean"}),
                     _query("on_error", one_of("stop", "skip")), _query("if_commit"), _query("message")),
              headers=_WRITE),
    Operation("post", f"{_G}/load/files", "cluster_loadFiles", "mutations", "Load uploaded files, or only check them",
              (*_WRITES, 404, 412, 415), "LoadFilesOutput", "LoadFilesRequest", headers=_WRITE, media=(JSON, NDJSON)),
    Operation("get", f"{_G}/uploads", "cluster_listUploads", "uploads", "List uploaded files", (400, *_READS),
              "UploadListOutput", query=(_BRANCH,)),
    Operation("put", f"{_G}/uploads/{{file}}", "cluster_upload", "uploads", "Upload a file",
              (400, 401, 403, 413, 429, 503), "UploadOutput", OCTETS, query=(_BRANCH,)),
    Operation("delete", f"{_G}/uploads/{{file}}", "cluster_deleteUpload", "uploads", "Remove an uploaded file",
              (400, 401, 403, 404), "UploadDeleteOutput", query=(_BRANCH,)),
    Operation("post", f"{_G}/infer", "cluster_infer", "uploads", "A schema and a mapping for uploaded files",
              (400, 401, 403, 404, 413, 415, 429, 503), "InferOutput", "InferRequest"),
    Operation("get", f"{_G}/branches", "cluster_listBranches", "branches", "List branches", _READS,
              "BranchListOutput"),
    Operation("post", f"{_G}/branches", "cluster_createBranch", "branches", "Create a branch",
              (400, 401, 403, 409, 429, 503), "BranchCreateOutput", "BranchCreateRequest"),
    Operation("delete", f"{_G}/branches/{{branch}}", "cluster_deleteBranch", "branches", "Delete a branch",
              (401, 403, 404, 429, 503), "BranchDeleteOutput"),
    Operation("post", f"{_G}/branches/{{branch}}/rename", "cluster_renameBranch", "branches", "Rename a branch",
              (400, 401, 403, 404, 409, 429, 503), "BranchRenameOutput", "BranchRenameRequest"),
    Operation("post", f"{_G}/branches/merge", "cluster_mergeBranches", "branches", "Merge branches, or preview it",
              (*_WRITES, 404), "BranchMergeOutput", "BranchMergeRequest", headers=(_WAIT,)),
    Operation("get", f"{_G}/diff", "cluster_diff", "commits", "What differs between two points",
              (400, 401, 403, 404, 409, 410, 413), "DiffOutput",
              query=(_query("from", required=True), _query("to"), _BRANCH, _query("page_token"), *_FILTERS)),
    Operation("get", f"{_G}/log", "cluster_log", "commits", "The history as a graph", (400, *_READS, 404), "LogOutput",
              query=(_BRANCH, _query("every_branch", {"type": "boolean"}), *_HISTORY)),
    Operation("get", f"{_G}/commits", "cluster_listCommits", "commits", "List commits", _READS, "CommitListOutput",
              query=(_BRANCH, *_HISTORY)),
    Operation("get", f"{_G}/commits/{{commit_id}}", "cluster_getCommit", "commits", "Show a commit", (*_READS, 404),
              "CommitOutput"),
    Operation("post", f"{_G}/commits/{{commit_id}}/revert", "cluster_revertCommit", "commits", "Undo a commit",
              (*_WRITES, 404, 410), "ReplayOutput", "ReplayRequest", headers=(_WAIT,)),
    Operation("post", f"{_G}/commits/{{commit_id}}/cherry-pick", "cluster_cherryPickCommit", "commits",
              "Repeat a commit on a branch", (*_WRITES, 404, 410), "ReplayOutput", "ReplayRequest", headers=(_WAIT,)),
    Operation("get", f"{_G}/tags", "cluster_listTags", "tags", "List tags", _READS, "TagListOutput"),
    Operation("post", f"{_G}/tags", "cluster_createTag", "tags", "Name a commit",
              (400, 401, 403, 404, 409, 410, 429, 503), "TagOutput", "TagCreateRequest"),
    Operation("get", f"{_G}/tags/{{tag}}", "cluster_getTag", "tags", "Show a tag", (*_READS, 404), "TagOutput"),
    Operation("delete", f"{_G}/tags/{{tag}}", "cluster_deleteTag", "tags", "Remove a tag", (401, 403, 404, 429, 503),
              "TagDeleteOutput"),
    Operation("get", f"{_G}/commits/{{commit_id}}/changes", "cluster_getCommitChanges", "changes",
              "What a commit changed", (400, 401, 404, 409, 410, 413, 500, 503), "CommitChangesOutput",
              query=(_query("page_token"), *_FILTERS), error="ChangeErrorOutput"),
    Operation("get", f"{_G}/changes", "cluster_pollChanges", "changes", "Poll the change feed",
              (400, 401, 403, 404, 409, 410, 413, 500, 503), "ChangeFeedOutput",
              query=(_BRANCH, _query("cursor"), _query("start"), _query("page_token"), *_FILTERS),
              error="ChangeErrorOutput"),
    Operation("get", f"{_G}/changes/stream", "cluster_streamChanges", "changes", "Follow the change feed",
              (400, 401, 403, 404, 409, 410, 413, 429, 500, 503), "events",
              query=(_BRANCH, _query("cursor"), _query("start"), _query("page_token"), *_FILTERS),
              headers=(_header("Last-Event-ID"),), media=(EVENTS,), error="ChangeErrorOutput"),
    Operation("post", f"{_G}/changes/baseline", "cluster_captureChangeBaseline", "changes",
              "Everything a branch holds, and where its changes continue", (400, 401, 403, 404, 413, 500, 503),
              "lines", "ChangeBaselineRequest", media=(NDJSON,), error="ChangeErrorOutput"),
    Operation("post", f"{_G}/maintenance/check", "cluster_check", "maintenance", "Verify a graph", _ADMIN,
              "CheckOutput", "CheckRequest"),
    Operation("post", f"{_G}/maintenance/optimize", "cluster_optimize", "maintenance", "Compact and index", _ADMIN,
              "OptimizeOutput", "OptimizeRequest"),
    Operation("post", f"{_G}/maintenance/indexes", "cluster_ensureIndices", "maintenance", "Build missing indexes",
              _ADMIN, "EnsureIndicesOutput", "EnsureIndicesRequest"),
    Operation("post", f"{_G}/maintenance/cleanup", "cluster_cleanup", "maintenance", "Remove old versions", _ADMIN,
              "CleanupOutput", "CleanupRequest"),
    Operation("post", f"{_G}/maintenance/repair", "cluster_repair", "maintenance", "Publish what was not published",
              _ADMIN, "RepairOutput", "RepairRequest"),
    Operation("get", f"{_G}/pipelines/runs", "cluster_listPipelineRuns", "maintenance",
              "List the runs of pipelines, those that go on with their progress", (400, 401, 403, 404, 503),
              "PipelineRunListOutput",
              query=(_query("pipeline"),
                     _query("limit", {"type": "integer", "format": "int32", "minimum": 0, "maximum": 1000}))),
    Operation("post", f"{_G}/mcp", "cluster_agent", "agents", "Speak the Model Context Protocol",
              (202, 400, 401, 403, 404, 406, 413, 415), "AgentMessage", "AgentMessage", query=(_BRANCH,),
              error="AgentErrorOutput"),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Accepted:
    """The query parameters and headers that a route reads."""

    parameters: frozenset[str]
    headers: frozenset[str]


NOTHING_ACCEPTED = Accepted(frozenset(), frozenset())
ACCEPTED: Mapping[tuple[str, str], Accepted] = {
    (each.method.upper(), each.path): Accepted(
        frozenset(one["name"] for one in each.query), frozenset(one["name"] for one in each.headers)
    )
    for each in OPERATIONS
}
