"""The component schemas of routes that look at a graph: descriptions, entities, plans, comparisons and assistance."""

from __future__ import annotations

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

_NULL_TEXT = or_null(TEXT)
_NULL_OBJECT: Shape = {"type": ["object", "null"], "additionalProperties": True}
_ANY: Shape = {}
_KIND = ref("EntityKindOutput")
_UNITS = one_of("codepoints", "utf16")
_CHANGED = record("A value that differs.", name=TEXT, before=_ANY, after=_ANY)

INSPECTION_REQUESTS: dict[str, Shape] = {
    "AssistRequest": record(
        "What an editor asks about a text; `offset` is where its cursor is, by default at the end.",
        ("language", "want", "offset", "units", "branch"),
        text=TEXT,
        language=one_of("gq", "pg"),
        want=listed(one_of("diagnose", "complete", "explain", "format")),
        offset=or_null(COUNT),
        units=_UNITS,
        branch=_NULL_TEXT,
    ),
    "ExplainRequest": record(
        "A read whose plan is asked for; with `analyze` it is run, and the plan says what that cost.",
        ("name", "params", "branch", "snapshot", "at", "analyze"),
        query=TEXT,
        name=_NULL_TEXT,
        params=_NULL_OBJECT,
        branch=_NULL_TEXT,
        snapshot=_NULL_TEXT,
        at=_NULL_TEXT,
        analyze=FLAG,
    ),
    "CheckRequest": record("What to verify.", ("branch", "quick"), branch=_NULL_TEXT, quick=FLAG),
    "CleanupRequest": record(
        "What is too old; without `confirm` nothing is removed.",
        ("keep", "older_than", "confirm"),
        keep=or_null(COUNT),
        older_than=_NULL_TEXT,
        confirm=FLAG,
    ),
    "EnsureIndicesRequest": record(
        "Which branch to index.", ("branch", "message"), branch=_NULL_TEXT, message=_NULL_TEXT
    ),
    "OptimizeRequest": record("The message of the commit.", ("message",), message=_NULL_TEXT),
    "RepairRequest": record(
        "Whether to publish what is verified, or everything.",
        ("confirm", "force", "message"),
        confirm=FLAG,
        force=FLAG,
        message=_NULL_TEXT,
    ),
    "SchemaPlanRequest": record(
        "The schema to change to, and the branch it is for.",
        ("allow_data_loss", "branch"),
        schema_source=TEXT,
        allow_data_loss=FLAG,
        branch=_NULL_TEXT,
    ),
}

