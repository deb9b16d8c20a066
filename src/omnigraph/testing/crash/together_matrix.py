"""The part of the crash matrix where writes are published together: three that wait for one turn, killed on the way."""

from __future__ import annotations

from omnigraph.storage.base.store import Store
from omnigraph.storage.protocol.commit import Write
from omnigraph.testing.graphs.tiny import A, B, contents, upserting

VICTIM = "victim"
ORDER = ("ahead", VICTIM, "behind")
"""The rows of the three writes in the order of their commits; the victim is taken along by the first."""

# Hooks per table are passed twice by each write: the third and the fourth hit are the victim's. Whether it is there.
POINTS: tuple[tuple[str, bool], ...] = (
    ("together.taken=kill", False),
    ("together.pre_member=kill@1", False),
    ("recovery.sidecar_write=kill@2", False),
    ("mutation.post_sidecar_pre_fork=kill@2", False),
    ("table_commit.ack_lost=kill@3", False),
    ("mutation.post_table_commit=kill@3", False),
    ("mutation.post_table_commit=raise@3;fence.settle_pre_commit=kill", False),
    ("mutation.post_table_commit=raise@3;publish.ack_lost=kill", False),
    ("table_commit.ack_lost=kill@4", True),
    ("together.post_member=kill@1", True),
    ("together.pre_member=kill@2", True),
    ("mutation.post_table_commit=kill@5", True),
    ("mutation.post_table_commit=raise@5;publish.pre_commit=kill", True),
    ("together.pre_publish=kill", True),
    ("publish.pre_commit=kill", True),
    ("publish.ack_lost=kill", True),
    ("publish.ack_lost=raise@1;publish.load_state_contention=kill", True),
    ("publish.after_commit=kill", True),
    ("commit.hand_over=kill@1", True),
    ("recovery.sidecar_delete=kill@1", True),
    ("recovery.sidecar_delete=kill@2", True),
)
# A recovery of all three that dies at the second of them is finished by the next.
COMPLETE = "together.pre_publish=kill"
RECOVERY_POINTS = (
    "recovery.post_classify=kill@2",
    "recovery.before_roll_forward_publish=kill@2",
    "publish.ack_lost=kill@2",
    "recovery.record_audit=kill@2",
    "recovery.sidecar_delete=kill@2",
)


def write_together(store: Store) -> None:
    """Three writes of which the first finds the others waiting when it is about to be published."""
    writes = [Write(store, None, upserting([row], A, B, actor=f"act-{row}")) for row in ORDER]
    for write in writes:
        write.begin()
    for write in writes:
        write.join()
    for write in writes:
        while write.finish() is None:
            write.begin()
            write.join()


def torn(store: Store) -> list[str]:
    """What of the three must not be seen: one in part, or one without that before it."""
    seen = [[row in contents(store, key) for key in (A, B)] for row in ORDER]
    found = [f"partial: '{row}' in A {a}, in B {b}" for row, (a, b) in zip(ORDER, seen, strict=True) if a != b]
    whole = [a for a, _ in seen]
    return found + ([f"of {ORDER} there are {whole}"] if whole != sorted(whole, reverse=True) else [])
