"""One simulation from one number: who takes part, what goes wrong how often, and what must hold at the end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from omnigraph.errors import OmnigraphError
from omnigraph.host import running_on
from omnigraph.settings import Settings
from omnigraph.storage.base.layout import PRIVATE_PREFIX, RECOVERY_DIR, normalize_branch
from omnigraph.storage.branches.branches import delete_branch, list_branches
from omnigraph.storage.branches.private_branches import live_transactions
from omnigraph.storage.protocol import recovery
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.graphs.tiny import create_tiny
from tests.simulation.checks import Checker
from tests.simulation.cleanup import clean
from tests.simulation.clients import Client
from tests.simulation.objects import Bucket
from tests.simulation.process import Process
from tests.simulation.world import Chances, World
from tests.simulation.writes import Write

STEPS = 3_000
# Requests around the decisions of the protocol: most broken guards show only where something happens right there.
_EFFECTS = (
    "commit nodes", "commit edges", "commit __manifest", "create __recovery", "delete __recovery",
    "_graph_commit_recoveries", "_refs/branches",
)  # fmt: skip
_LOOKS = (
    "read __manifest to merge", "list versions of __manifest", "stat __manifest/_versions", "list __manifest/_versions",
    "read __recovery", "list __recovery", "list versions of nodes", "open nodes", "__transaction__", "__tags",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that a seed decides before the run begins."""

    seed: int
    clients: int
    machines: int
    branching: float
    chances: Chances
    settings: Settings
    renames: bool = False
    steps: int = STEPS
    mute: frozenset[int] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, and how it ended."""

    scenario: Scenario
    counts: Counter[str]
    schedule: list[str]
    faults: int
    failure: BaseException | None


def scenario_of(seed: int, *, steps: int = STEPS, mute: frozenset[int] = frozenset()) -> Scenario:
    """What a seed stands for."""
    chance = random.Random(f"scenario {seed}")
    rate = chance.choice((0.0, 0.002, 0.006))
    branching = chance.choice((0.0, 0.0, 0.15, 0.4, 0.8))
    renames = seed % 6 == 5  # one seed in six, so that the others do what they did before there were renames
    chances = Chances(
        crash=chance.choice((0.0, 0.001, 0.004)),
        pause=chance.choice((0.0, 0.002, 0.006)),
        lost_request=rate * chance.random(),
        lost_answer=rate,
        repeated=chance.choice((0.0, 0.01)),
        late=chance.choice((0.0, 0.0, 0.002)),
        stay=chance.choice((0.0, 0.5, 0.9, 0.97)),
        outage=chance.choice((0.0, 0.0, 0.002)),
        skew=chance.choice((0.2, 30.0)),  # nothing that is safe rests on a clock
        crashes_at=tuple(chance.sample(_EFFECTS, chance.choice((0, 1, 2)))),
        faults_at=tuple(chance.sample((*_EFFECTS, *_LOOKS), chance.choice((0, 1, 2, 3)))),
        focused=chance.choice((5.0, 15.0)),
    )
    settings = Settings(
        lease_ttl_ms=2_000,
        lease_skew_ms=400,
        writer_wait_ms=1_500,
        mark_wait_ms=500,
        control_ttl_ms=4_000 if seed % 2 else 60_000,  # shorter than some pauses, or longer than all
        retire_grace_ms=4_000,
        reprepare_seconds=8.0,
        manifest_compact_fragments=chance.choice((0, 3, 12)),
        table_compact_fragments=chance.choice((0, 3, 16)),
        manifest_keep_versions=chance.choice((1, 3, 64)),
        writers="multi_process",
    )
    return Scenario(
        seed,
        clients=chance.choice((2, 3, 4, 6)),
        machines=chance.choice((1, 2)),
        branching=max(branching, 0.4) if renames else branching,
        chances=chances,
        settings=settings,
        renames=renames,
        steps=steps,
        mute=mute,
    )


def simulate(scenario: Scenario) -> Report:
    """Run a scenario to its end, or to the first broken invariant."""
    world = World(scenario.seed, Chances(stay=1.0), steps=scenario.steps, mute=scenario.mute)
    bucket = Bucket(lambda: world.now)
    checker = Checker(world, bucket, exact_clocks=scenario.chances.skew < 1.0)
    founder = Process(world, bucket, "founder", "m0", scenario.settings)
    with running_on(founder.host):
        create_tiny(founder.store.root, scenario.settings)
    world.living.clear()
    world.steps = 0
    world.chances = scenario.chances
    clients = [
        Client(
            world,
            bucket,
            checker,
            number,
            f"m{number % scenario.machines}",
            scenario.settings,
            scenario.branching,
            renames=scenario.renames,
        )
        for number in range(scenario.clients)
    ]
    for number, client in enumerate(clients):
        world.add(f"client {number}", client.live)
        world.add(f"renewer {number}", client.renew, daemon=True)
    world.add("closing", lambda: _close(world, bucket, checker, scenario))
    try:
        world.play()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        failure: BaseException | None = error
    else:
        failure = None
    world.counts["operations"] = world.steps
    return Report(scenario, world.counts, world.schedule, world.faults, failure)


def _close(world: World, bucket: Bucket, checker: Checker, scenario: Scenario) -> None:
    """Once everybody has ended: another process recovers what is left, and finds everything in order."""
    while any(not task.done and task.name.startswith("client") for task in world.tasks):
        world.sleep(5.0)
    world.sleep(200.0)  # every lease is over by every clock, and every late request has arrived
    process = Process(world, bucket, "closing", "m9", scenario.settings)
    with running_on(process.host):
        recovery.sweep(process.store)
        live_transactions(process.store)
        known = {path: found.tag for path, found in bucket.files.items()}
        recovery.sweep(process.store)
        if {path: found.tag for path, found in bucket.files.items()} != known:
            world.broken("a second recovery changes something")
        # A compaction that died before its mark is no obstacle to writers, whose versions cover it; cleanup asks for that.
        _write_everywhere(world, bucket, checker, scenario, "first")
        clean(process.store)
        world.sleep(60.0)  # names of deleted branches are free again
        clean(process.store)
        _write_everywhere(world, bucket, checker, scenario, "last")
        _require_nothing_left(world, bucket)
        _require_that_branches_go(world, process)
        for found in violations(process.store):
            if not _is_excused(found, scenario):
                world.broken(found)
    for write in checker.writes.values():
        if write.outcome == "acknowledged" and write.commit_id not in checker.contents:
            world.broken(f"{write.name} was acknowledged and is lost")


def _is_excused(found: str, scenario: Scenario) -> bool:
    if found.endswith("the branches say []"):
        return True  # what was decided on a deleted branch is gone with it
    # A live writer that withdraws takes its intent along; a recovery begun by a wrong clock then has no second chance.
    return found.endswith("has no audit row") and scenario.chances.skew > 1.0


def _require_nothing_left(world: World, bucket: Bucket) -> None:
    for path in bucket.files:
        if path.startswith(f"{RECOVERY_DIR}/"):
            world.broken(f"{path} is still there")
        if PRIVATE_PREFIX in path and "/_refs/" in path:
            world.broken(f"{path} of a private branch is still there")


def _require_that_branches_go(world: World, process: Process) -> None:
    """Every branch can be deleted, once those that were made from it are."""
    store = process.store
    while len(names := list_branches(store)[1:]) > 0:
        reasons = [reason for name in names if (reason := _refusal(lambda name=name: delete_branch(store, name)))]
        if len(reasons) == len(names):
            world.broken(f"none of {names} can be deleted: {reasons}")


def _refusal(action: Callable[[], None]) -> str | None:
    try:
        action()
    except OmnigraphError as error:
        return str(error)
    return None


def _write_everywhere(world: World, bucket: Bucket, checker: Checker, scenario: Scenario, prefix: str) -> None:
    """Nothing that was left behind keeps anybody from writing."""
    client = Client(world, bucket, checker, 99, "m9", scenario.settings, 0.0)
    process = client.begin(prefix)
    with running_on(process.host):
        for number, name in enumerate(list_branches(process.store)):
            write = Write(f"{prefix}.{number}", "insert", normalize_branch(name), "c0")
            try:
                client.write(process, write)
            except OmnigraphError as error:
                world.broken(f"'{name}' cannot be written to at the end: {type(error).__name__}: {error}")
