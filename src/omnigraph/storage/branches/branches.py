"""Graph branches: create, list and delete them so that several processes agree on what exists."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.errors import BadRequest, BranchNotFound, Conflict, NotFound, ReadSetChanged, Retry, StorageError
from omnigraph.ids import now_micros
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import MANIFEST, PRIVATE_PREFIX, SCHEMA_LOCK_REF, is_public
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.forks import owned_refs
from omnigraph.storage.branches.names import branch_name, new_name
from omnigraph.storage.branches.retire import forget_refs, is_sealed, keep, reclaim, seal
from omnigraph.storage.branches.tags import find_tag, list_tags
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import control_is_held
from omnigraph.storage.intent.control import Control, hold_control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import Identifier, Ref
from omnigraph.storage.lance.tables import CommitOutcome, Landed, Unknown
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import Loaded
from omnigraph.storage.manifest.rows import BranchRow

_REGISTER_ATTEMPTS = 8


def list_branches(store: Store) -> list[str]:
    """Every public branch, main first."""
    return ["main", *sorted(name for name in manifest.refs(store.root) if is_public(name))]


def readable_branches(store: Store) -> list[str]:
    """The public branches and the private ones of running transactions, main first."""
    return ["main", *sorted(name for name in manifest.refs(store.root) if name != SCHEMA_LOCK_REF)]


def create_branch(store: Store, name: str, *, source: str | None = None) -> None:
    """Create a branch at the newest state of `source`; it shares every table until it writes to it."""
    branch = new_name(name, "branch")
    if source is not None and source.startswith(PRIVATE_PREFIX):
        raise BadRequest("a branch cannot be made from inside a transaction; make it from the branch it is merged into")
    origin = None if source is None else branch_name(source)
    with store.gates.hold([origin, branch]), hold_control(store, "branch_create", target=branch) as control:
        _finish_interrupted(store, control)
        if find_tag(store, branch) is not None:
            raise Conflict(f"there is a tag '{branch}' already; choose another name, or delete the tag first")
        _make_room(store, branch, control)
        captured = manifest.load(store.root, origin)
        hit("branch_create.pre_native")
        created = _fork_manifest(store, branch, captured, control)
        hit("branch_create.post_native")
        _refuse_if_overtaken(store, created, control)
        _register(store, created)
        hit("branch_create.post_registry")


def delete_branch(store: Store, name: str, *, bound: str | None = None) -> None:
    """Delete a branch nothing depends on; `bound` is the branch the caller's handle works on."""
    branch = branch_name(name)
    if branch is None:
        raise BadRequest("'main' cannot be deleted")
    if branch == bound:
        raise Conflict(f"branch '{branch}' is currently active; switch to another branch first")
    with store.gates.hold([None, branch]), hold_control(store, "branch_delete", target=branch) as control:
        _finish_interrupted(store, control)
        refs = manifest.refs(store.root)
        if branch not in refs:
            raise BranchNotFound(branch)
        _refuse_schema_change(store)
        _refuse_dependents(store, branch, refs)
        complete_delete(store, branch, refs[branch].identifier, control)


def complete_delete(store: Store, branch: str, identifier: Identifier, control: Control) -> None:
    """Seal a branch, take its authority away, and retire its name; continues where a crash left off."""
    # Marked first: a retired name that still has a ref is how others know that a delete was interrupted.
    control.retired[branch] = now_micros()
    control.save()
    owned = _owned_table_refs(store, branch)
    seal(store, branch, identifier, control)
    hit("branch_delete.post_seal")
    _remove_authority(store, branch, identifier, control)
    hit("branch_delete.post_native")
    hit("branch_delete.before_table_cleanup")
    for location, names in owned.items():
        forget_refs(store, location, names, control)
    control.retired[branch] = now_micros()
    if store.settings.topology == "single_process":
        control.retired.pop(branch)


def finish_deletes(store: Store) -> list[str]:
    """Complete deletions whose deleter is gone; run when a graph is opened for writing."""
    control = manifest.load(store.root).state.control
    if control is None or not control.retired.keys() & manifest.refs(store.root).keys():
        return []
    if control.holder is not None and control_is_held(store, control.holder):
        return []  # its deleter may be at work
    try:
        with store.gates.hold([None, *control.retired]), hold_control(store, "branch_delete") as held:
            return _finish_interrupted(store, held)
    except (Conflict, Retry):
        return []  # somebody else was faster, and the next holder of control finishes them first


def _finish_interrupted(store: Store, control: Control) -> list[str]:
    finished = []
    for branch, ref in manifest.refs(store.root).items():
        if branch not in control.retired:
            continue
        if keep(store, branch):
            control.retired.pop(branch)  # interrupted before the seal: the branch lives
        else:
            complete_delete(store, branch, ref.identifier, control)
            finished.append(branch)
    return finished


# --- creating ----------------------------------------------------------------------------------------


def _make_room(store: Store, branch: str, control: Control) -> None:
    refs = manifest.refs(store.root)
    if branch in refs:
        raise Conflict(f"branch '{branch}' already exists")
    for other in _nesting(branch, refs):
        raise Conflict(f"branch '{branch}' and branch '{other}' would nest on disk; choose another name")
    for other in _nesting(branch, control.retired):
        # The tree of a retired branch is still on disk, and off limits until its grace is over.
        _require_grace_over(store, other, control.retired[other])
        reclaim(store, other, control)
        control.retired.pop(other)
    if branch in control.retired:
        _require_grace_over(store, branch, control.retired[branch])
    elif store.objects.exists(f"{MANIFEST}/tree/{branch}") and is_sealed(store, branch):
        # A delete died between removing the ref and recording the retirement: the grace starts now.
        control.retired[branch] = now_micros()
        _require_grace_over(store, branch, control.retired[branch])
    reclaim(store, branch, control)
    control.retired.pop(branch, None)


