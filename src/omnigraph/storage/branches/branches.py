"""Graph branches: create, list, rename and delete them so that several processes agree on what exists."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.errors import BadRequest, BranchNotFound, Conflict, ReadSetChanged, Retry, StorageError
from omnigraph.ids import now_micros
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import MANIFEST, PRIVATE_PREFIX, SCHEMA_LOCK_REF, is_public
from omnigraph.storage.base.ref_names import branch_of, epoch_of, new_ref, renames_parent
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.former import former_names, former_refs
from omnigraph.storage.branches.names import branch_name, new_name
from omnigraph.storage.branches.private_branches import discard_unannounced
from omnigraph.storage.branches.retire import forget_refs, keep, seal
from omnigraph.storage.branches.tags import find_tag, list_tags
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import control_is_held, parent_branch
from omnigraph.storage.intent.control import Control, hold_control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import Ref, read_ref
from omnigraph.storage.lance.tables import CommitOutcome, Landed, Unknown
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import find_ref, forks_of, live_refs, require_ref
from omnigraph.storage.manifest.manifest import Loaded
from omnigraph.storage.manifest.rows import BranchRow

_REGISTER_ATTEMPTS = 8


def list_branches(store: Store) -> list[str]:
    """Every public branch, main first; one listing, whatever their number."""
    live = live_refs(store.root)
    former = former_names(store, live)
    return ["main", *sorted(name for name in live if is_public(name) and name not in former)]


def readable_branches(store: Store) -> list[str]:
    """The public branches and the private ones of running transactions, main first."""
    live = live_refs(store.root)
    hidden = {SCHEMA_LOCK_REF, *former_names(store, live)}
    return ["main", *sorted(name for name in live if name not in hidden)]


def branch_exists(store: Store, branch: str | None) -> bool:
    """Whether there is such a branch (None is main); reads one ref and no other, unless branches were renamed."""
    if branch is None:
        return True
    return find_ref(store.root, branch) is not None and branch not in former_names(store, live_refs(store.root))


def lineage(store: Store, branch: str | None) -> list[str]:
    """The branch, the one that it was forked from, and so on to main."""
    found, trunk = [], store.root.manifest()
    ref = None if branch is None else require_ref(store.root, branch)
    while ref is not None:
        found.append(branch_of(ref.name))
        if ref.parent is None:
            break
        parent = read_ref(trunk, ref.parent)
        if parent is None:
            raise BranchNotFound(branch_of(ref.parent))
        ref = parent
    return [*found, "main"]


def create_branch(store: Store, name: str, *, source: str | None = None, version: int | None = None) -> None:
    """Create a branch at the newest state of `source`, or at an older version of its manifest that is still there.

    It shares every table until it writes to it.
    """
    branch = new_name(name, "branch")
    if source is not None and source.startswith(PRIVATE_PREFIX):
        raise BadRequest("a branch cannot be made from inside a transaction; make it from the branch it is merged into")
    origin = None if source is None else branch_name(source)
    with store.gates.hold([origin, branch]), hold_control(store, "branch_create", target=branch) as control:
        _finish_interrupted(store, control)
        _refuse_name(store, branch)
        root = store.root
        captured = manifest.load(root, origin) if version is None else manifest.load_kept(root, origin, version)
        hit("branch_create.pre_native")
        created = _fork_manifest(store, branch, captured, control)
        hit("branch_create.post_native")
        _refuse_if_overtaken(store, created, control)
        _register(store, created)
        hit("branch_create.post_registry")


def rename_branch(store: Store, name: str, to: str, *, bound: str | None = None) -> None:
    """Give a branch another name: a new one takes its place, at the same commit, and the former name is closed.

    The seal is where the names change: before it both are branches, after it only the new one is. What the branch has
    written stays where it is, and so does what was made from it.
    """
    branch, target = branch_name(name), new_name(to, "branch")
    if branch is None:
        raise BadRequest("'main' cannot be renamed")
    if branch == bound:
        raise Conflict(f"branch '{branch}' is currently active; switch to another branch first")
    with store.gates.hold([None, branch, target]), hold_control(store, "branch_rename", target=target) as control:
        _finish_interrupted(store, control)
        discard_unannounced(store)
        ref = _require_live(store, branch)
        _refuse_schema_change(store)
        _refuse_tagged(store, branch, "renamed")
        _refuse_second_rename(store, ref)
        _refuse_name(store, target, replaces=branch)
        captured = manifest.load(store.root, branch)
        created = _fork_manifest(store, target, captured, control, renames=True)
        hit("branch_rename.post_native")
        _refuse_if_overtaken(store, created, control)
        _register(store, created)
        hit("branch_rename.pre_seal")
        try:
            seal(store, ref, control, at=captured.state.version)
        except ReadSetChanged:  # written to meanwhile, or overtaken, which takes the new branch back as well
            _refuse_if_overtaken(store, created, control)
            complete_delete(store, created, control)
            raise
        hit("branch_rename.post_seal")


def delete_branch(store: Store, name: str, *, bound: str | None = None) -> None:
    """Delete a branch nothing depends on; `bound` is the branch the caller's handle works on."""
    branch = branch_name(name)
    if branch is None:
        raise BadRequest("'main' cannot be deleted")
    if branch == bound:
        raise Conflict(f"branch '{branch}' is currently active; switch to another branch first")
    with store.gates.hold([None, branch]), hold_control(store, "branch_delete", target=branch) as control:
        _finish_interrupted(store, control)
        discard_unannounced(store)
        ref = _require_live(store, branch)
        _refuse_schema_change(store)
        former = former_refs(store, ref)
        _refuse_dependents(store, branch, (ref, *former))
        for each in former:  # noted before the only branch goes that hides them
            control.retired[each.name] = now_micros()
        for each in (ref, *former):
            complete_delete(store, each, control)


