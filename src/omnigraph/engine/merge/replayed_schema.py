"""Schema changes of a clone: the rows that such a commit brings along, and whether its identities are free here."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow.compute as pc

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.engine.merge.combine import TableMerge
from omnigraph.engine.merge.schemas import table_delta
from omnigraph.engine.schema.change import SchemaPair
from omnigraph.engine.values.arrow import table_types
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.delta import net, one_column
from omnigraph.errors import Conflict
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.storage.manifest.schema_archive import find_schema, kept_schemas


def schema_merges(
    sender: Core, before: ManifestState, after: ManifestState, target: Accepted
) -> Mapping[str, TableMerge]:
    """What a commit with a schema change does to rows beside changing their form: nothing, unless it is a merge."""
    old, new = (sender.view_of(state, target) for state in (before, after))
    merges = {}
    for key, info in table_types(target.catalog).items():
        entries = old.find(info), new.find(info)
        if entries[0] == entries[1]:
            continue
        delta = table_delta(sender.tables, *entries, info)
        changed = net(delta.before, delta.after)  # both in the form of the target: most rows are the same again
        if not changed.is_empty:
            rows, deleted = changed.after.select(changed.columns), pc.unique(one_column(changed.deleted, "id"))
            merges[key] = TableMerge(info, rows, deleted, RowCounts())
    return merges


def require_free_identities(sender: Core, receiver: Core, schemas: SchemaPair) -> None:
    """Refuse identities that the receiver may have given to something else since the two parted.

    Types and properties are told apart by numbers, which each clone gives away by itself. A schema that both keep was
    transferred; any other one of the receiver that has gone beyond the common number may have used the same ones.
    """
    if schemas.after.next_id == schemas.before.next_id:
        return
    shared = set(kept_schemas(sender.store.objects))
    for ir_hash in kept_schemas(receiver.store.objects):
        if ir_hash in shared or ir_hash == schemas.after.ir_hash:
            continue
        kept = find_schema(receiver.store.objects, ir_hash)
        if kept is not None and int(json.loads(kept.ir_json)["next_identity_id"]) > schemas.before.next_id:
            raise Conflict(
                f"both '{sender.store.root.uri}' and a branch of '{receiver.store.root.uri}' have changed the schema "
                f"since they parted, so new types and properties of the two would be taken for each other; clone one "
                f"of them anew, apply the schema of the other there, and bring its rows over with export and load"
            )