def _nesting(branch: str, names: Iterable[str]) -> list[str]:
    return [
        other
        for other in names
        if other != SCHEMA_LOCK_REF and (other.startswith(f"{branch}/") or branch.startswith(f"{other}/"))
    ]


def _require_grace_over(store: Store, branch: str, retired_at: int) -> None:
    if store.settings.topology == "single_process":
        return
    left = retired_at + store.settings.retire_grace_ms * 1_000 - now_micros()
    if left > 0:
        # A writer suspended inside a commit could still land a version in a directory of the same name.
        raise Conflict(f"the branch name '{branch}' is retired for another {left // 1_000_000 + 1} s; choose another")


def _fork_manifest(store: Store, branch: str, captured: Loaded, control: Control) -> Ref:
    state = captured.state
    for attempt in range(2):
        trunk = tables.open_table(store.root.manifest(), control=True)
        try:
            tables.create_ref(trunk, branch, source=state.branch, version=state.version)
        except StorageError:
            found = manifest.refs(store.root).get(branch)
            if found is None and attempt == 0:
                control.require()
                store.objects.delete_prefix(f"{MANIFEST}/tree/{branch}")
                continue
            if found is None:
                raise
        found = manifest.refs(store.root).get(branch)
        if found is not None and _descends(found, captured):
            return found
        actual = None if found is None else found.identifier
        raise ReadSetChanged(f"branch_identifier:{branch}", expected=state.identifier, actual=actual)
    raise AssertionError("unreachable")


def _refuse_if_overtaken(store: Store, created: Ref, control: Control) -> None:
    """Undo a creation whose claim ran out before it: a cleanup, or a change of schema, took it to be the only one."""
    try:
        control.confirm()
    except ReadSetChanged:
        with hold_control(store, "branch_delete", target=created.name) as again:
            found = manifest.refs(store.root).get(created.name)
            if found is not None and found.identifier == created.identifier:
                complete_delete(store, created.name, created.identifier, again)
        raise


def _descends(ref: Ref, captured: Loaded) -> bool:
    state = captured.state
    return (ref.parent, ref.parent_version) == (state.branch, state.version) and ref.identifier[:-1] == state.identifier


def _register(store: Store, ref: Ref) -> None:
    """Tie the branch's manifest to this incarnation of its ref; from then on publishes and seals are ordered."""
    row = BranchRow(ref.name, ref.identifier, ref.parent, ref.parent_version, now_micros())
    outcome: CommitOutcome | None = None
    for _ in range(_REGISTER_ATTEMPTS):
        loaded = manifest.load(store.root, ref.name)
        if loaded.state.branch_row is not None:
            return
        outcome = manifest.publish_rows(loaded, [row])
        if isinstance(outcome, Landed):
            manifest.advance(loaded, [row], outcome)
            return
    if isinstance(outcome, Unknown):
        raise outcome.cause
    raise ReadSetChanged(f"graph_branch:{ref.name}")


# --- deleting ----------------------------------------------------------------------------------------


def _refuse_schema_change(store: Store) -> None:
    for operation_id in sidecar.pending(store.objects):
        intent = sidecar.load(store.objects, operation_id)
        if intent is not None and intent.writer_kind == "SchemaApply":
            raise Conflict(f"schema change {operation_id} is unresolved; open the graph read-write to resolve it")


def _refuse_dependents(store: Store, branch: str, refs: dict[str, Ref]) -> None:
    for other, ref in refs.items():
        if other in (branch, SCHEMA_LOCK_REF):
            continue
        if other.startswith(f"{branch}/") or ref.parent == branch:
            raise Conflict(f"branch '{branch}' cannot be deleted: branch '{other}' still depends on it")
    for tag in list_tags(store):
        if tag.branch == branch:
            raise Conflict(f"branch '{branch}' cannot be deleted: tag '{tag.name}' names one of its commits")
    live: list[str | None] = [None, *(name for name in refs if name not in (branch, SCHEMA_LOCK_REF))]
    for reader in live:
        try:
            snapshot = manifest.load(store.root, reader).state.snapshot
        except NotFound:
            continue
        if owned_refs(branch, (entry.ref for entry in snapshot)):
            raise Conflict(
                f"branch '{branch}' cannot be deleted: branch '{reader or 'main'}' still depends on its tables"
            )


def _owned_table_refs(store: Store, branch: str) -> dict[str, list[str]]:
    """The refs a branch has on each table, whether or not its snapshot uses them."""
    found: dict[str, list[str]] = {}
    for location in sorted({row.location for row in manifest.load(store.root).state.registrations.values()}):
        trunk = tables.open_table(store.root.table(location), control=True)
        names = owned_refs(branch, tables.list_refs(trunk))
        if names:
            found[location] = names
    return found


def _remove_authority(store: Store, branch: str, identifier: Identifier, control: Control) -> None:
    try:
        forget_refs(store, MANIFEST, [branch], control)
    except StorageError:
        found = manifest.refs(store.root).get(branch)
        if found is None:
            return
        if found.identifier == identifier:
            raise
        raise ReadSetChanged(f"branch_identifier:{branch}", expected=identifier, actual=found.identifier) from None