def _require_live(store: Store, branch: str) -> Ref:
    """The ref of a branch, by its present name."""
    if branch in former_names(store, live_refs(store.root)):
        raise BranchNotFound(branch)
    return require_ref(store.root, branch)


def complete_delete(store: Store, ref: Ref, control: Control) -> None:
    """Seal a branch and take its authority away; continues where a crash left off. Its files go with a cleanup."""
    # Marked first: a retired ref that is still there is how others know that a delete was interrupted.
    control.retired[ref.name] = now_micros()
    control.save()
    owned = seal(store, ref, control)
    hit("branch_delete.post_seal")
    _remove_authority(store, ref, control)
    hit("branch_delete.post_native")
    hit("branch_delete.before_table_cleanup")
    for location, names in owned.items():
        forget_refs(store, location, names, control)
    control.retired.pop(ref.name)


def finish_deletes(store: Store) -> list[str]:
    """Complete deletions whose deleter is gone; run when a graph is opened for writing."""
    control = manifest.load(store.root).state.control
    if control is None or not control.retired:
        return []
    if control.holder is not None and control_is_held(store, control.holder):
        return []  # its deleter may be at work
    try:
        held_names = [None, *map(branch_of, control.retired)]
        with store.gates.hold(held_names), hold_control(store, "branch_delete") as held:
            return _finish_interrupted(store, held)
    except (Conflict, Retry):
        return []  # somebody else was faster, and the next holder of control finishes them first


def _finish_interrupted(store: Store, control: Control) -> list[str]:
    """What a deleter that died has left: a branch without its seal lives on, and one with it goes."""
    finished = []
    for name in sorted(control.retired, key=epoch_of, reverse=True):  # a former name after the branch that replaced it
        ref = read_ref(store.root.manifest(), name)
        if ref is None or forks_of(store.root, name) or keep(store, name):
            # Without a ref nothing can be read or published there; earlier releases kept names for a while. What others
            # were made from is the former name of a branch whose deletion did not come far.
            control.retired.pop(name)
        else:
            complete_delete(store, ref, control)
            finished.append(branch_of(name))
    return finished


# --- creating ----------------------------------------------------------------------------------------


def _refuse_name(store: Store, branch: str, *, replaces: str | None = None) -> None:
    if find_tag(store, branch) is not None:
        raise Conflict(f"there is a tag '{branch}' already; choose another name, or delete the tag first")
    live = live_refs(store.root)
    if (successor := former_names(store, live).get(branch)) is not None:
        raise Conflict(
            f"'{branch}' is the former name of branch '{successor}', whose older commits have it; choose another name"
        )
    if branch in live:
        raise Conflict(f"branch '{branch}' already exists")
    for other in live:
        if other not in (SCHEMA_LOCK_REF, replaces) and (
            other.startswith(f"{branch}/") or branch.startswith(f"{other}/")
        ):
            raise Conflict(f"branch '{branch}' and branch '{other}' would nest; choose another name")


