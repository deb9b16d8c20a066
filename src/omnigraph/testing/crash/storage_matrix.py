"""The crash matrix: kill a process at every hook of the write, fork, recovery, branch and merge paths, then look.

`python -m omnigraph.testing.crash.storage_matrix` prints one line per hook: what was killed, how recovery
resolved it, and whether everything that must hold does.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from omnigraph.ids import now_micros
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import RECOVERY_DIR
from omnigraph.storage.base.lease import Lease
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches import branches
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import WriteSet
from omnigraph.storage.protocol import recovery, tickets
from omnigraph.storage.protocol.commit import Prepare, commit
from omnigraph.testing.crash import branch_matrix, together_matrix
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.merge_matrix import merge_scenarios, prepare_merge_template, run_merge_scenario
from omnigraph.testing.crash.processes import children
from omnigraph.testing.crash.together_matrix import VICTIM, torn, write_together
from omnigraph.testing.graphs.tiny import A, B, contents, create_tiny, inserting, open_tiny, upserting, write

SETTINGS = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000, retire_grace_ms=0)
BRANCH = "feature"

Outcome = Literal["published", "absent", "either"]


@dataclass(frozen=True, slots=True)
class Child:
    """One process of a scenario: what it does and where it dies."""

    action: str
    failpoints: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """Children that die one after the other, and what must be left of the victim's write."""

    children: tuple[Child, ...]
    expect: Outcome

    @property
    def name(self) -> str:
        return " then ".join(f"{child.action}[{child.failpoints}]" for child in self.children)


@dataclass(frozen=True, slots=True)
class Report:
    """What one scenario led to; `problems` is empty when every promise held."""

    scenario: Scenario
    recovered: tuple[str, ...]
    visible: bool
    problems: tuple[str, ...]


def _act_write(store: Store) -> None:
    write(store, upserting([VICTIM], A, B, actor="act-victim"))


def _act_write_branch(store: Store) -> None:
    write(store, upserting([VICTIM], A, B, actor="act-victim"), BRANCH)


def _act_overtaken(store: Store) -> None:
    """Another row is written between preparing and the turn: the prepared write is rebased."""
    commit(store, None, _overtaking(store, "between"))


def _act_contradicted(store: Store) -> None:
    """The same row is written between preparing and the turn: the write is prepared again."""
    commit(store, None, _overtaking(store, VICTIM))


def _overtaking(store: Store, name: str) -> Prepare:
    left = [upserting([name], A, B)]
    mine = upserting([VICTIM], A, B, actor="act-victim")

    def prepare(txn: Txn) -> WriteSet | None:
        if left:
            write(store, left.pop())
        return mine(txn)

    return prepare


def _act_queued(store: Store) -> None:
    """Another process is ahead in the queue, and leaves it a moment after this one has joined."""
    first, ahead = "0" * 26, Lease("elsewhere/1/x", 0, now_micros(), 5_000)
    path = f"{RECOVERY_DIR}/{first}.ticket"
    store.objects.write(path, json.dumps({"ticket_id": first, "branch": None, "lease": asdict(ahead)}))

    def leave() -> None:
        while len(tickets.listed(store.objects)[1]) < 2:
            time.sleep(0.001)
        time.sleep(0.05)
        store.objects.delete(path)

    threading.Thread(target=leave, daemon=True).start()
    _act_write(store)


def _act_other(store: Store) -> None:
    write(store, upserting(["other"], A, B))


def _act_sweep(store: Store) -> None:
    recovery.sweep(store)


ACTIONS: dict[str, Callable[[Store], None]] = {
    "write": _act_write,
    "write_branch": _act_write_branch,
    "overtaken": _act_overtaken,
    "contradicted": _act_contradicted,
    "queued": _act_queued,
    "together": write_together,
    "other": _act_other,
    "sweep": _act_sweep,
    **branch_matrix.ACTIONS,
}

