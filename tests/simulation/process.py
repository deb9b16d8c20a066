"""Simulated processes: each has a clock that may be wrong, chance and a name of its own, and can die at any request."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from omnigraph.host import Beat, Host
from omnigraph.memory.budget import MemoryBudget
from omnigraph.memory.budget import Process as MemoryProcess
from omnigraph.settings import Settings
from omnigraph.storage.base.gates import Gates
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.recent_writes import RecentWrites
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance.transactions import Library
from tests.simulation.lance import SimulatedLance
from tests.simulation.objects import Bucket, SimulatedObjects
from tests.simulation.world import Crashed, World

T = TypeVar("T")

URI = "simulated://graph"
_MEMORY = 64 << 20


class Process:
    """One life of a process: from its start to its crash or its end."""

    def __init__(self, world: World, bucket: Bucket, name: str, machine: str, settings: Settings) -> None:
        self.world = world
        self.bucket = bucket
        self.name = name
        self.dead = False
        self.cut_off_until = 0.0
        chance = random.Random(world.random.getrandbits(64))
        self.host = SimulatedHost(self, f"{machine}/{name}/{chance.getrandbits(32):08x}", chance)
        objects = SimulatedObjects(self)
        lance = SimulatedLance(self, URI)
        self.library = Library(lance.dataset, lance.commit, lance.write_fragments)
        root = Root(URI, memory=MemoryBudget(_MEMORY, process=MemoryProcess(lambda: 1 << 30)), backing=self)
        self.store = Store(root, objects, settings, Gates(), RecentWrites())
        world.living.add(self.host.owner())

    def open_objects(self, root: Root) -> SimulatedObjects:
        """The adapter that every part of the code gets in this process."""
        return SimulatedObjects(self)

    def require(self) -> None:
        """Raise in the code of a process that is dead, whatever it tries to do while it unwinds."""
        self.world.require()
        if self.dead:
            raise Crashed

    def die(self) -> None:
        """Lose everything that is not stored."""
        self.dead = True
        self.world.living.discard(self.host.owner())
        self.world.counts["crashes"] += 1
        self.world.note(f"{self.name} CRASHES")
        raise Crashed

    def request(
        self, label: str, action: Callable[[], T], *, lost: Callable[[str], Exception], changes: bool = False
    ) -> T:
        """One request to storage: others may go first, the process may die or sleep, request or answer may get lost."""
        self.require()
        world, chances = self.world, self.world.chances
        world.turn(label)
        self.require()
        more, deadly = chances.at(label, chances.faults_at), chances.at(label, chances.crashes_at)
        if world.fault(chances.pause * more):
            self._sleep(label)
        if world.fault(chances.crash * deadly):
            if changes and world.fault(0.3):
                world.later(label, action)
            self.die()
        if self._is_cut_off(chances.outage * more) or world.fault(chances.lost_request * more):
            world.counts["lost requests"] += 1
            world.note(f"request lost: {label}")
            raise lost(label)
        if not changes:
            return action()
        if world.fault(chances.late * more):
            world.note(f"given up: {label}")
            world.later(label, action)
            raise lost(label)
        result = action()
        if world.fault(chances.crash * deadly):
            self.die()
        if world.fault(chances.pause * more):
            self._sleep(f"answer of {label}")
        if world.fault(chances.lost_answer * more):
            world.counts["lost answers"] += 1
            world.note(f"answer lost: {label}")
            raise lost(label)
        return result

    def _is_cut_off(self, chance: float) -> bool:
        """Whether the store cannot be reached from here; once it cannot, that lasts."""
        if self.world.fault(chance):
            self.world.counts["outages"] += 1
            self.cut_off_until = self.world.now + self.world.random.choice(self.world.chances.outages)
        return self.world.now < self.cut_off_until and not self.world.draining

    def repeats(self) -> bool:
        """Whether the client sends a conditional put once more because the answer to the first one was lost."""
        repeated = self.world.fault(self.world.chances.repeated)
        self.world.counts["repeated requests"] += repeated
        return repeated

    def _sleep(self, label: str) -> None:
        """Stop for a while, heartbeats included."""
        seconds = self.world.random.choice(self.world.chances.pauses)
        self.world.counts["pauses"] += 1
        self.world.note(f"{self.name} sleeps for {seconds} s before: {label}")
        self.host.suspended_until = self.world.now + seconds
        self.world.sleep(seconds)
        self.require()


class SimulatedHost(Host):
    """The surroundings of one simulated process."""

    def __init__(self, process: Process, owner: str, chance: random.Random) -> None:
        super().__init__()
        self._process = process
        self._world = process.world
        self._owner = owner
        self._chance = chance
        self._skew = process.world.chances.skew * chance.choice((0.0, 0.0, -1.0, 1.0))
        self.beats: dict[int, Beat] = {}
        self.suspended_until = 0.0

    def time_ns(self) -> int:
        return int((self._world.now + self._skew) * 1e9)

    def monotonic(self) -> float:
        return self._world.now

    def sleep(self, seconds: float) -> None:
        self._process.require()
        self._world.sleep(seconds)
        self._process.require()

    def random_bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def lock(self) -> Any:
        return SimulatedLock(self)

    def owner(self) -> str:
        return self._owner

    def is_dead(self, owner: str) -> bool:
        machine = owner.partition("/")[0]
        return machine == self._owner.partition("/")[0] and owner not in self._world.living

    def start(self, beat: Beat) -> None:
        self.beats[id(beat)] = beat

    def stop(self, beat: Beat) -> None:
        self.beats.pop(id(beat), None)

    def beat_until_dead(self) -> None:
        """What the thread of a process does that renews its claims."""
        while True:
            self._process.require()
            pause = max(self.suspended_until - self._world.now, 0.0)
            due = [beat for beat in self.beats.values() if beat.due <= self._world.now] if not pause else []
            for beat in due:
                with suppress(Exception):
                    beat.beat()
            if not due:
                soonest = min((beat.due - self._world.now for beat in self.beats.values()), default=0.5)
                self._world.sleep(pause or max(min(soonest, 0.5), 0.01))


class SimulatedLock:
    """A lock whose holder may wait for storage: the others sleep instead of stopping the world."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self._held = False

    def __enter__(self) -> None:
        while self._held:
            self._host.sleep(0.005)
        self._held = True

    def __exit__(self, *_: object) -> None:
        self._held = False


@contextmanager
def surviving(world: World) -> Iterator[None]:
    """The end of a life is not the end of the run."""
    try:
        yield
    except Crashed:
        world.require()
