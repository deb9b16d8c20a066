"""One commit that gives a branch another schema, under graph control; a schema change and a merge both end here.

Control keeps two changes of any schema of the graph apart, so that identities are given away once, and keeps a cleanup
from removing a schema that is about to be accepted. Main has its schema in three files beside the manifest, which are
staged before the publish and made live after it; the schemas of other branches are only kept by their hash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.engine.schema.transition import schema_row
from omnigraph.engine.views.core import Core
from omnigraph.errors import OmnigraphError, RecoveryRequired, Retry
from omnigraph.ids import new_ulid
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.control import Control, hold_control
from omnigraph.storage.manifest import manifest, schema_files
from omnigraph.storage.manifest.schema_archive import keep_schema
from omnigraph.storage.manifest.schema_files import SchemaContract
from omnigraph.storage.protocol import schema_recovery
from omnigraph.storage.protocol.attempt import Hooks
from omnigraph.storage.protocol.commit import Committed, Prepare, commit

_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class SchemaPair:
    """The schema that a branch accepts, and the one it accepts after the commit; equal when that changes none."""

    before: Accepted
    after: Accepted

    @property
    def changes(self) -> bool:
        return self.before.ir_hash != self.after.ir_hash


@dataclass(frozen=True, slots=True)
class SchemaWork:
    """What a change does: `prepare` says what to write, `schemas` what the write prepared last does to the schema."""

    prepare: Prepare
    schemas: Callable[[], SchemaPair]
    recheck: Callable[[], None] = lambda: None  # after a lost attempt; raises when another one would be wrong
    after_arm: Callable[[], None] = lambda: None
    before_publish: Callable[[], None] = lambda: None


def commit_schema(core: Core, branch: str | None, work: SchemaWork) -> Committed:
    """Commit a change of a branch's schema, or nothing; commits that others land meanwhile are built upon."""
    for remaining in reversed(range(_ROUNDS)):
        change = _Change(core, branch, work, new_ulid())
        try:
            return change.run()
        except (Retry, RecoveryRequired) as error:
            undecided = isinstance(error, RecoveryRequired) and error.operation_id == change.operation_id
            if undecided or not remaining:
                raise
            work.recheck()
    raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class _Change:
    """One attempt, under one operation id."""

    core: Core
    branch: str | None
    work: SchemaWork
    operation_id: str

    def run(self) -> Committed:
        store, own = self.core.store, self.operation_id
        # Gates come before control, as everywhere: a writer that waits for control holds its gates already.
        with (
            store.gates.branches([self.branch]),
            hold_control(store, "schema_apply", target=self.branch, operation_id=own) as control,
        ):
            if self.branch is None:
                schema_recovery.lock(store)
            hit("schema_apply.post_lock")
            try:
                return commit(store, self.branch, self.work.prepare, hooks=self._hooks(control))
            except BaseException:
                self._discard_staging()
                raise
            finally:
                if self.branch is None:
                    schema_recovery.drop_lock(store)

    def _hooks(self, control: Control) -> Hooks:
        return Hooks(
            operation_id=self.operation_id,
            gated=True,
            after_arm=self._after_arm,
            after_table=lambda: hit("schema_apply.post_table_commit"),
            before_publish=lambda: self._before_publish(control),
            after_publish=self._after_publish,
        )

    def _after_arm(self) -> None:
        self.work.after_arm()
        hit("schema_apply.post_sidecar_pre_effect")

    def _before_publish(self, control: Control) -> None:
        self.work.before_publish()
        schemas = self.work.schemas()
        if not schemas.changes:
            return
        hit("schema_apply.before_staging_write")
        objects = self.core.store.objects
        # Before the staged files, so that the process that finishes this change finds both schemas kept.
        for accepted in (schemas.before, schemas.after):
            keep_schema(objects, contract_of(accepted))
        hit("schema_apply.post_keep")
        if self.branch is None:
            schema_files.write_staging(objects, contract_of(schemas.after))
        else:
            # The publish on main asserts the control row; on another branch nothing but the lease can tell.
            control.confirm()
            control.require()
        hit("schema_apply.after_staging_write")

    def _after_publish(self) -> None:
        hit("schema_apply.after_publish")
        schemas = self.work.schemas()
        if not schemas.changes:
            return
        if self.branch is None:
            schema_files.promote_staging(self.core.store.objects)
            self.core.schemas.adopt(contract_of(schemas.after))
        self.core.tables.clear()

    def _discard_staging(self) -> None:
        """Delete the staged files of an attempt that is over; while a sidecar exists they are its recovery's."""
        store = self.core.store
        if self.branch is not None:
            return
        try:
            if sidecar.load(store.objects, self.operation_id) is not None:
                return
            published = manifest.load(store.root).state.schema
            if published is None or published.schema_ir_hash != schema_files.staged_hash(store.objects):
                schema_files.drop_staging(store.objects)
        except OmnigraphError:
            return  # leftovers are harmless, and the next open for writing deletes them


def contract_of(accepted: Accepted) -> SchemaContract:
    """An accepted schema as it is stored."""
    return SchemaContract(accepted.source, accepted.ir_json, schema_row(accepted))
