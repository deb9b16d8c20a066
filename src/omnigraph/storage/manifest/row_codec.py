"""Manifest rows to Arrow and back: the metadata JSON of every row kind, failing closed on damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import pyarrow as pa

from omnigraph.errors import Corrupt
from omnigraph.ids import fnv1a64
from omnigraph.storage.lance.evidence import VersionEvidence
from omnigraph.storage.manifest.note import Note
from omnigraph.storage.manifest.rows import (
    BRANCH_PREFIX,
    HEAD_PREFIX,
    MANIFEST_SCHEMA,
    AbortRow,
    BranchRow,
    CommitRow,
    ControlHolder,
    ControlRow,
    HeadRow,
    ManifestRow,
    ReplayRow,
    SchemaRow,
    Seal,
    TableRow,
    TombstoneRow,
    VersionRow,
    Within,
)
from omnigraph.storage.manifest.snapshot import TableIdentity

Json = dict[str, Any]
T = TypeVar("T")


def encode_rows(rows: Iterable[ManifestRow]) -> pa.Table:
    """The rows as a batch for `__manifest`."""
    return pa.Table.from_pylist([_columns(row) for row in rows], schema=MANIFEST_SCHEMA)


def version_metadata(evidence: VersionEvidence) -> Json:
    """The metadata of a `table_version` row; its nullable keys are always present, but for the checksum."""
    return {
        "manifest_path": evidence.manifest_path,
        "manifest_size": evidence.manifest_size,
        "e_tag": evidence.e_tag,
        "naming_scheme": evidence.naming_scheme,
        **_given(crc32=evidence.crc32),
    }


def table_metadata(row: TableRow) -> Json:
    """The metadata of a `table` row."""
    return {
        "stable_table_id": row.identity.stable_table_id,
        "table_incarnation_id": row.identity.table_incarnation_id,
        **_given(renamed_from=row.renamed_from),
    }


def schema_metadata(row: SchemaRow) -> Json:
    """The metadata of the `graph_schema` row; also the content of `__schema_state.json`."""
    return {
        "format_version": row.format_version,
        "schema_shape_hash": row.schema_shape_hash,
        "schema_ir_hash": row.schema_ir_hash,
        "schema_identity_version": row.schema_identity_version,
        "schema_identity_domain": row.schema_identity_domain,
    }


def parse_table(table_key: str, location: str, text: str | None) -> TableRow:
    """A `table` row; one without metadata gets a synthetic identity that is never stored."""
    if text is None:
        return TableRow(table_key, location, TableIdentity(fnv1a64(table_key), 1))

    def build(raw: Json) -> TableRow:
        identity = TableIdentity(_positive(raw["stable_table_id"]), _positive(raw["table_incarnation_id"]))
        return TableRow(table_key, location, identity, _optional_text(raw, "renamed_from"))

    return _parsed(text, f"table '{table_key}'", build)


def parse_version(table_key: str, version: int, ref: str | None, row_count: int, text: str | None) -> VersionRow:
    def build(raw: Json) -> VersionRow:
        return VersionRow(table_key, version, ref, row_count, _evidence(raw))

    return _parsed(text, f"version {version} of '{table_key}'", build)


def _evidence(raw: Json) -> VersionEvidence:
    return VersionEvidence(
        _text(raw["manifest_path"]),
        _optional_number(raw, "manifest_size"),
        _optional_text(raw, "e_tag"),
        _optional_text(raw, "naming_scheme"),
        _crc32(raw),
    )


def _crc32(raw: Json) -> int | None:
    return _optional_number(raw, "crc32")


def parse_commit(commit_id: str, manifest_version: int, branch: str | None, text: str | None) -> CommitRow:
    def build(raw: Json) -> CommitRow:
        return CommitRow(
            commit_id,
            manifest_version,
            branch,
            _number(raw["created_at"]),
            _optional_text(raw, "parent_commit_id"),
            _optional_text(raw, "merged_parent_commit_id"),
            _optional_text(raw, "actor_id"),
            Note.read(raw),
            None if (within := raw.get("within")) is None else _within(within),
        )

    return _parsed(text, f"commit '{commit_id}'", build)


def parse_head(object_id: str, text: str | None) -> HeadRow:
    name = object_id.removeprefix(HEAD_PREFIX)
    if name == object_id or not name:
        raise Corrupt(f"manifest corrupt: head row '{object_id}' names no branch")

    def build(raw: Json) -> HeadRow:
        branch = None if name == "main" else name
        return HeadRow(branch, _text(raw["head_commit_id"]), _optional_text(raw, "parent_commit_id"))

    return _parsed(text, f"'{object_id}'", build)


def parse_abort(operation_id: str, branch: str | None, text: str | None) -> AbortRow:
    def build(raw: Json) -> AbortRow:
        return AbortRow(
            operation_id,
            branch,
            _text(raw["writer_kind"]),
            "recovery" if raw["aborted_by"] == "recovery" else "writer",
            _text(raw["reason"]),
            _number(raw["aborted_at"]),
            _optional_text(raw, "rollback_commit_id"),
        )

    return _parsed(text, f"abort of '{operation_id}'", build)


def parse_schema(text: str | None, what: str = "'graph_schema'") -> SchemaRow:
    """A `graph_schema` row, or the text of a schema state file named by `what`."""

    def build(raw: Json) -> SchemaRow:
        return SchemaRow(
            _text(raw["schema_shape_hash"]),
            _text(raw["schema_ir_hash"]),
            _text(raw["schema_identity_domain"]),
            _number(raw["schema_identity_version"]),
            _number(raw["format_version"]),
        )

    return _parsed(text, what, build)


def parse_control(text: str | None) -> ControlRow:
    def build(raw: Json) -> ControlRow:
        holder = raw.get("holder")
        retired = {str(name): _number(micros) for name, micros in raw.get("retired", {}).items()}
        return ControlRow(_number(raw["epoch"]), None if holder is None else _holder(holder), retired)

    return _parsed(text, "'graph_control'", build)


def parse_branch(object_id: str, text: str | None) -> BranchRow:
    def build(raw: Json) -> BranchRow:
        sealed = raw.get("sealed")
        return BranchRow(
            object_id.removeprefix(BRANCH_PREFIX),
            tuple((_number(version), _text(uuid)) for version, uuid in raw["identifier"]),
            _optional_text(raw, "parent_branch"),
            _number(raw["parent_version"]),
            _number(raw["created_at"]),
            None if sealed is None else Seal(_text(sealed["operation_id"]), _number(sealed["sealed_at"])),
        )

    return _parsed(text, f"'{object_id}'", build)


def _columns(row: ManifestRow) -> Json:
    common: Json = {"object_id": row.object_id, "table_key": ""}
    own: Json
    match row:
        case TableRow():
            own = {"location": row.location, "table_key": row.table_key}
            return common | own | _typed("table", table_metadata(row))
        case VersionRow():
            own = {"table_key": row.table_key, "table_version": row.version, "table_branch": row.ref}
            return common | own | {"row_count": row.row_count} | _typed("table_version", version_metadata(row.evidence))
        case TombstoneRow():
            own = {"table_key": row.table_key, "table_version": row.version}
            return common | own | {"object_type": "table_tombstone"}
        case CommitRow():
            own = {"table_version": row.manifest_version, "table_branch": row.branch}
            return common | own | _typed("graph_commit", _commit_metadata(row))
        case HeadRow():
            metadata = {"head_commit_id": row.head_commit_id, **_given(parent_commit_id=row.parent_commit_id)}
            return common | _typed("graph_head", metadata)
        case AbortRow():
            return common | {"table_branch": row.branch} | _typed("operation_abort", _abort_metadata(row))
        case ReplayRow():
            replayed = {"graph_commit_id": row.commit_id}
            return common | {"table_branch": row.branch} | _typed("operation_replay", replayed)
        case SchemaRow():
            return common | _typed("graph_schema", schema_metadata(row))
        case ControlRow():
            return common | _typed("graph_control", _control_metadata(row))
        case BranchRow():
            return common | {"table_branch": row.branch} | _typed("graph_branch", _branch_metadata(row))


def _typed(object_type: str, metadata: Json) -> Json:
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return {"object_type": object_type, "metadata": text}


def _commit_metadata(row: CommitRow) -> Json:
    links = _given(parent_commit_id=row.parent_commit_id, merged_parent_commit_id=row.merged_parent_commit_id)
    within = {} if row.within is None else {"within": _within_metadata(row.within)}
    return {**links, **_given(actor_id=row.actor_id), "created_at": row.created_at, **row.note.stored(), **within}


def _within_metadata(within: Within) -> Json:
    shown = {
        key: {"table_version": row.version, "row_count": row.row_count, **_given(table_branch=row.ref)}
        | version_metadata(row.evidence)
        for key, row in within.shown.items()
    }
    return {"later": within.later, "shown": shown}


def _within(raw: Json) -> Within:
    shown = {
        key: VersionRow(
            key,
            _positive(each["table_version"]),
            _optional_text(each, "table_branch"),
            _number(each["row_count"]),
            _evidence(each),
        )
        for key, each in raw["shown"].items()
    }
    return Within(_positive(raw["later"]), shown)


def _abort_metadata(row: AbortRow) -> Json:
    return {
        "writer_kind": row.writer_kind,
        "aborted_by": row.aborted_by,
        "reason": row.reason,
        "aborted_at": row.aborted_at,
        **_given(rollback_commit_id=row.rollback_commit_id),
    }


def _control_metadata(row: ControlRow) -> Json:
    holder = row.holder
    described = None
    if holder is not None:
        described = {
            "operation_id": holder.operation_id,
            "kind": holder.kind,
            **_given(target=holder.target),
            "owner": holder.owner,
            "heartbeat_seq": holder.heartbeat_seq,
            "heartbeat_at": holder.heartbeat_at,
            "ttl_ms": holder.ttl_ms,
        }
    return {"epoch": row.epoch, **({"retired": dict(row.retired)} if row.retired else {}), "holder": described}


def _branch_metadata(row: BranchRow) -> Json:
    sealed = row.sealed
    seal = {"sealed": {"operation_id": sealed.operation_id, "sealed_at": sealed.sealed_at}} if sealed else {}
    return {
        "identifier": [list(pair) for pair in row.identifier],
        "parent_branch": row.parent_branch,
        "parent_version": row.parent_version,
        "created_at": row.created_at,
        **seal,
    }


def _holder(raw: Json) -> ControlHolder:
    return ControlHolder(
        _text(raw["operation_id"]),
        raw["kind"],
        _text(raw["owner"]),
        _number(raw["heartbeat_seq"]),
        _number(raw["heartbeat_at"]),
        _number(raw["ttl_ms"]),
        _optional_text(raw, "target"),
    )


def _parsed(text: str | None, what: str, build: Callable[[Json], T]) -> T:
    try:
        raw = json.loads(text or "")
        if not isinstance(raw, dict):
            raise TypeError("not an object")
        return build(raw)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Corrupt(f"manifest corrupt: {what} has malformed metadata ({error!r})") from error


def _given(**values: T | None) -> Mapping[str, T]:
    return {key: value for key, value in values.items() if value is not None}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"expected an integer, found {value!r}")
    return value


def _positive(value: object) -> int:
    if _number(value) < 1:
        raise ValueError(f"expected a positive integer, found {value!r}")
    return _number(value)


def _optional_text(raw: Json, key: str) -> str | None:
    return None if raw.get(key) is None else _text(raw[key])


def _optional_number(raw: Json, key: str) -> int | None:
    return None if raw.get(key) is None else _number(raw[key])
