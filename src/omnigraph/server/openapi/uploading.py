"""The component schemas of uploaded files: what is kept, what they suggest, and loads of them."""

from __future__ import annotations

from omnigraph.server.openapi.answers import LOADED
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

UPLOADING: dict[str, Shape] = {
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
        dry_run=FLAG,
        rejected=_COUNTS,
        skipped=_COUNTS,
        rejects=listed(ref("RejectOutput")),
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
