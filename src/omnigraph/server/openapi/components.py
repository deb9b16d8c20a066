"""The component schemas of the document: what travels in requests and answers."""

from __future__ import annotations

from typing import Any

from omnigraph.server.openapi.shapes import (
    ANY_OBJECT,
    COUNT,
    FLAG,
    I64,
    TEXT,
    U64,
    Shape,
    listed,
    one_of,
    or_null,
    record,
    ref,
)
from omnigraph.storage.manifest.note import KINDS

_NULL_TEXT = or_null(TEXT)
_NULL_OBJECT: Shape = {"type": ["object", "null"], "additionalProperties": True}
_KIND = ref("EntityKindOutput")

WORDS: dict[str, Shape] = {
    "BlobEntityKind": one_of("node", "edge"),
    "BranchMergeOutcome": one_of("already_up_to_date", "fast_forward", "merged"),
    "ChangeDiffRefusalReason": one_of("parentless_commit", "schema_boundary", "unknown"),
    "ChangeOpOutput": one_of("insert", "update", "delete"),
    "CommitKind": one_of(*KINDS),
    "EntityKindOutput": one_of("node", "edge"),
    "ErrorCode": one_of(
        "unauthorized",
        "forbidden",
        "bad_request",
        "not_found",
        "method_not_allowed",
        "conflict",
        "too_many_requests",
        "internal",
    ),
    "LoadMode": one_of("overwrite", "append", "merge"),
    "MergeConflictKindOutput": one_of(
        "divergent_insert",
        "divergent_update",
        "delete_vs_update",
        "orphan_edge",
        "unique_violation",
        "cardinality_violation",
        "value_constraint_violation",
        "schema_conflict",
    ),
    "ParamKind": one_of("string", "bool", "int", "bigint", "float", "date", "datetime", "blob", "vector", "list"),
}

DETAILS: dict[str, Shape] = {
    "BlobRangeOutput": record("A range that a blob does not have, half-open.", start=U64, end=U64, length=U64),
    "ChangeDiffRefusalOutput": record(
        "Why a commit cannot be compared with its parent.",
        ("type_name",),
        reason=ref("ChangeDiffRefusalReason"),
        graph_commit_id=TEXT,
        type_name=TEXT,
    ),
    "ChangeFeedGapOutput": record(
        "Where readable history begins too late.", ("cursor",), cursor=TEXT, first_unreadable_commit_id=TEXT
    ),
    "ExternalBlobSourceOutput": record("An external object that could not be read.", uri=TEXT, reason=TEXT),
    "KeyConflictOutput": record(
        "An id that exists already.", ("entity_id",), entity_kind=_KIND, type_name=TEXT, entity_id=TEXT
    ),
    "MergeConflictOutput": record(
        "One reason why two branches do not fit together.",
        entity_kind=_KIND,
        type_name=TEXT,
        entity_id=_NULL_TEXT,
        kind=ref("MergeConflictKindOutput"),
        message=TEXT,
    ),
    "OtherChangeOutput": record(
        "What somebody else changed of what a write depends on, and in which commit.",
        entity_kind=_KIND,
        type_name=TEXT,
        entity_ids=listed(TEXT),
        graph_commit_id=_NULL_TEXT,
        actor_id=_NULL_TEXT,
    ),
    "PreconditionFailureOutput": record("The head that was expected.", ("actual",), expected=TEXT, actual=TEXT),
    "PublishedDatasetVersionConflictOutput": record(
        "A type whose data was published by somebody else first.",
        entity_kind=_KIND,
        type_name=TEXT,
        expected_published_dataset_version=U64,
        actual_published_dataset_version=U64,
    ),
    "ReadSetConflictOutput": record(
        "What changed under a prepared write.",
        ("attempts", "change"),
        member=TEXT,
        expected=_NULL_TEXT,
        actual=_NULL_TEXT,
        attempts=COUNT,
        change=ref("OtherChangeOutput"),
    ),
    "RecoveryRequiredOutput": record("The operation in the way.", operation_id=TEXT),
    "ResourceLimitOutput": record("A limit and what passed it.", resource=TEXT, limit=U64, actual=U64),
}