INSPECTION: dict[str, Shape] = {
    "AssistOutput": record(
        "What was asked for about a text.",
        ("diagnostics", "completion", "meaning", "formatted"),
        diagnostics=listed(ref("FindingOutput")),
        completion=ref("CompletionOutput"),
        meaning=or_null(ref("MeaningOutput")),
        formatted=_NULL_TEXT,
    ),
    "CheckOutput": record(
        "What a check looked at and found.", ok=FLAG, quick=FLAG, counts=ANY_OBJECT, findings=listed(ANY_OBJECT)
    ),
    "CleanupOutput": {**ANY_OBJECT, "description": "What was removed, or would be."},
    "EnsureIndicesOutput": record("Indexes that cannot be built yet.", pending=listed(ANY_OBJECT)),
    "OptimizeOutput": record("What was done to each dataset.", datasets=listed(ANY_OBJECT)),
    "RepairOutput": {**ANY_OBJECT, "description": "What was found, and what became of it."},
    "BlameOutput": record(
        "An entity with the commit behind each of its values.",
        type_=TEXT,
        id=TEXT,
        created=ref("CommitOutput"),
        properties=listed(ref("BlamedPropertyOutput")),
    ),
    "BlamedPropertyOutput": record(
        "A value and the commit that set it.", name=TEXT, value=_ANY, commit=ref("CommitOutput")
    ),
    "EntityHistoryOutput": record(
        "What happened to an entity, newest first; `complete` is false where cleanup has removed older changes.",
        type_=TEXT,
        id=TEXT,
        events=listed(ref("EntityEventOutput")),
        after=_NULL_TEXT,
        complete=FLAG,
    ),
    "EntityEventOutput": record(
        "A commit that changed an entity; `op` is null where cleanup has removed what was before.",
        op=or_null(one_of("insert", "update", "delete")),
        commit=ref("CommitOutput"),
        changed=listed(_CHANGED),
    ),
    "CandidateOutput": record("What could stand at a place.", text=TEXT, kind=TEXT, detail=TEXT),
    "CompletionOutput": record(
        "What could stand at a place, and what of the text it would replace.",
        replace=ref("TextRange"),
        candidates=listed(ref("CandidateOutput")),
    ),
    "DescribedPropertyOutput": record(
        "A property as it is declared; a masked one is empty for this reader.",
        name=TEXT,
        type_=TEXT,
        nullable=FLAG,
        key=FLAG,
        unique=FLAG,
        indexed=FLAG,
        masked=FLAG,
    ),
    "DescribedTypeOutput": record(
        "A type; `bytes` is null where it would tell of masked values, `from` and `to` are for edges.",
        kind=_KIND,
        type_=TEXT,
        entities=COUNT,
        properties=COUNT,
        key=TEXT,
        indexes=TEXT,
        bytes=or_null(U64),
        from_=_NULL_TEXT,
        to=_NULL_TEXT,
        declared=listed(ref("DescribedPropertyOutput")),
    ),
    "DescriptionOutput": record(
        "A graph at a glance.",
        uri=TEXT,
        branch=TEXT,
        commit=_NULL_TEXT,
        types=listed(ref("DescribedTypeOutput")),
        branches=listed(TEXT),
        divergence=listed(ref("DivergenceOutput")),
    ),
    "DiffChangeOutput": record(
        "An entity that differs, with its values on both sides; null is a side that does not have it.",
        ("endpoints",),
        kind=_KIND,
        type_name=TEXT,
        id=TEXT,
        op=ref("ChangeOpOutput"),
        published_dataset_version=U64,
        endpoints=record("The ends of an edge.", src=TEXT, dst=TEXT),
        before=_NULL_OBJECT,
        after=_NULL_OBJECT,
        changed=listed(_CHANGED),
    ),
    "DiffOutput": record(
        "One page of the difference between two commits.",
        ("next_page_token",),
        from_commit_id=TEXT,
        to_commit_id=TEXT,
        from_graph_manifest_version=U64,
        to_graph_manifest_version=U64,
        graph_branch=_NULL_TEXT,
        stats=record(
            "How many entities differ.", inserts=COUNT, updates=COUNT, deletes=COUNT, types_affected=listed(TEXT)
        ),
        schema_changes=listed(record("A step between the schemas.", step=ANY_OBJECT, text=TEXT)),
        changes=listed(ref("DiffChangeOutput")),
        next_page_token=TEXT,
    ),
    "DivergenceOutput": record(
        "How many commits a branch has that main has not, and the reverse.",
        branch=TEXT,
        commit=_NULL_TEXT,
        ahead=COUNT,
        behind=COUNT,
    ),
    "EdgeGroupOutput": record(
        "The edges of one type in one direction; `after` continues the page.",
        edge=TEXT,
        direction=one_of("out", "in"),
        type_=TEXT,
        count=COUNT,
        neighbours=listed(record("An edge and the node at its end.", edge=ANY_OBJECT, node=_NULL_OBJECT)),
        after=_NULL_TEXT,
    ),
    "EntityOutput": record("An entity without its blobs.", type_=TEXT, id=TEXT, entity=ANY_OBJECT),
    "ExplainOutput": record(
        "A plan, and once it was run what each operator did.",
        ("search",),
        operators=listed(ANY_OBJECT),
        reads=listed(ANY_OBJECT),
        search=listed(TEXT),
        text=TEXT,
        analyzed=FLAG,
    ),
    "FindingOutput": record(
        "A finding about a text.",
        severity=one_of("error", "warning", "info"),
        code=TEXT,
        message=TEXT,
        help=_NULL_TEXT,
        line=or_null(COUNT),
        column=or_null(COUNT),
        range=or_null(ref("TextRange")),
    ),
    "IndexListOutput": record("Every index that the schema asks for.", indexes=listed(ref("IndexOutput"))),
    "IndexOutput": record(
        "An index, and how much of its table it covers.",
        type_key=TEXT,
        column=TEXT,
        kind=one_of("ordered", "fulltext", "vector"),
        index_type=TEXT,
        name=_NULL_TEXT,
        rows=COUNT,
        covered_rows=COUNT,
        pending=_NULL_TEXT,
        coverage={"type": "number"},
    ),
    "LogOutput": record("Commits as a graph, children before parents.", commits=listed(ref("LoggedCommitOutput"))),
    "LoggedCommitOutput": {
        "allOf": [
            ref("CommitOutput"),
            record(
                "A commit in the log.",
                parents=listed(TEXT),
                branches=listed(TEXT),
                tags=listed(TEXT),
                unknown_parent=_NULL_TEXT,
            ),
        ]
    },
    "MeaningOutput": record("What stands at a place.", range=ref("TextRange"), text=TEXT),
    "NeighbourhoodOutput": record(
        "A node and its edges.", type_=TEXT, id=TEXT, node=ANY_OBJECT, groups=listed(ref("EdgeGroupOutput"))
    ),
    "SchemaPlanOutput": record(
        "The steps of a schema change.",
        supported=FLAG,
        step_count=COUNT,
        steps=listed(ANY_OBJECT),
        text=TEXT,
        diagnostics=listed(ref("FindingOutput")),
    ),
    "TextRange": record("A part of a text, half-open, in the units of the request.", start=COUNT, end=COUNT),
}
