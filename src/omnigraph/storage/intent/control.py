"""Graph control: the one holder at a time of operations that lance cannot make conditional."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from omnigraph import host
from omnigraph.errors import Conflict, HistoricalVersionReclaimed, OmnigraphError, ReadSetChanged, StorageError
from omnigraph.ids import new_ulid, now_micros
from omnigraph.storage.base import lease
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.waiting import looks
from omnigraph.storage.intent.capture import control_is_held
from omnigraph.storage.lance.tables import Landed, Refused, Unknown
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import Loaded
from omnigraph.storage.manifest.rows import ControlHolder, ControlKind, ControlRow

_SAFE_MARGIN_MS = 60_000


@dataclass(slots=True)
class Control:
    """A held control: what it protects may be done while `require` does not object."""

    store: Store
    operation_id: str
    epoch: int
    acquired: float
    ttl_ms: int
    retired: dict[str, int] = field(default_factory=dict)
    _renewing: threading.Lock = field(default_factory=threading.Lock)

    def save(self) -> None:
        """Store `retired` now, still holding control, from here on for another full lease."""
        while True:
            started = host.monotonic()
            loaded = manifest.load(self.store.root)
            current = self._own_row(loaded)
            assert current.holder is not None
            beat = current.holder.heartbeat_seq + 1
            holder = replace(current.holder, heartbeat_seq=beat, heartbeat_at=now_micros())
            if _swap(loaded, ControlRow(current.epoch + 1, holder, dict(self.retired))):
                self.acquired = started
                return

    def confirm(self) -> None:
        """Raise unless this operation is the holder now; what it read before may be acted on if it was not touched."""
        self._own_row(manifest.load(self.store.root))

    def require(self) -> None:
        """Raise unless enough of the lease is left to issue a destructive request; half used up, it is renewed."""
        with self._renewing:
            if self._left_ms() < self.ttl_ms / 2:
                self.save()
        if self._left_ms() < min(_SAFE_MARGIN_MS, self.ttl_ms / 3):
            raise ReadSetChanged("graph_control", expected=self.operation_id, actual="lease about to expire")

    def _left_ms(self) -> float:
        return self.ttl_ms - (host.monotonic() - self.acquired) * 1_000

    def _own_row(self, loaded: Loaded) -> ControlRow:
        current = loaded.state.control or ControlRow()
        if current.holder is None or current.holder.operation_id != self.operation_id:
            actual = None if current.holder is None else current.holder.operation_id
            raise ReadSetChanged("graph_control", expected=self.operation_id, actual=actual)
        return current


@contextmanager
def hold_control(
    store: Store, kind: ControlKind, *, target: str | None = None, operation_id: str | None = None
) -> Iterator[Control]:
    """Hold graph control for the block; waits for a live holder up to `writer_wait_ms`, then Conflict names it.

    Changes to `Control.retired` are stored when control is released.
    """
    operation = operation_id or new_ulid()
    with lease.active(operation):
        control = _take(store, kind, target, operation)
        try:
            yield control
        except BaseException:
            # Keep the first error: an unreleased control is taken over when its lease or its process ends.
            _release_quietly(store, operation, control.retired)
            raise
        release(store, operation, retired=control.retired)


def holds(store: Store, operation_id: str) -> bool:
    """Whether this operation is the current holder."""
    control = manifest.load(store.root).state.control
    return control is not None and control.holder is not None and control.holder.operation_id == operation_id


def refuse_beside_cleanup(store: Store) -> None:
    """Raise while a cleanup decides what may go; called by those who make old states needed, once they are armed.

    A cleanup takes control before it looks for armed operations, so that one of the two always sees the other.
    """
    holder = _live_cleanup(store)
    if holder is not None:
        raise ReadSetChanged("graph_control", expected="no cleanup", actual=holder.operation_id)


def await_cleanup(store: Store) -> None:
    """Return when no cleanup is at work; Conflict names one that lasts longer than `writer_wait_ms`."""
    for more in looks(store.settings.writer_wait_ms / 1_000):
        holder = _live_cleanup(store)
        if holder is None:
            return
        if not more:
            raise Conflict(f"a cleanup is in progress (operation {holder.operation_id}); retry when it has finished")


def release(store: Store, operation_id: str, *, retired: Mapping[str, int] | None = None) -> None:
    """Give control back if this operation still holds it."""
    while True:
        loaded = manifest.load(store.root)
        current = loaded.state.control or ControlRow()
        if current.holder is None or current.holder.operation_id != operation_id:
            return
        kept = dict(current.retired) if retired is None else dict(retired)
        if _swap(loaded, replace(current, epoch=current.epoch + 1, holder=None, retired=kept)):
            return


def _live_cleanup(store: Store) -> ControlHolder | None:
    control = manifest.load(store.root).state.control
    holder = None if control is None else control.holder
    return holder if holder is not None and holder.kind == "cleanup" and control_is_held(store, holder) else None


def _take(store: Store, kind: ControlKind, target: str | None, operation_id: str) -> Control:
    for more in looks(store.settings.writer_wait_ms / 1_000):
        started = host.monotonic()
        loaded = manifest.load(store.root)
        current = loaded.state.control or ControlRow()
        holder = current.holder
        if holder is None or holder.operation_id == operation_id or not control_is_held(store, holder):
            mine = _holder(store, kind, target, operation_id)
            if _swap(loaded, replace(current, epoch=current.epoch + 1, holder=mine)):
                return Control(store, operation_id, current.epoch + 1, started, mine.ttl_ms, dict(current.retired))
        elif not more:
            about = f" of '{holder.target}'" if holder.target else ""
            raise Conflict(f"another {holder.kind}{about} is in progress (operation {holder.operation_id})")
    raise AssertionError("looking does not end")


def _holder(store: Store, kind: ControlKind, target: str | None, operation_id: str) -> ControlHolder:
    return ControlHolder(
        operation_id=operation_id,
        kind=kind,
        owner=lease.process_owner(),
        heartbeat_seq=0,
        heartbeat_at=now_micros(),
        ttl_ms=store.settings.control_ttl_ms,
        target=target,
    )


def _swap(loaded: Loaded, row: ControlRow) -> bool:
    """Replace the control row; False when somebody else changed it first (look again)."""
    outcome = manifest.publish_rows(loaded, [row])
    match outcome:
        case Landed():
            manifest.advance(loaded, [row], outcome)
            return True
        case Refused():
            return False
        case Unknown(cause):
            now = manifest.load(loaded.handle.address.root).state.control or ControlRow()
            if now == row:
                return True  # only the answer was lost
            if now.epoch != row.epoch - 1 or _is_gone(cause):
                return False
            raise cause  # a disk that is full or read-only stays so: another attempt would fail again


def _is_gone(cause: OmnigraphError) -> bool:
    """Whether the version that was built on is no longer there, because others went ahead and trimmed it."""
    return isinstance(cause, HistoricalVersionReclaimed) or (
        isinstance(cause, StorageError) and cause.kind == "NotFound"
    )


def _release_quietly(store: Store, operation_id: str, retired: Mapping[str, int]) -> None:
    try:
        release(store, operation_id, retired=retired)
    except OmnigraphError:
        return
