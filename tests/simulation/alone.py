"""One simulated process without any other and without faults: for comparing the stand-in with what it stands for."""

from __future__ import annotations

from omnigraph.settings import DEFAULTS
from tests.simulation.objects import Bucket
from tests.simulation.process import Process
from tests.simulation.world import Chances, World


def alone() -> Process:
    """A process with empty storage of its own."""
    world = World(0, Chances(stay=1.0), steps=1 << 40)
    return Process(world, Bucket(lambda: world.now), "alone", "machine", DEFAULTS)
