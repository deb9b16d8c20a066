"""What clients may send: one strict model per request body."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["node", "edge"]
Op = Literal["insert", "update", "delete"]
Mode = Literal["overwrite", "append", "merge", "patch"]


class Body(BaseModel):
    """Types are never converted; unknown members are refused, because a misspelt one would change the meaning."""

    model_config = ConfigDict(strict=True, extra="forbid")


class QueryRequest(Body):
    query: str
    name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None


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
    expect_mutation: bool | None = None
    if_commit: str | None = None
    message: str | None = None


class SchemaApplyRequest(Body):
    schema_source: str
    allow_data_loss: bool = False
    branch: str | None = None
    message: str | None = None


class LoadRequest(Body):
    data: str
    branch: str | None = None
    from_: str | None = Field(default=None, alias="from")
    mode: Mode | None = None
    if_commit: str | None = None
    message: str | None = None


class BranchCreateRequest(Body):
    name: str
    from_: str | None = Field(default=None, alias="from")


class BranchMergeRequest(Body):
    source: str
    target: str | None = None
    delete_branch: bool = False
    message: str | None = None


class ChangeBaselineRequest(Body):
    branch: str | None = None
    kind: list[Kind] = []
    type: list[str] = []
    op: list[Op] = []


class ExportRequest(Body):
    branch: str | None = None
    snapshot: str | None = None
    type_names: list[str] = []
