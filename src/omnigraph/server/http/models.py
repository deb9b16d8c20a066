"""What clients may send: one strict model per request body."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["node", "edge"]
Op = Literal["insert", "update", "delete"]
Mode = Literal["overwrite", "append", "merge", "patch"]
OnError = Literal["stop", "skip"]


class Body(BaseModel):
    """Types are never converted; unknown members are refused, because a misspelt one would change the meaning."""

    model_config = ConfigDict(strict=True, extra="forbid")


class QueryRequest(Body):
    query: str
    name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    at: str | None = None


class ExplainRequest(QueryRequest):
    analyze: bool = False


class ChangeRequest(Body):
    query: str
    name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    if_commit: str | None = None
    message: str | None = None


class InvokeStoredQueryRequest(Body):
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    at: str | None = None
    expect_mutation: bool | None = None
    if_commit: str | None = None
    message: str | None = None


class SchemaApplyRequest(Body):
    schema_source: str
    allow_data_loss: bool = False
    branch: str | None = None
    message: str | None = None


class SchemaPlanRequest(Body):
    schema_source: str
    allow_data_loss: bool = False
    branch: str | None = None


class AssistRequest(Body):
    """What an editor asks about a text; `offset` is where its cursor is, by default at the end."""

    text: str
    language: Literal["gq", "pg"] = "gq"
    want: list[Literal["diagnose", "complete", "explain", "format"]] = ["diagnose"]
    offset: int | None = Field(default=None, ge=0, le=1 << 30)
    units: Literal["codepoints", "utf16"] = "codepoints"
    branch: str | None = None


class CheckRequest(Body):
    branch: str | None = None
    quick: bool = False


class OptimizeRequest(Body):
    message: str | None = None


class EnsureIndicesRequest(Body):
    branch: str | None = None
    message: str | None = None


class CleanupRequest(Body):
    keep: int | None = Field(default=None, ge=1, le=1 << 30)
    older_than: str | None = None
    confirm: bool = False


class RepairRequest(Body):
    confirm: bool = False
    force: bool = False
    message: str | None = None


class LoadRequest(Body):
    data: str
    branch: str | None = None
    from_: str | None = Field(default=None, alias="from")
    mode: Mode | None = None
    dry_run: bool = False
    on_error: OnError = "stop"
    if_commit: str | None = None
    message: str | None = None


class InferRequest(Body):
    """Uploaded files to learn from; at most `sample` rows of each are looked at."""

    files: list[str] = Field(min_length=1, max_length=64)
    enums: bool = True
    sample: int | None = Field(default=None, ge=1, le=1_000_000)
    branch: str | None = None


class LoadFilesRequest(Body):
    """A load of uploaded files; `mapping` is an object or a text, `dry_run` checks everything and writes nothing."""

    mapping: dict[str, Any] | str
    branch: str | None = None
    from_: str | None = Field(default=None, alias="from")
    mode: Mode | None = None
    dry_run: bool = False
    on_error: OnError = "stop"
    if_commit: str | None = None
    message: str | None = None


class BranchRenameRequest(Body):
    name: str


class BranchCreateRequest(Body):
    name: str
    from_: str | None = Field(default=None, alias="from")


class Settling(Body):
    """How contradictions are settled, and whether anything is written at all."""

    preview: bool = False
    strategy: Literal["fail", "ours", "theirs"] = "fail"
    properties: Literal["whole", "disjoint"] = "whole"
    resolve: dict[str, Literal["ours", "theirs"] | dict[str, Any]] | None = None
    message: str | None = None

    def options(self) -> dict[str, Any]:
        """As arguments of the engine."""
        return {"strategy": self.strategy, "properties": self.properties, "resolve": self.resolve}


class BranchMergeRequest(Settling):
    source: str
    target: str | None = None
    delete_branch: bool = False


class ReplayRequest(Settling):
    branch: str | None = None


class TagCreateRequest(Body):
    name: str
    commit: str | None = None
    branch: str | None = None
    message: str | None = None


class ChangeBaselineRequest(Body):
    branch: str | None = None
    kind: list[Kind] = []
    type: list[str] = []
    op: list[Op] = []


class ExportRequest(Body):
    branch: str | None = None
    snapshot: str | None = None
    at: str | None = None
    type_names: list[str] = []