_WRITE_POINTS: tuple[tuple[str, Outcome], ...] = (
    ("recovery.sidecar_list=kill", "absent"),
    ("mutation.post_stage_pre_gate=kill", "absent"),
    ("recovery.sidecar_write=kill", "absent"),
    ("recovery.sidecar_list=kill@2", "absent"),
    ("mutation.post_sidecar_pre_fork=kill", "absent"),
    ("mutation.post_fork_pre_commit=kill", "absent"),
    ("table_commit.pre=kill@1", "absent"),
    ("table_commit.ack_lost=kill@1", "absent"),
    ("mutation.post_table_commit=kill@1", "absent"),
    ("mutation.post_table_commit=sleep:30@1;lease.heartbeat=kill", "absent"),
    ("mutation.post_table_commit=raise@1;fence.settle_pre_commit=kill", "absent"),
    ("table_commit.pre=kill@2", "absent"),
    ("table_commit.ack_lost=kill@2", "published"),
    ("mutation.post_table_commit=kill@2", "published"),
    ("mutation.post_effects_pre_publish=kill", "published"),
    ("publish.pre_commit=kill", "published"),
    ("publish.ack_lost=kill", "published"),
    ("publish.ack_lost=raise@1;publish.load_state_contention=kill", "published"),
    ("publish.after_commit=kill", "published"),
    ("recovery.sidecar_delete=kill", "published"),
)
# Of the hooks that both writes pass, the second hit (of those per table the third) is the victim's.
_REPREPARE_POINTS: tuple[tuple[str, str, Outcome], ...] = (
    ("overtaken", "commit.pre_turn=kill@2", "absent"),
    ("overtaken", "commit.pre_rebase=kill", "absent"),
    ("overtaken", "recovery.sidecar_write=kill@2", "absent"),
    ("overtaken", "mutation.post_table_commit=kill@3", "absent"),
    ("overtaken", "mutation.post_effects_pre_publish=kill@2", "published"),
    ("overtaken", "publish.ack_lost=kill@2", "published"),
    ("overtaken", "commit.hand_over=kill@2", "published"),
    ("contradicted", "commit.pre_reprepare=kill", "either"),
    ("contradicted", "publish.pre_commit=kill@2", "published"),
    ("contradicted", "commit.hand_over=kill@2", "published"),
    ("write", "commit.pre_turn=kill", "absent"),
    ("write", "commit.hand_over=kill", "published"),
    ("queued", "queue.ticket_write=kill", "absent"),
    ("queued", "queue.awaiting=kill", "absent"),
    ("queued", "queue.turn_came=kill", "absent"),
    ("queued", "publish.pre_commit=kill", "published"),
    ("queued", "queue.ticket_delete=kill", "published"),
)
_FORK_POINTS: tuple[tuple[str, Outcome], ...] = (
    ("mutation.post_sidecar_pre_fork=kill", "absent"),
    ("fork.post_create_pre_open=kill@1", "absent"),
    ("fork.post_create_pre_open=kill@2", "absent"),
    ("mutation.post_fork_pre_commit=kill", "absent"),
    ("table_commit.ack_lost=kill@1", "absent"),
    ("mutation.post_table_commit=kill@1", "absent"),
    ("mutation.post_effects_pre_publish=kill", "published"),
    ("publish.ack_lost=kill", "published"),
    ("recovery.sidecar_delete=kill", "published"),
)
_ROLL_BACK_POINTS = (
    "recovery.sidecar_list",
    "recovery.post_list_pre_read",
    "recovery.post_classify",
    "fence.settle_pre_commit",
    "recovery.post_marker",
    "fence.neutralize_pre_commit",
    "table_commit.ack_lost",
    "recovery.post_table_restore",
    "publish.pre_commit",
    "publish.ack_lost",
    "publish.after_commit",
    "recovery.post_rollback_publish",
    "recovery.record_audit",
    "recovery.sidecar_delete",
)
_ROLL_FORWARD_POINTS = (
    "recovery.post_classify",
    "recovery.before_roll_forward_publish",
    "publish.pre_commit",
    "publish.ack_lost",
    "publish.after_commit",
    "recovery.record_audit",
    "recovery.sidecar_delete",
)
_LIVE_POINTS = ("recovery.post_marker", "recovery.post_rollback_publish", "fence.neutralize_pre_commit")
_HALFWAY = "mutation.post_table_commit=kill@1"
_COMPLETE = "mutation.post_effects_pre_publish=kill"


def scenarios() -> Iterator[Scenario]:
    """The whole matrix."""
    for spec, expect in _WRITE_POINTS:
        yield Scenario((Child("write", spec),), expect)
    for action, spec, expect in _REPREPARE_POINTS:
        yield Scenario((Child(action, spec),), expect)
    for spec, is_there in together_matrix.POINTS:
        yield Scenario((Child("together", spec),), "published" if is_there else "absent")
    for spec in together_matrix.RECOVERY_POINTS:
        yield Scenario((Child("together", together_matrix.COMPLETE), Child("sweep", spec)), "published")
    for spec, expect in _FORK_POINTS:
        yield Scenario((Child("write_branch", spec),), expect)
    for point in _ROLL_BACK_POINTS:
        yield Scenario((Child("write", _HALFWAY), Child("sweep", f"{point}=kill")), "absent")
        if point in ("recovery.post_marker", "recovery.post_table_restore", "recovery.record_audit"):
            yield Scenario((Child("write_branch", _HALFWAY), Child("sweep", f"{point}=kill")), "absent")
    for point in _ROLL_FORWARD_POINTS:
        yield Scenario((Child("write", _COMPLETE), Child("sweep", f"{point}=kill")), "published")
    for point in _LIVE_POINTS:
        yield Scenario((Child("write", _HALFWAY), Child("other", f"{point}=kill")), "absent")
    for action, spec in branch_matrix.POINTS:
        yield Scenario((Child(action, spec),), "absent")


