"""The host: ids, waits and claims follow the clock, the chance and the name of whatever host the code runs on."""

from __future__ import annotations

import random
from itertools import islice

from omnigraph import host
from omnigraph.ids import new_ulid, new_ulids, now_micros
from omnigraph.storage.base import lease
from omnigraph.storage.base.waiting import looks


class StoppedHost(host.Host):
    """A host whose clock moves only when something sleeps, with chance of its own."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.now = 1_000.0
        self.chance = random.Random(seed)

    def time_ns(self) -> int:
        return int(self.now * 1e9)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def random_bytes(self, count: int) -> bytes:
        return self.chance.randbytes(count)

    def owner(self) -> str:
        return "elsewhere/1/x"


def test_a_host_decides_the_time_and_the_ids_of_its_thread_only() -> None:
    with host.running_on(StoppedHost(7)):
        first = [now_micros(), new_ulid(), *new_ulids(2)]
    with host.running_on(StoppedHost(7)):
        again = [now_micros(), new_ulid(), *new_ulids(2)]
    assert first == again
    assert first[0] == 1_000_000_000
    assert first[1] < first[2] < first[3]
    assert now_micros() > first[0]
    assert new_ulid() > first[3]


def test_waiting_takes_no_real_time_on_a_host_of_its_own() -> None:
    stopped = StoppedHost(1)
    with host.running_on(stopped):
        assert list(islice(looks(3_600.0, (1_200.0, 1_200.0)), 5)) == [True, True, True, False, False]
    assert stopped.now == 1_000.0 + 4 * 1_200.0


def test_claims_belong_to_the_process_of_the_host() -> None:
    with host.running_on(StoppedHost(1)):
        claim = lease.fresh_lease(30_000)
        with lease.active("op"):
            assert lease.held(claim, "op", skew_ms=0)
        assert not lease.held(claim, "op", skew_ms=0)
        assert lease.is_own(claim)
    assert not lease.is_own(claim)