_CHANGE_DETAILS = {
    "resource_limit": ref("ResourceLimitOutput"),
    "recovery_required": ref("RecoveryRequiredOutput"),
    "change_feed_gap": ref("ChangeFeedGapOutput"),
    "change_diff_refusal": ref("ChangeDiffRefusalOutput"),
}
_ALL_DETAILS = {
    "merge_conflicts": listed(ref("MergeConflictOutput")),
    "published_dataset_version_conflict": ref("PublishedDatasetVersionConflictOutput"),
    "read_set_conflict": ref("ReadSetConflictOutput"),
    "key_conflict": ref("KeyConflictOutput"),
    "blob_range": ref("BlobRangeOutput"),
    "external_blob_source": ref("ExternalBlobSourceOutput"),
    "precondition_failure": ref("PreconditionFailureOutput"),
    **_CHANGE_DETAILS,
}

ERRORS: dict[str, Shape] = {
    "ErrorOutput": record(
        "Every refusal; at most one detail member says more.",
        ("code", *_ALL_DETAILS),
        error=TEXT,
        code=ref("ErrorCode"),
        **_ALL_DETAILS,
    ),
    "ChangeErrorOutput": record(
        "A refusal of a change route.",
        ("code", *_CHANGE_DETAILS),
        error=TEXT,
        code=ref("ErrorCode"),
        **_CHANGE_DETAILS,
    ),
}

REQUESTS: dict[str, Shape] = {
    "BranchCreateRequest": record("A branch to fork.", ("from",), name=TEXT, from_=_NULL_TEXT),
    "BranchMergeRequest": record(
        "Branches to merge.",
        ("target", "delete_branch", "message"),
        source=TEXT,
        target=_NULL_TEXT,
        delete_branch=FLAG,
        message=_NULL_TEXT,
    ),
    "ChangeBaselineRequest": record(
        "Which entities a baseline holds, and which changes its cursor continues with.",
        ("branch", "kind", "type", "op"),
        branch=_NULL_TEXT,
        kind=listed(_KIND),
        type_=listed(TEXT),
        op=listed(ref("ChangeOpOutput")),
    ),
    "ChangeRequest": record(
        "A mutation.",
        ("name", "params", "branch", "message"),
        query=TEXT,
        name=_NULL_TEXT,
        params=_NULL_OBJECT,
        branch=_NULL_TEXT,
        message=_NULL_TEXT,
    ),
    "ExportRequest": {
        **record(
            "What to export.",
            ("branch", "snapshot", "type_names"),
            branch=_NULL_TEXT,
            snapshot=_NULL_TEXT,
            type_names=listed(TEXT),
        ),
        "additionalProperties": False,
    },
    "IngestRequest": record(
        "Records to load.",
        ("branch", "from", "mode", "message"),
        data=TEXT,
        branch=_NULL_TEXT,
        from_=_NULL_TEXT,
        mode=or_null(ref("LoadMode")),
        message=_NULL_TEXT,
    ),
    "InvokeStoredQueryRequest": record(
        "Parameters of a stored query.",
        ("params", "branch", "snapshot", "expect_mutation", "message"),
        params=_NULL_OBJECT,
        branch=_NULL_TEXT,
        snapshot=_NULL_TEXT,
        expect_mutation=or_null(FLAG),
        message=_NULL_TEXT,
    ),
    "QueryRequest": record(
        "A read.",
        ("name", "params", "branch", "snapshot"),
        query=TEXT,
        name=_NULL_TEXT,
        params=_NULL_OBJECT,
        branch=_NULL_TEXT,
        snapshot=_NULL_TEXT,
    ),
    "SchemaApplyRequest": record(
        "The schema to change to, and the branch it is for.",
        ("allow_data_loss", "branch", "message"),
        schema_source=TEXT,
        allow_data_loss=FLAG,
        branch=_NULL_TEXT,
        message=_NULL_TEXT,
    ),
}

_LOADED = {
    "branch": TEXT,
    "base_branch": _NULL_TEXT,
    "branch_created": FLAG,
    "mode": ref("LoadMode"),
    "nodes": listed(ref("GraphBatchDeclarationOutput")),
    "edges": listed(ref("GraphBatchDeclarationOutput")),
    "total_entities": COUNT,
    "actor_id": _NULL_TEXT,
    "commit": or_null(ref("CommitOutput")),
}