def prepare_template(directory: Path) -> None:
    """A graph with a few rows and two branches, copied for every scenario."""
    store = create_tiny(directory, SETTINGS)
    write(store, inserting(["seed1", "seed2"]))
    branches.create_branch(store, BRANCH)
    branch_matrix.prepare(store)


def run_scenario(scenario: Scenario, template: Path, directory: Path) -> Report:
    """Play one scenario on a copy of the template, recover, and check everything."""
    shutil.copytree(template, directory)
    problems: list[str] = []
    for number, child in enumerate(scenario.children):
        acknowledged = directory / f"ack-{number}"
        code = _run_child(child, directory, acknowledged)
        if code != -signal.SIGKILL:
            problems.append(f"{child.action} ended with {code} instead of being killed at {child.failpoints}")
        if acknowledged.exists():
            problems.append(f"{child.action} was acknowledged although it was killed")
    store = open_tiny(directory, SETTINGS)
    recovered = tuple(str(outcome.kind) for outcome in recovery.sweep(store))
    problems += violations(store)
    visible, found = _victim(store, scenario)
    problems += found
    problems += _still_writable(store)
    return Report(scenario, recovered, visible, tuple(problems))


def _run_child(child: Child, directory: Path, acknowledged: Path) -> int | None:
    process = children().Process(target=_child_main, args=(child, str(directory), str(acknowledged)))
    process.start()
    process.join(60)
    if process.is_alive():
        process.kill()
        process.join()
        return None
    return process.exitcode


def _child_main(child: Child, directory: str, acknowledged: str) -> None:
    # A raised failpoint is part of some scenarios; what counts is where the process is killed.
    with failpoints.armed(child.failpoints), suppress(Exception):
        # A claim of ten minutes is not renewed within a test.
        renewed = "lease.heartbeat" in child.failpoints
        settings = replace(SETTINGS, lease_ttl_ms=1_500) if renewed else SETTINGS
        ACTIONS[child.action](open_tiny(directory, settings))
        Path(acknowledged).touch()


def _victim(store: Store, scenario: Scenario) -> tuple[bool, list[str]]:
    branch = BRANCH if scenario.children[0].action == "write_branch" else None
    seen = [VICTIM in contents(store, key, branch) for key in (A, B)]
    problems = torn(store) if scenario.children[0].action == "together" else []
    if seen[0] != seen[1]:
        problems.append(f"partial: victim in A {seen[0]}, in B {seen[1]}")
    wanted = {"published": True, "absent": False}.get(scenario.expect)
    if wanted is not None and seen[0] != wanted:
        problems.append(f"the victim's write should be {scenario.expect}")
    return seen[0], problems


def _still_writable(store: Store) -> list[str]:
    for branch in (None, BRANCH):
        write(store, upserting(["after"], A, B), branch)
        if any("after" not in contents(store, key, branch) for key in (A, B)):
            return [f"a later write on {branch or 'main'} is not visible"]
    return branch_matrix.problems(store) + violations(store)


def _run_merges(place: Path, only: str) -> int:
    """The merges of the matrix; how many broke a promise."""
    chosen = [scenario for scenario in merge_scenarios() if only in scenario.name]
    template = prepare_merge_template(place / "merges") if chosen else place
    failed = 0
    for number, scenario in enumerate(chosen):
        problems = run_merge_scenario(scenario, template, place / f"merge-{number}")
        failed += bool(problems)
        print(f"{scenario.name:100} {scenario.ending:23} {'; '.join(problems) or 'ok'}", flush=True)
    return failed


def main(arguments: list[str] | None = None) -> int:
    """Run the matrix and print it; the exit code says whether every promise held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run scenarios whose name contains this text")
    chosen = parser.parse_args(arguments)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="omnigraph-crash-") as place:
        template = Path(place) / "template"
        prepare_template(template)
        for number, scenario in enumerate(scenarios()):
            if chosen.only not in scenario.name:
                continue
            report = run_scenario(scenario, template, Path(place) / str(number))
            failed += bool(report.problems)
            state = "visible" if report.visible else "absent"
            verdict = "; ".join(report.problems) or "ok"
            print(f"{scenario.name:100} {','.join(report.recovered) or '-':14} {state:8} {verdict}", flush=True)
        failed += _run_merges(Path(place), chosen.only)
    print(f"{failed} scenarios broke a promise" if failed else "every promise held")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
