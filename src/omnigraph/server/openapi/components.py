"""The component schemas of the document: words, errors and requests; those of the answers are in `answers`."""

from __future__ import annotations

from typing import Any

from omnigraph.server.openapi.answers import ANSWERS
from omnigraph.server.openapi.inspection import INSPECTION, INSPECTION_REQUESTS
from omnigraph.server.openapi.shapes import (
    ANY_OBJECT,
    COUNT,
    FLAG,
    TEXT,
    U64,
    Shape,
    listed,
    one_of,
    or_null,
    record,
    ref,
)
from omnigraph.server.openapi.uploading import UPLOADING, UPLOADING_REQUESTS
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
    "LoadMode": one_of("overwrite", "append", "merge", "patch"),
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
        "One reason why two branches do not fit together; the properties in which the rows differ, and their values.",
        ("properties", "base", "ours", "theirs"),
        entity_kind=_KIND,
        type_name=TEXT,
        entity_id=_NULL_TEXT,
        kind=ref("MergeConflictKindOutput"),
        message=TEXT,
        properties=listed(TEXT),
        base=ANY_OBJECT,
        ours=ANY_OBJECT,
        theirs=ANY_OBJECT,
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
    "RefusedRowsOutput": record(
        "How many rows a load refuses, by code, each once under what is wrong with it first; others in words.",
        counts={"type": "object", "additionalProperties": COUNT},
        others=listed(TEXT),
    ),
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
    "refused_rows": ref("RefusedRowsOutput"),
    "blob_range": ref("BlobRangeOutput"),
    "external_blob_source": ref("ExternalBlobSourceOutput"),
    "precondition_failure": ref("PreconditionFailureOutput"),
    **_CHANGE_DETAILS,
}

ERRORS: dict[str, Shape] = {
    "ErrorOutput": record(
        "Every refusal; at most one detail member says more, and `refused_rows` what else a load refuses.",
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

_SETTLING: dict[str, Shape] = {
    "preview": FLAG,
    "strategy": one_of("fail", "ours", "theirs"),
    "properties": one_of("whole", "disjoint"),
    "resolve": _NULL_OBJECT,
    "message": _NULL_TEXT,
}

REQUESTS: dict[str, Shape] = {
    "BranchCreateRequest": record("A branch to fork.", ("from",), name=TEXT, from_=_NULL_TEXT),
    "BranchRenameRequest": record("What a branch is called from now on.", name=TEXT),
    "BranchMergeRequest": record(
        "Branches to merge.",
        ("target", "delete_branch", *_SETTLING),
        source=TEXT,
        target=_NULL_TEXT,
        delete_branch=FLAG,
        **_SETTLING,
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
        ("name", "params", "branch", "if_commit", "message"),
        query=TEXT,
        name=_NULL_TEXT,
        params=_NULL_OBJECT,
        branch=_NULL_TEXT,
        if_commit=_NULL_TEXT,
        message=_NULL_TEXT,
    ),
    "ExportRequest": record(
        "What to export.",
        ("branch", "snapshot", "at", "type_names"),
        branch=_NULL_TEXT,
        snapshot=_NULL_TEXT,
        at=_NULL_TEXT,
        type_names=listed(TEXT),
    ),
    "IngestRequest": record(
        "Records to load.",
        ("branch", "from", "mode", "dry_run", "on_error", "if_commit", "message"),
        data=TEXT,
        branch=_NULL_TEXT,
        from_=_NULL_TEXT,
        mode=or_null(ref("LoadMode")),
        dry_run=FLAG,
        on_error=one_of("stop", "skip"),
        if_commit=_NULL_TEXT,
        message=_NULL_TEXT,
    ),
    "InvokeStoredQueryRequest": record(
        "Parameters of a stored query.",
        ("params", "branch", "snapshot", "at", "expect_mutation", "if_commit", "message"),
        params=_NULL_OBJECT,
        branch=_NULL_TEXT,
        snapshot=_NULL_TEXT,
        at=_NULL_TEXT,
        expect_mutation=or_null(FLAG),
        if_commit=_NULL_TEXT,
        message=_NULL_TEXT,
    ),
    "QueryRequest": record(
        "A read, of a branch, of a commit (`snapshot`), or of a commit as the branch sees it (`at`).",
        ("name", "params", "branch", "snapshot", "at"),
        query=TEXT,
        name=_NULL_TEXT,
        params=_NULL_OBJECT,
        branch=_NULL_TEXT,
        snapshot=_NULL_TEXT,
        at=_NULL_TEXT,
    ),
    "ReplayRequest": record(
        "Where to undo or repeat a commit.", ("branch", *_SETTLING), branch=_NULL_TEXT, **_SETTLING
    ),
    "TagCreateRequest": record(
        "A name for a commit, by default the head of the branch.",
        ("commit", "branch", "message"),
        name=TEXT,
        commit=_NULL_TEXT,
        branch=_NULL_TEXT,
        message=_NULL_TEXT,
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


def schemas() -> dict[str, Any]:
    """Every component, by name."""
    requests = {**REQUESTS, **INSPECTION_REQUESTS, **UPLOADING_REQUESTS}
    closed = {name: {**shape, "additionalProperties": False} for name, shape in requests.items()}
    return dict(sorted({**WORDS, **DETAILS, **ERRORS, **closed, **ANSWERS, **INSPECTION, **UPLOADING}.items()))
