"""The accepted schema as three files, their staged successors, and which of the two the manifest accepts.

The `graph_schema` row of the manifest is the authority and the files are its projection. Between the publish of a
schema change and the promotion of its files the staged files are the accepted contract.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from omnigraph.errors import Conflict, Corrupt, InputError, NotFound, RecoveryRequired
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.manifest.row_codec import parse_schema, schema_metadata
from omnigraph.storage.manifest.rows import SchemaRow
from omnigraph.storage.manifest.snapshot import Snapshot, TableIdentity

SOURCE = "_schema.pg"
IR = "_schema.ir.json"
STATE = "__schema_state.json"
FILES = (SOURCE, IR, STATE)  # also the order of promotion: the state file goes last
STAGING = ".staging"


@dataclass(frozen=True, slots=True)
class SchemaHashes:
    """What only the compiler can tell: the hash of a source's shape and the hash of an IR text."""

    shape_of_source: Callable[[str], str]
    hash_of_ir: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class SchemaContract:
    """The texts of the three files and the state they were accepted under."""

    source: str
    ir_json: str
    state: SchemaRow
    staged: bool = False


def resolve_schema(
    objects: Objects, accepted: SchemaRow, *, promote: bool, pending_apply: Callable[[], str | None]
) -> SchemaContract:
    """The contract that the manifest accepts, from the live files or from the staged ones.

    `promote` (read-write opens) makes staged files live and deletes leftovers; without it nothing is written.
    `pending_apply` gives the operation id of a schema change whose sidecar exists.
    """
    hit("open.before_schema_contract_read")
    if _hash_in(objects, STATE) == accepted.schema_ir_hash:
        if promote and any(objects.stat(name + STAGING) is not None for name in FILES) and pending_apply() is None:
            drop_staging(objects)
        return read_contract(objects)
    if staged_hash(objects) == accepted.schema_ir_hash:
        if not promote:
            return _read_through_staging(objects)
        promote_staging(objects)
        return read_contract(objects)
    if not objects.exists(SOURCE):
        raise _missing_source()
    pending = pending_apply()
    if pending is not None:
        raise RecoveryRequired(pending, "a schema change was interrupted before its files were complete")
    raise Conflict("schema files do not match the manifest")


def verify_contract(contract: SchemaContract, accepted: SchemaRow, snapshot: Snapshot, hashes: SchemaHashes) -> None:
    """Refuse files that contradict each other or the manifest; every refusal but of an empty source is a Conflict."""
    if contract.state != accepted:
        raise Conflict("schema files do not match the manifest")
    if _hashed(hashes.hash_of_ir, contract.ir_json, IR) != accepted.schema_ir_hash:
        raise Conflict(f"{IR} was changed: it does not hash to the accepted schema")
    if _hashed(hashes.shape_of_source, contract.source, SOURCE) != accepted.schema_shape_hash:
        if not contract.source.strip():
            raise Corrupt(f"{SOURCE} is damaged: it is empty; restore it from a backup")
        raise Conflict(f"{SOURCE} was changed: it describes another schema; use schema apply to change the schema")
    verify_tables(contract.ir_json, snapshot)


def verify_tables(ir_json: str, snapshot: Snapshot) -> None:
    """Refuse an IR whose types are not exactly the snapshot's tables, by key and by identity."""
    declared = _declared(ir_json)
    published = {entry.table_key: entry.identity for entry in snapshot}
    for key in sorted(declared.keys() ^ published.keys()):
        where = "the schema" if key in declared else "the manifest"
        raise Conflict(f"type '{key}' exists only in {where}")
    for key, identity in sorted(declared.items()):
        if published[key] != identity:
            raise Conflict(f"type '{key}' has another identity in the schema than in the manifest")


def read_contract(objects: Objects, *, staged: bool = False) -> SchemaContract:
    """The live (or staged) files; missing or unreadable ones are errors with advice."""
    suffix = STAGING if staged else ""
    source, ir_json, state = (objects.read_if_exists(name + suffix) for name in FILES)
    return _contract(source, ir_json, state, staged=staged)


def state_text(state: SchemaRow) -> str:
    """The content of the state file."""
    return json.dumps(schema_metadata(state), separators=(",", ":"))


def write_staging(objects: Objects, contract: SchemaContract) -> None:
    """Write the successor files and read them back; the state file goes last, it is what readers look for."""
    texts = (contract.source, contract.ir_json, state_text(contract.state))
    for name, text in zip(FILES, texts, strict=True):
        objects.write(name + STAGING, text)
    found = read_contract(objects, staged=True)
    if (found.source, found.ir_json, found.state) != (contract.source, contract.ir_json, contract.state):
        raise Corrupt("the staged schema files do not hold the target schema")


def promote_staging(objects: Objects) -> None:
    """Make the staged files live: source, IR, state. Repeating it after a crash finishes what is left."""
    for name in FILES:
        if objects.exists(name + STAGING):
            objects.rename(name + STAGING, name)
            hit("schema_apply.mid_promotion")


def drop_staging(objects: Objects) -> None:
    """Delete staged files that nothing accepts; the state file first, so that no torn set is ever accepted."""
    for name in reversed(FILES):
        objects.delete(name + STAGING)


def staged_hash(objects: Objects) -> str | None:
    """The IR hash that the staged state file holds, or None when there is no readable one."""
    return _hash_in(objects, STATE + STAGING)


def _read_through_staging(objects: Objects) -> SchemaContract:
    # A promotion may be half done, by a crash or right now: what is no longer staged is live already.
    texts = []
    for name in FILES:
        staged = objects.read_if_exists(name + STAGING)
        texts.append(staged if staged is not None else objects.read_if_exists(name))
    return _contract(*texts, staged=True)


def _contract(source: str | None, ir_json: str | None, state: str | None, *, staged: bool) -> SchemaContract:
    if source is None:
        raise _missing_source()
    for name, text in ((IR, ir_json), (STATE, state)):
        if text is None:
            raise Conflict(f"{name} is missing; restore {', '.join(FILES)} from a backup")
    try:
        return SchemaContract(source, ir_json or "", parse_schema(state, STATE), staged)
    except Corrupt as error:
        raise Conflict(f"{STATE} was changed: {error}") from error


def _hash_in(objects: Objects, name: str) -> str | None:
    text = objects.read_if_exists(name)
    try:
        return None if text is None else parse_schema(text, name).schema_ir_hash
    except Corrupt:
        return None


def _hashed(hash_of: Callable[[str], str], text: str, name: str) -> str:
    try:
        return hash_of(text)
    except (InputError, ValueError, TypeError, KeyError) as error:
        raise Conflict(f"{name} was changed: it cannot be read ({error})") from error


def _declared(ir_json: str) -> dict[str, TableIdentity]:
    try:
        ir = json.loads(ir_json)
        return {
            f"{kind}:{declared['name']}": TableIdentity(declared["type_id"], declared["table_incarnation_id"])
            for kind, section in (("node", "nodes"), ("edge", "edges"))
            for declared in ir[section]
        }
    except (ValueError, TypeError, KeyError) as error:
        raise Conflict(f"{IR} was changed: it cannot be read ({error!r})") from error


def _missing_source() -> NotFound:
    return NotFound(f"{SOURCE} is missing; restore {', '.join(FILES)} from a backup, then open the graph again")
