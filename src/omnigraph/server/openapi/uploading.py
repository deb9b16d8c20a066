"""The component schemas of uploaded files: what is kept, what they suggest, and loads of them; and of pipeline runs."""

from __future__ import annotations

from typing import get_args

from omnigraph.pipeline.runs.records import Status
from omnigraph.server.openapi.answers import CHECKED, LOADED
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
_COUNTS: Shape = {"type": "object", "additionalProperties": COUNT}

_SHARES: Shape = {"type": "object", "additionalProperties": {"type": "number"}}

UPLOADING: dict[str, Shape] = {
    "PipelineInputOutput": record("A thing that a run read.", source=TEXT, name=TEXT, bytes=U64, digest=_NULL_TEXT),
    "PipelineProgressOutput": record(
        "How far a run is: `done` of `total` tasks of a stage.",
        stage=TEXT,
        done=COUNT,
        total=COUNT,
        rows=U64,
        bytes=U64,
    ),
    "PipelineRunOutput": record(
        "A run of a pipeline; `progress` is null once it has ended, and `lost` is one whose process has died.",
        run_id=TEXT,
        pipeline=TEXT,
        status=one_of(*get_args(Status)),
        started_at={"type": "string", "format": "date-time"},
        duration_ms=U64,
        actor_id=_NULL_TEXT,
        digest=_NULL_TEXT,
        inputs=listed(ref("PipelineInputOutput")),
        branch=_NULL_TEXT,
        merged_into=_NULL_TEXT,
        commit_id=_NULL_TEXT,
        runner=_NULL_TEXT,
        nodes=_COUNTS,
        edges=_COUNTS,
        rejected=_COUNTS,
        checks=_COUNTS,
        message=_NULL_TEXT,
        attempts=COUNT,
        gates=_SHARES,
        progress=or_null(ref("PipelineProgressOutput")),
        updated_at=_NULL_TEXT,
    ),
    "PipelineRunListOutput": record("The newest runs first.", runs=listed(ref("PipelineRunOutput"))),
    "UploadOutput": record(
        "A file that was uploaded; it is removed when it was not used until then.",
        name=TEXT,
        bytes=U64,
        expires_at={"type": "string", "format": "date-time"},
    ),
    "UploadListOutput": record(
        "The files of the sender, and how many bytes one of them and all together may have.",
        files=listed(ref("UploadOutput")),
        file_bytes=U64,
        actor_bytes=U64,
    ),
    "UploadDeleteOutput": record("A file that is gone.", name=TEXT),
    "DeclarationOutput": record("A type that files suggest.", kind=ref("EntityKindOutput"), name=TEXT, text=TEXT),
    "InferOutput": record(
        "A schema and a mapping for files: what became of each, what a person should look at, and what was found.",
        schema_source=TEXT,
        declarations=listed(ref("DeclarationOutput")),
        mapping=ANY_OBJECT,
        mapping_text=TEXT,
        notes=listed(TEXT),
        report=listed(TEXT),
        evidence=listed(TEXT),
    ),
    "RejectReasonOutput": record("Why a row is refused.", code=TEXT, property=_NULL_TEXT, message=TEXT),
    "RejectOutput": record(
        "A row that is refused: where it is, what it is, and all reasons.",
        file=_NULL_TEXT,
        line=or_null(COUNT),
        type_=_NULL_TEXT,
        id=_NULL_TEXT,
        code=TEXT,
        reasons=listed(ref("RejectReasonOutput")),
        content=_NULL_TEXT,
    ),
    "LoadFilesOutput": record(
        "What a load of files did, or would do: refused rows by code with the first hundred of them, edges that were"
        " left out by type.",
        (),
        uri=TEXT,
        **LOADED,
        **CHECKED,
    ),
}

UPLOADING_REQUESTS: dict[str, Shape] = {
    "InferRequest": record(
        "Uploaded files to learn from; at most `sample` rows of each are looked at.",
        ("enums", "sample", "branch"),
        files=listed(TEXT),
        enums=FLAG,
        sample=or_null(COUNT),
        branch=_NULL_TEXT,
    ),
    "LoadFilesRequest": record(
        "A load of uploaded files; the mapping is an object, or a text in YAML or JSON.",
        ("branch", "from", "mode", "dry_run", "on_error", "if_commit", "message"),
        mapping={"anyOf": [ANY_OBJECT, TEXT]},
        branch=_NULL_TEXT,
        from_=_NULL_TEXT,
        mode=or_null(ref("LoadMode")),
        dry_run=FLAG,
        on_error=one_of("stop", "skip"),
        if_commit=_NULL_TEXT,
        message=_NULL_TEXT,
    ),
}