ANSWERS: dict[str, Shape] = {
    "AgentErrorOutput": {"anyOf": [ref("ErrorOutput"), ref("AgentMessage")]},
    "AgentMessage": {**ANY_OBJECT, "description": "A message of the Model Context Protocol, which is JSON-RPC."},
    "ApiDocument": {**ANY_OBJECT, "description": "An OpenAPI document."},
    "BatchOutput": record(
        "What a batch of mutations did.",
        branch=TEXT,
        mutations=COUNT,
        affected_nodes=COUNT,
        affected_edges=COUNT,
        actor_id=_NULL_TEXT,
        commit=or_null(ref("CommitOutput")),
    ),
    "BranchCreateOutput": record("A new branch.", uri=TEXT, from_=TEXT, name=TEXT, actor_id=_NULL_TEXT),
    "BranchDeleteOutput": record("A branch that is gone.", uri=TEXT, name=TEXT, actor_id=_NULL_TEXT),
    "BranchListOutput": record("Branches by name.", branches=listed(TEXT)),
    "BranchMergeOutput": record(
        "How a merge went.",
        ("branch_deleted", "branch_delete_error"),
        source=TEXT,
        target=TEXT,
        outcome=ref("BranchMergeOutcome"),
        actor_id=_NULL_TEXT,
        commit=or_null(ref("CommitOutput")),
        branch_deleted=FLAG,
        branch_delete_error=TEXT,
    ),
    "ChangeBaselineOutput": record("Where a baseline ends.", snapshot_commit_id=TEXT, resume_cursor=TEXT),
    "ChangeBaselineRecord": record("The last line of a baseline.", baseline=ref("ChangeBaselineOutput")),
    "ChangeBlockOutput": record(
        "A commit and its changes.", cause=ref("ChangeCauseOutput"), changes=listed(ref("EntityChangeOutput"))
    ),
    "ChangeCauseOutput": record(
        "The commit behind changes.",
        ("parent_commit_id", "merged_parent_commit_id", "actor_id"),
        graph_commit_id=TEXT,
        parent_commit_id=TEXT,
        merged_parent_commit_id=TEXT,
        authored_branch=TEXT,
        actor_id=TEXT,
        authored_at=I64,
    ),
    "ChangeEndpointsOutput": record("The ends of an edge.", from_=TEXT, to=TEXT),
    "ChangeFeedOutput": record(
        "One poll of the feed.",
        ("next_page_token", "cursor", "caught_up"),
        blocks=listed(ref("ChangeBlockOutput")),
        next_page_token=TEXT,
        cursor=TEXT,
        caught_up=FLAG,
    ),
    "ChangeImageOutput": record(
        "An entity before or after a change.",
        ("endpoints",),
        properties=ANY_OBJECT,
        endpoints=ref("ChangeEndpointsOutput"),
    ),
    "ChangeOutput": record(
        "What a mutation did.",
        branch=TEXT,
        query_name=TEXT,
        affected_nodes=COUNT,
        affected_edges=COUNT,
        actor_id=_NULL_TEXT,
        commit=or_null(ref("CommitOutput")),
    ),
    "ChangeTypeOutput": record("A type; its id survives a rename.", id=TEXT, name=TEXT),
    "CommitChangesOutput": record(
        "One page of a commit's changes.",
        ("next_page_token",),
        cause=ref("ChangeCauseOutput"),
        changes=listed(ref("EntityChangeOutput")),
        next_page_token=TEXT,
    ),
    "CommitListOutput": record("Commits, newest first.", commits=listed(ref("CommitOutput"))),
    "CommitOutput": record(
        "One commit; its branch is null for main, its time is in microseconds, its kind null where an older release"
        " made it.",
        graph_commit_id=TEXT,
        graph_branch=_NULL_TEXT,
        graph_manifest_version=U64,
        parent_commit_id=_NULL_TEXT,
        merged_parent_commit_id=_NULL_TEXT,
        actor_id=_NULL_TEXT,
        created_at=I64,
        kind=_NULL_TEXT,
        message=_NULL_TEXT,
        query=_NULL_TEXT,
        counts={"type": "object", "additionalProperties": ref("RowCountsOutput")},
        recovered_by=_NULL_TEXT,
    ),
    "EntityChangeOutput": record(
        "One change of one entity.",
        ("before", "after"),
        kind=_KIND,
        type_=ref("ChangeTypeOutput"),
        id=TEXT,
        op=ref("ChangeOpOutput"),
        before=ref("ChangeImageOutput"),
        after=ref("ChangeImageOutput"),
    ),
    "GraphBatchDeclarationOutput": record("Entities loaded of one type.", name=TEXT, entities_loaded=COUNT),
    "GraphBatchLoadOutput": record("What a batch did.", (), **_LOADED),
    "GraphInfo": record("A served graph.", graph_id=TEXT, uri=TEXT),
    "GraphListResponse": record("The served graphs.", graphs=listed(ref("GraphInfo"))),
    "HealthOutput": record("Alive.", status=TEXT, version=TEXT, internal_schema_version=COUNT),
    "ReadyGraphs": record("How many graphs are served, and how many are left out.", served=COUNT, quarantined=COUNT),
    "ReadyOutput": record(
        "Ready for requests; the rest is for those who may list graphs.",
        ("revision", "graphs", "quarantined", "reload_failed"),
        status=TEXT,
        revision=or_null(COUNT),
        graphs=ref("ReadyGraphs"),
        quarantined=listed(TEXT),
        reload_failed=FLAG,
    ),
    "IngestOutput": record("What a load did.", (), uri=TEXT, **_LOADED),
    "InvokeStoredQueryResponse": {"anyOf": [ref("ReadOutput"), ref("ChangeOutput")]},
    "ParamDescriptor": record(
        "A parameter of a stored query.",
        ("item_kind", "vector_dim"),
        name=TEXT,
        kind=ref("ParamKind"),
        item_kind=ref("ParamKind"),
        vector_dim=COUNT,
        nullable=FLAG,
        has_default=FLAG,
    ),
    "QueriesCatalogOutput": record("The stored queries.", queries=listed(ref("QueryCatalogEntry"))),
    "QueryCatalogEntry": record(
        "One stored query.",
        ("description", "instruction"),
        name=TEXT,
        tool_name=TEXT,
        description=TEXT,
        instruction=TEXT,
        mutation=FLAG,
        params=listed(ref("ParamDescriptor")),
    ),
    "ReadOutput": record(
        "Rows, and the commit they were read at.",
        ("columns", "graph_commit_id"),
        query_name=TEXT,
        target=ref("ReadTargetOutput"),
        row_count=COUNT,
        columns=listed(TEXT),
        rows=listed(ANY_OBJECT),
        graph_commit_id=TEXT,
    ),
    "ReadTargetOutput": record("What was asked for.", branch=_NULL_TEXT, snapshot=_NULL_TEXT),
    "RowCountsOutput": record("Entities of one type.", inserted=COUNT, updated=COUNT, deleted=COUNT),
    "SchemaApplyOutput": record(
        "What a schema change did.",
        uri=TEXT,
        supported=FLAG,
        applied=FLAG,
        step_count=COUNT,
        graph_manifest_version=U64,
        steps=listed(ANY_OBJECT),
    ),
    "SchemaOutput": record("The accepted schema.", schema_source=TEXT),
    "SnapshotDatasetOutput": record(
        "The published data of one type.",
        entity_kind=_KIND,
        type_name=TEXT,
        dataset_path=TEXT,
        published_dataset_version=U64,
        native_dataset_branch=_NULL_TEXT,
        entity_count=U64,
    ),
    "SnapshotOutput": record(
        "What a branch publishes.",
        graph_branch=TEXT,
        graph_manifest_version=U64,
        internal_schema_version=COUNT,
        datasets=listed(ref("SnapshotDatasetOutput")),
    ),
}


def schemas() -> dict[str, Any]:
    """Every component, by name."""
    return dict(sorted({**WORDS, **DETAILS, **ERRORS, **REQUESTS, **ANSWERS}.items()))
