"""Simulated clients: each lives in one process after the other, and does what users of a graph do."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from omnigraph.errors import BranchNotFound, OmnigraphError, RecoveryRequired, StorageError
from omnigraph.host import running_on
from omnigraph.ids import new_ulid, now_micros
from omnigraph.settings import Settings
from omnigraph.storage.base.layout import MANIFEST, RECOVERY_DIR
from omnigraph.storage.branches.branches import create_branch, delete_branch, list_branches, rename_branch
from omnigraph.storage.branches.private_branches import open_private
from omnigraph.storage.branches.tags import Tag, create_tag
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol import commit as protocol
from omnigraph.storage.protocol import recovery
from omnigraph.storage.protocol.attempt import Hooks
from omnigraph.storage.protocol.commit import Committed
from tests.simulation.checks import Checker
from tests.simulation.cleanup import clean
from tests.simulation.objects import Bucket
from tests.simulation.process import Process, surviving
from tests.simulation.world import World
from tests.simulation.writes import COUNTERS, Kind, OfClone, Write

_BRANCHES = ("b0", "b1", "b2")
_KINDS: tuple[Kind, ...] = ("count", "count", "count", "insert", "insert", "twice", "delete", "overwrite", "note")
_BRANCH_WORK = (
    "create",
    "create",
    "delete",
    "merge",
    "merge",
    "transaction",
    "transaction",
    "follow",
    "clean",
    "tag",
    "schema",
)
_WITH_RENAMES = (*_BRANCH_WORK, *("rename",) * 4)


class Client:
    """One user: a seat that processes take one after the other, each until it dies or the run ends."""

    def __init__(
        self,
        world: World,
        bucket: Bucket,
        checker: Checker,
        number: int,
        machine: str,
        settings: Settings,
        busy: float,
        *,
        renames: bool = False,
    ) -> None:
        self._world = world
        self._bucket = bucket
        self._checker = checker
        self._number = number
        self._machine = machine
        self._settings = settings
        self._branching = busy  # how much of what it does concerns branches
        self._branch_work = _WITH_RENAMES if renames else _BRANCH_WORK
        self._chance = random.Random(world.random.getrandbits(64))
        self._lives = 0
        self._writes = 0
        self._process: Process | None = None

    def live(self) -> None:
        """Begin a process, work until it dies, and begin the next."""
        while not self._world.draining:
            self._lives += 1
            process = self.begin(f"p{self._number}.{self._lives}")
            with surviving(self._world), running_on(process.host):
                self._work(process)
            self._world.living.discard(process.host.owner())
            self._world.sleep(self._chance.choice((0.01, 0.5, 3.0)))

    def begin(self, name: str) -> Process:
        """A new process in this seat."""
        self._process = Process(self._world, self._bucket, name, self._machine, self._settings)
        return self._process

    def renew(self) -> None:
        """The other thread of every process: it renews claims."""
        while True:
            process = self._process
            if process is None or process.dead:
                self._world.sleep(0.2)
                continue
            with surviving(self._world), running_on(process.host):
                process.host.beat_until_dead()

    def _work(self, process: Process) -> None:
        if self._chance.random() < 0.4:
            self._attempted(lambda: recovery.sweep(process.store))
        while not self._world.draining:
            chosen = self._chance.random()
            if chosen < 0.02:
                self._attempted(lambda: recovery.sweep(process.store))
            elif chosen < 0.06:
                self._attempted(lambda: self._push(process))
            elif chosen < 0.16:
                self._attempted(lambda: self._look(process))
            elif self._chance.random() < self._branching:
                self._attempted(lambda: self._use_branches(process))
            elif self._chance.random() < 0.3:
                self._attempted(lambda: self._write_together(process, self._some_branch(process)))
            else:
                self._attempted(lambda: self.write(process, self._some_write(self._some_branch(process))))

    def _attempted(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OmnigraphError as error:
            self._refused(error)

    def _refused(self, error: OmnigraphError) -> None:
        self._world.counts["refusals"] += 1
        self._world.note(f"refused: {type(error).__name__}: {str(error)[:120]}")
        if isinstance(error, StorageError):
            self._world.sleep(self._chance.choice((0.05, 0.5, 2.0)))

    # --- writing ---------------------------------------------------------------------------------

    def write(self, process: Process, write: Write, hooks: Hooks | None = None) -> None:
        """Run one write through the protocol, and compare what it answers with what is stored."""
        self._finish(write, self._begun(process, write, hooks))

    def _write_together(self, process: Process, branch: str | None) -> None:
        """Writes of one process that wait for each other, as those of its threads do; the first may take them along."""
        writes = [self._some_write(branch) for _ in range(self._chance.choice((2, 3, 5)))]
        waiting: list[tuple[Write, protocol.Write]] = []
        for write in writes:
            running = self._begun(process, write)
            if self._stepped(write, running.begin):
                waiting.append((write, running))
        for _, running in waiting:
            running.join()  # nothing is asked of storage from here until somebody's turn has come
        # In the order of the queue, so that the turn has come for whoever looks, or its write is done.
        lost = [pair for pair in waiting if not self._stepped(pair[0], pair[1].finish, ends=True)]
        for write, running in lost:
            self._attempted(lambda write=write, running=running: self._finish(write, running))

    def _stepped(self, write: Write, step: Callable[[], Committed | None], *, ends: bool = False) -> bool:
        """Whether a step went well (or, with `ends`, whether the write is done with)."""
        try:
            return self._compared(write, step) is not None or not ends
        except OmnigraphError as error:
            self._refused(error)
            return ends

    def _finish(self, write: Write, running: protocol.Write) -> None:
        done: Committed | None = None
        while done is None:
            self._compared(write, running.begin)
            running.join()
            done = self._compared(write, running.finish)

    def _begun(self, process: Process, write: Write, hooks: Hooks | None = None) -> protocol.Write:
        self._checker.writes[write.name] = write
        self._world.counts["writes"] += 1
        where = write.branch or "main"
        self._world.note(f"begins {write.name}: {write.kind} {write.row} on {where}")
        return protocol.Write(
            process.store, write.branch, lambda txn: write.prepare(process.store, txn), hooks=hooks or Hooks()
        )

    def _compared(self, write: Write, step: Callable[[], Committed | None]) -> Committed | None:
        """One step of a write, and what it answers compared with what is stored."""
        try:
            done = step()
        except (BranchNotFound, RecoveryRequired) as error:
            self._require_no_wait_for_itself(error)
            # Not decided yet, or gone together with the branch that it may have been published on.
            write.outcome = "unknown" if write.outcome == "open" else write.outcome
            raise
        except OmnigraphError:
            self._checker.refused(write)
            raise
        if done is None:
            return None
        if done.commit is None and write.of_clone is not None:
            self._checker.replayed(write)
            return done
        if done.commit is None:
            self._checker.refused(write)
            write.outcome = "no effect"
            return done
        self._checker.acknowledged(write, done.commit.graph_commit_id)
        self._world.counts["acknowledged"] += 1
        self._world.note(f"ACKNOWLEDGED {write.name}")
        return done

    def _require_no_wait_for_itself(self, error: OmnigraphError) -> None:
        """What a process has left undecided, it finishes itself as soon as it can reach the store."""
        process = self._process
        if process is None or not isinstance(error, RecoveryRequired) or error.operation_id in process.host.active:
            return
        found = self._world.read.get((f"client {self._number}", f"{RECOVERY_DIR}/{error.operation_id}.json"))
        if found is None or found.text is None or "at work" not in str(error):
            return
        if json.loads(found.text)["lease"]["owner"] == process.host.owner():
            self._world.broken(f"{error.operation_id} is waited for by its own process: {error}")

    def _change_schema(self, process: Process) -> None:
        """Another schema for main, under graph control."""
        store, operation_id = process.store, new_ulid()
        with store.gates.branches([None]), hold_control(store, "schema_apply", operation_id=operation_id):
            self.write(process, self._some_write(None, "schema"), Hooks(operation_id=operation_id, gated=True))

    def _tag(self, process: Process) -> None:
        """A name for the newest commit of main, which no cleanup removes from then on."""
        state = manifest.load(process.store.root).state
        assert state.effective_head is not None
        name = f"t{self._number}.{self._writes}"
        self._writes += 1
        create_tag(process.store, Tag(name, state.effective_head, None, state.version, now_micros()))
        self._checker.tag(name, state.version)
        self._world.counts["tags"] += 1

    def _look(self, process: Process) -> None:
        """Read main, which must be at least as new as it was when the read began."""
        newest = self._checker.newest(MANIFEST)
        assert newest is not None
        self._checker.seen(newest.number, manifest.load(process.store.root).state.version)
        self._world.counts["looks"] += 1

    def _push(self, process: Process) -> None:
        """Bring the next commit of a clone to main; others may be bringing the same one."""
        head = manifest.load(process.store.root).state.effective_head
        replay = self._checker.replays.get(head)
        if replay is None:
            replay = self._some_write(None, "replay")
            replay.of_clone = OfClone(new_ulid(), head, now_micros())
            self._checker.replays[head] = replay
        self._world.counts["replays"] += 1
        self.write(process, replay)

    def _some_write(self, branch: str | None, kind: Kind | None = None, source: str | None = None) -> Write:
        self._writes += 1
        name = f"w{self._number}.{self._writes}"
        kind = kind or self._chance.choice(_KINDS)
        row = self._chance.choice(COUNTERS)
        if kind == "delete":
            inserted = [write.name for write in self._checker.writes.values() if write.kind == "insert"]
            row = self._chance.choice(inserted[-8:] or ["nobody"])
        return Write(name, kind, branch, row, source)

    def _some_branch(self, process: Process) -> str | None:
        if self._branching == 0 or self._chance.random() < 0.6:
            return None
        name = self._chance.choice(list_branches(process.store))
        return None if name == "main" else name

    # --- branches --------------------------------------------------------------------------------

    def _use_branches(self, process: Process) -> None:
        store, name = process.store, self._chance.choice(_BRANCHES)
        match self._chance.choice(self._branch_work):
            case "create":
                self._world.note(f"creates branch {name}")
                create_branch(store, name, source=self._some_branch(process))
                self._world.counts["branches created"] += 1
            case "delete":
                self._world.note(f"deletes branch {name}")
                delete_branch(store, name)
                self._world.counts["branches deleted"] += 1
            case "rename":
                branches = list_branches(store)[1:]
                if branches:
                    former = self._chance.choice(branches)
                    self._world.note(f"renames branch {former} to {name}")
                    rename_branch(store, former, name)
            case "merge":
                self.write(process, self._some_write(self._some_branch(process), "merge", name))
            case "follow":
                branches = list_branches(store)[1:]
                if branches:
                    self.write(process, self._some_write(self._chance.choice(branches), "follow"))
            case "transaction":
                self._transaction(process, self._some_branch(process))
            case "tag":
                self._tag(process)
            case "schema":
                self._change_schema(process)
            case "clean":
                clean(store)
                self._world.counts["cleanups"] += 1

    def _transaction(self, process: Process, target: str | None) -> None:
        """Writes on a private branch that become visible together, or not at all."""
        private = open_private(process.store, target)
        try:
            for _ in range(self._chance.choice((1, 2))):
                self.write(process, self._some_write(private.branch))
            self.write(process, self._some_write(target, "merge", private.branch))
            self._world.counts["transactions"] += 1
        finally:
            private.drop()