def _refuse_second_rename(store: Store, ref: Ref) -> None:
    """A rename that died before its seal has left a branch; with a second one, each would wait for the other to go."""
    for child in forks_of(store.root, ref.name):
        if renames_parent(child):
            begun, branch = branch_of(child), branch_of(ref.name)
            raise Conflict(
                f"branch '{begun}' is what an interrupted rename of '{branch}' has left; delete '{begun}' first, "
                f"or merge it into '{branch}' and then delete it if something was written to it"
            )


def _fork_manifest(store: Store, branch: str, captured: Loaded, control: Control, *, renames: bool = False) -> Ref:
    state, parent = captured.state, captured.handle.address.ref
    name = new_ref(branch, epoch=control.epoch, parent=parent, version=state.version, renames=renames)
    manifest_root = store.root.manifest()
    for attempt in range(2):
        trunk = tables.open_table(manifest_root, control=True)
        try:
            tables.create_ref(trunk, name, source=parent, version=state.version)
        except StorageError:
            found = read_ref(manifest_root, name)
            if found is None and attempt == 0:
                control.require()
                store.objects.delete_prefix(f"{MANIFEST}/tree/{name}")
                continue
            if found is None:
                raise
        found = read_ref(manifest_root, name)
        if found is not None and _descends(found, captured):
            manifest.inherit(captured, found)
            return found
        actual = None if found is None else found.identifier
        raise ReadSetChanged(f"branch_identifier:{branch}", expected=state.identifier, actual=actual)
    raise AssertionError("unreachable")


def _refuse_if_overtaken(store: Store, created: Ref, control: Control) -> None:
    """Undo a creation whose claim ran out before it: a cleanup, or a change of schema, took it to be the only one."""
    try:
        control.confirm()
    except ReadSetChanged:
        with hold_control(store, "branch_delete", target=branch_of(created.name)) as again:
            if read_ref(store.root.manifest(), created.name) is not None:
                complete_delete(store, created, again)
        raise


def _descends(ref: Ref, captured: Loaded) -> bool:
    state, parent = captured.state, captured.handle.address.ref
    return (ref.parent, ref.parent_version) == (parent, state.version) and ref.identifier[:-1] == state.identifier


def _register(store: Store, ref: Ref) -> None:
    """Tie the branch's manifest to this incarnation of its ref; from then on publishes and seals are ordered."""
    branch = branch_of(ref.name)
    row = BranchRow(branch, ref.identifier, parent_branch(ref), ref.parent_version, now_micros())
    outcome: CommitOutcome | None = None
    for _ in range(_REGISTER_ATTEMPTS):
        loaded = manifest.load(store.root, branch)
        if loaded.state.branch_row is not None:
            return
        outcome = manifest.publish_rows(loaded, [row])
        if isinstance(outcome, Landed):
            manifest.advance(loaded, [row], outcome)
            return
    if isinstance(outcome, Unknown):
        raise outcome.cause
    raise ReadSetChanged(f"graph_branch:{branch}")


# --- deleting ----------------------------------------------------------------------------------------


def _refuse_schema_change(store: Store) -> None:
    for operation_id in sidecar.pending(store.objects):
        intent = sidecar.load(store.objects, operation_id)
        if intent is not None and intent.writer_kind == "SchemaApply":
            raise Conflict(f"schema change {operation_id} is unresolved; open the graph read-write to resolve it")


def _refuse_dependents(store: Store, branch: str, refs: Sequence[Ref]) -> None:
    """A branch shows tables of another only if it descends from it, and then every branch between the two lives."""
    own = {ref.name for ref in refs}
    for child in (child for ref in refs for child in forks_of(store.root, ref.name)):
        if child not in own:
            raise Conflict(f"branch '{branch}' cannot be deleted: branch '{branch_of(child)}' still depends on it")
    _refuse_tagged(store, branch, "deleted")


def _refuse_tagged(store: Store, branch: str, done: str) -> None:
    for tag in list_tags(store):
        if tag.branch == branch:
            raise Conflict(f"branch '{branch}' cannot be {done}: tag '{tag.name}' names one of its commits")


def _remove_authority(store: Store, ref: Ref, control: Control) -> None:
    try:
        forget_refs(store, MANIFEST, [ref.name], control)
    except StorageError:
        if read_ref(store.root.manifest(), ref.name) is not None:
            raise
