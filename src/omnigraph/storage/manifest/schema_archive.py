"""Every schema that a graph has accepted, one small object each under `__schemas/`, named by its hash.

The three files beside the manifest are the newest schema of main; what a commit was written under is found here. An
object is written before the change that accepts, or replaces, its schema is published, and never changed.
"""

from __future__ import annotations

import json

from omnigraph.errors import Corrupt
from omnigraph.storage.base.layout import SCHEMAS_DIR
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.manifest.row_codec import parse_schema, schema_metadata
from omnigraph.storage.manifest.schema_files import SchemaContract

_PREFIX = "sha256:"


def keep_schema(objects: Objects, contract: SchemaContract) -> None:
    """Store a schema under its hash, unless it is there already."""
    document = {
        "schema_source": contract.source,
        "schema_ir": contract.ir_json,
        "schema_state": schema_metadata(contract.state),
    }
    objects.write_if_absent(_path(contract.state.schema_ir_hash), json.dumps(document))


def find_schema(objects: Objects, ir_hash: str) -> SchemaContract | None:
    """The schema of a hash, or None when it is not kept; what it says has still to be compared with the hash."""
    name = _path(ir_hash)
    text = objects.read_if_exists(name)
    if text is None:
        return None
    try:
        document = json.loads(text)
        state = parse_schema(json.dumps(document["schema_state"]), name)
        return SchemaContract(str(document["schema_source"]), str(document["schema_ir"]), state)
    except (ValueError, TypeError, KeyError) as error:
        raise Corrupt(f"{name} is unreadable: {error!r}") from error


def kept_schemas(objects: Objects) -> list[str]:
    """The hashes of the schemas that are kept."""
    names = (name.removesuffix(".json") for name in objects.list_dir(SCHEMAS_DIR) if name.endswith(".json"))
    return sorted(f"{_PREFIX}{name}" for name in names)


def drop_schema(objects: Objects, ir_hash: str) -> None:
    """Remove a schema that no commit refers to any more."""
    objects.delete(_path(ir_hash))


def _path(ir_hash: str) -> str:
    return f"{SCHEMAS_DIR}/{ir_hash.removeprefix(_PREFIX)}.json"
