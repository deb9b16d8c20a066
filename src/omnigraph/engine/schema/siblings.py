"""The other branches of a graph while the schema of one changes: the identities they have given away, their past."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.compiler.catalog.identity import Sibling
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.merge_base import CommitGraph, merge_base
from omnigraph.engine.views.time_travel import state_at_commit
from omnigraph.errors import BranchNotFound, HistoricalVersionReclaimed, NotFound
from omnigraph.storage.base.layout import normalize_branch
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.schema_archive import find_schema, kept_schemas


@dataclass(frozen=True, slots=True)
class Other:
    """Another live branch and the state it last had in common with the one that changes."""

    branch: str
    state: ManifestState
    schema: Accepted
    base: ManifestState
    base_schema: Accepted


def others(core: Core, branch: str | None, state: ManifestState, *, skip: str | None = None) -> Iterator[Other]:
    """The other public branches; those that accept the schema of hash `skip` are left out.

    A branch whose common past was removed by a cleanup of an earlier release is left out as well: it cannot be merged.
    """
    for name in list_branches(core.store):
        other = normalize_branch(name)
        if other == branch:
            continue
        try:
            found = core.state(other)
        except BranchNotFound:
            continue  # deleted while we were looking
        if found.schema is not None and found.schema.schema_ir_hash == skip:
            continue
        base = _common(core, state, found)
        if base is not None:
            yield Other(name, found, core.schemas.of(found), base, core.schemas.of(base))


def siblings(core: Core, branch: str | None, state: ManifestState) -> list[Sibling]:
    """The schemas of other branches, with the first identity that each got since they parted."""
    own = None if state.schema is None else state.schema.schema_ir_hash
    return [Sibling(each.schema.shape, each.base_schema.next_id) for each in others(core, branch, state, skip=own)]


def next_identity(core: Core, accepted: Accepted) -> int:
    """The first identity that no schema of this graph has given away; asked under graph control.

    Schemas that were never changed are not kept, and have all their identities from the first one.
    """
    known = [core.schemas.of(core.state(None)).next_id, accepted.next_id]
    objects = core.store.objects
    for ir_hash in kept_schemas(objects):
        kept = find_schema(objects, ir_hash)
        if kept is not None:
            known.append(int(json.loads(kept.ir_json)["next_identity_id"]))
    return max(known)


def _common(core: Core, one: ManifestState, other: ManifestState) -> ManifestState | None:
    if one.effective_head is None or other.effective_head is None:
        return None
    try:
        base = merge_base(CommitGraph([one.lineage, other.lineage]), one.effective_head, other.effective_head)
        return state_at_commit(core, base)
    except (NotFound, HistoricalVersionReclaimed):
        return None
