"""Named hooks in the storage protocols where a test can raise, pause or kill the process.

Nothing is armed in production: `hit` then costs one attribute test. Child processes are armed by the environment,
`OMNIGRAPH_FAILPOINTS="publish.pre_commit=kill;lease.heartbeat=sleep:2.5;table_commit.pre=raise@3;*=kill~0.01"`,
where `@n` means only the n-th hit, `~p` means with probability p, and `*` stands for every name. `stop` suspends the
whole process, heartbeats included, until somebody continues it.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from omnigraph.errors import BadRequest, StorageError

ENVIRONMENT = "OMNIGRAPH_FAILPOINTS"

_DECLARED = """
    init.after_schema_pg_written init.after_schema_contract_written init.table_create_ack_lost
    init.manifest_create_ack_lost init.manifest_create_probe init.post_manifest_create init.schema_cleanup_delete
    storage.local_create_if_absent_probe open.before_schema_contract_read
    mutation.post_stage_pre_gate mutation.post_no_effect_pre_gate mutation.post_sidecar_pre_fork
    transaction.post_lease transaction.post_fork transaction.pre_merge transaction.pre_drop transaction.mid_drop
    commit.pre_turn commit.pre_rebase commit.pre_reprepare commit.hand_over
    together.taken together.pre_member together.post_member together.pre_publish
    queue.ticket_write queue.awaiting queue.turn_came queue.ticket_delete
    mutation.post_fork_pre_commit mutation.post_table_commit mutation.post_effects_pre_publish
    capture.awaits_schema_change
    fork.post_create_pre_open table_commit.pre table_commit.ack_lost
    publish.load_state_contention publish.pre_commit publish.ack_lost publish.after_commit
    lease.heartbeat fence.settle_pre_commit fence.neutralize_pre_commit
    recovery.sidecar_write recovery.sidecar_delete recovery.sidecar_list recovery.post_list_pre_read
    recovery.post_classify recovery.before_roll_forward_publish recovery.post_marker recovery.post_table_restore
    recovery.post_rollback_publish recovery.record_audit
    branch_merge.post_capture branch_merge.post_validation branch_merge.between_chunks
    branch_merge.post_effects_pre_publish
    schema_apply.post_lock schema_apply.post_sidecar_pre_effect schema_apply.post_table_commit
    schema_apply.before_staging_write schema_apply.post_keep schema_apply.after_staging_write
    schema_apply.after_publish schema_apply.mid_promotion
    branch_create.pre_native branch_create.post_native branch_create.post_registry
    branch_rename.post_native branch_rename.pre_seal branch_rename.post_seal
    branch_delete.pre_seal branch_delete.post_seal branch_delete.post_native branch_delete.before_table_cleanup
    cleanup.mid_reclaim
    load.split_begun_at_first load.split_staged_at_first load.split_staged
    load.post_stage load.post_checks load.pre_discard
    transfer.post_branch transfer.post_commit
    stream.post_load stream.post_merge stream.post_mark
    change_feed.post_capture change_feed.pre_table_open cleanup.table_gc
    cluster.before_graph_create cluster.after_graph_create cluster.before_schema_apply cluster.after_schema_apply
    cluster.after_payloads cluster.before_graph_delete cluster.after_graph_delete cluster.before_state_write
"""
NAMES = frozenset(_DECLARED.split())


@dataclass(frozen=True, slots=True)
class Action:
    """What happens at a hook: `run` is called with the hook's name when the trigger fits."""

    run: Callable[[str], None]
    nth: int | None = None
    probability: float = 1.0


@dataclass(slots=True)
class Plan:
    """The armed actions and how often each hook was reached while they were armed."""

    actions: Mapping[str, tuple[Action, ...]]
    hits: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def trigger(self, name: str) -> None:
        if name not in NAMES:
            raise AssertionError(f"failpoint '{name}' is not declared in failpoints.NAMES")
        with self.lock:
            self.hits[name] += 1
            count = self.hits[name]
        for action in (*self.actions.get(name, ()), *self.actions.get("*", ())):
            if action.nth not in (None, count):
                continue
            if action.probability < 1.0 and random.random() >= action.probability:
                continue
            action.run(name)


def hit(name: str) -> None:
    """Pass the hook `name`; does nothing unless failpoints are armed."""
    if _plan is not None:
        _plan.trigger(name)


@contextmanager
def armed(spec: str | Mapping[str, Callable[[], None]] = "", before: Mapping[str, int] | None = None) -> Iterator[Plan]:
    """Arm hooks in this process: a spec as in the environment variable, or functions to call by hook name.

    `before` says how often hooks count as reached already, for a task that is one of many.
    """
    global _plan  # noqa: PLW0603 - one process-wide switch is the point of the module
    actions = parse(spec) if isinstance(spec, str) else {_known(n): (_calling(f),) for n, f in spec.items()}
    outer, _plan = _plan, Plan(actions, Counter(before or {}))
    try:
        yield _plan
    finally:
        _plan = outer


def parse(spec: str) -> dict[str, tuple[Action, ...]]:
    """The actions an `OMNIGRAPH_FAILPOINTS` text asks for."""
    actions: dict[str, tuple[Action, ...]] = {}
    for item in filter(None, (part.strip() for part in spec.split(";"))):
        name, separator, text = item.partition("=")
        if not separator:
            raise BadRequest(f"failpoint '{item}' has no action; write name=raise, name=kill or name=sleep:<seconds>")
        name = _known(name.strip())
        actions[name] = (*actions.get(name, ()), _parse_action(text.strip()))
    return actions


def _parse_action(text: str) -> Action:
    body, _, probability = text.partition("~")
    body, _, nth = body.partition("@")
    verb, _, argument = body.partition(":")
    try:
        run = _VERBS.get(verb) or _sleeping(verb, float(argument))
        return Action(run, int(nth) if nth else None, float(probability) if probability else 1.0)
    except ValueError as error:
        raise BadRequest(f"failpoint action '{text}' is not raise, kill, stop or sleep:<seconds>") from error


def _known(name: str) -> str:
    if name != "*" and name not in NAMES:
        raise BadRequest(f"unknown failpoint '{name}'")
    return name


def _kill(_name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _stop(_name: str) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _raise(name: str) -> None:
    raise StorageError(f"failpoint {name}", kind="Unknown")


def _sleeping(verb: str, seconds: float) -> Callable[[str], None]:
    if verb != "sleep":
        raise ValueError(verb)
    return lambda _name: time.sleep(seconds)


def _calling(function: Callable[[], None]) -> Action:
    return Action(lambda _name: function())


_VERBS = {"kill": _kill, "stop": _stop, "raise": _raise}
_plan: Plan | None = Plan(parse(os.environ[ENVIRONMENT])) if os.environ.get(ENVIRONMENT) else None
