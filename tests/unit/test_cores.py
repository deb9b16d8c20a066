"""Work in parts: order, errors, cancellation, memory, lent cores, forks and the end of the interpreter."""

from __future__ import annotations

import _thread
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.checkpoints import checking, checkpoint
from omnigraph.cores import in_parts, lent_by, spread_over, thread_count, usable_cores
from omnigraph.errors import BadRequest, QueryCancelled
from omnigraph.server.pace import Processors, pace

_PATIENCE = 20.0


def squares(threads: int, count: int = 40) -> list[int]:
    found: list[int] = []
    with spread_over(threads):
        in_parts(lambda number: number * number, range(count), found.append)
    return found


def workers(threads: int, count: int = 8, at_once: Callable[[int, int], int] | None = None, held: int = 0) -> set[int]:
    """The threads that worked on parts, each of which takes a while."""
    seen: set[int] = set()

    def work(_: int) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.01)

    with spread_over(threads) if at_once is None else spread_over(threads, at_once):
        in_parts(work, range(count), held=held)
    return seen


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_what_comes_of_the_parts_is_taken_in_their_order_by_the_caller(threads: int) -> None:
    takers: set[int] = set()
    found: list[int] = []

    def work(number: int) -> int:
        time.sleep(0.001 * (number % 3))
        return number

    def take(number: int) -> None:
        takers.add(threading.get_ident())
        found.append(number)

    with spread_over(threads):
        in_parts(work, range(50), take)
    assert found == list(range(50))
    assert takers == {threading.get_ident()}


def test_parts_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=_PATIENCE)
    with spread_over(2):
        in_parts(lambda _: both.wait(), range(4))


def test_without_a_query_around_it_and_with_few_parts_the_caller_works_alone() -> None:
    seen: list[int] = []
    in_parts(lambda _: seen.append(threading.get_ident()), range(8))
    assert set(seen) == {threading.get_ident()}
    assert workers(4, count=3) == {threading.get_ident()}


def test_a_helper_does_not_split_its_own_part_once_more() -> None:
    seen: list[tuple[int, int]] = []

    def work(_: int) -> None:
        outer = threading.get_ident()
        if outer == caller:
            time.sleep(0.005)
        else:
            in_parts(lambda _: seen.append((outer, threading.get_ident())), range(8))

    caller = threading.get_ident()
    with spread_over(2):
        in_parts(work, range(6))
    assert seen
    assert all(outer == inner for outer, inner in seen)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_error_of_the_first_part_that_fails_is_raised_and_no_later_part_is_begun(threads: int) -> None:
    begun: list[int] = []
    taken: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        time.sleep(0.001)
        if number in (5, 6, 7):
            time.sleep(0.01 * (8 - number))  # the first of them fails last
            raise ValueError(number)
        return number

    with spread_over(threads), pytest.raises(ValueError, match="5"):
        in_parts(work, range(1_000), taken.append)
    assert taken == [0, 1, 2, 3, 4]
    assert max(begun) < 100


def settled(most: int) -> None:
    """No more than so many threads are left, at the latest after a moment."""
    end = time.monotonic() + _PATIENCE
    while _thread._count() > most:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_no_thread_is_left_after_the_work_or_after_an_error() -> None:
    before = _thread._count()
    assert len(workers(4)) > 1
    settled(before)
    with spread_over(4), pytest.raises(ZeroDivisionError):
        in_parts(lambda number: 1 // (number - 3), range(100))
    settled(before)


def test_a_query_that_is_stopped_stops_its_helpers_in_the_middle_of_their_parts() -> None:
    before, stop, ends = _thread._count(), threading.Event(), time.monotonic() + _PATIENCE
    caller = threading.get_ident()

    def check() -> None:
        if stop.is_set():
            raise QueryCancelled

    def work(_: int) -> None:
        if threading.get_ident() == caller:
            stop.wait(_PATIENCE)
            return
        stop.set()
        while time.monotonic() < ends:  # only a checkpoint ends it
            checkpoint()
        raise AssertionError("the helper was not stopped")

    with checking(check), spread_over(2), pytest.raises(QueryCancelled):
        in_parts(work, range(1_000))
    settled(before)


def test_memory_decides_how_many_parts_there_are_at_a_time() -> None:
    asked: list[tuple[int, int]] = []

    def at_once(threads: int, held: int) -> int:
        asked.append((threads, held))
        return 1

    assert workers(4, at_once=at_once, held=1 << 20) == {threading.get_ident()}
    assert asked == [(4, 1 << 20)]


def test_callers_at_the_same_time_share_the_helpers() -> None:
    seen: list[set[int]] = []
    callers = [threading.Thread(target=lambda: seen.append(workers(2, count=20))) for _ in range(4)]
    for each in callers:
        each.start()
    for each in callers:
        each.join(_PATIENCE)
    own = {each.ident for each in callers}
    assert len(seen) == 4
    assert squares(2) == [number * number for number in range(40)]
    # Every caller worked itself; helpers that were at work at a time were one, whoever they helped.
    assert all(own & found for found in seen)


# --- cores that are lent ---------------------------------------------------------------------------------


class Stingy:
    """Lends one core, and wants it back after the first part."""

    def __init__(self) -> None:
        self.lent = self.given_back = 0
        self.seconds = 0.0

    def lend(self) -> bool:
        self.lent += 1
        return self.lent == 1

    def wants_back(self) -> bool:
        return True

    def give_back(self, seconds: float) -> None:
        self.given_back += 1
        self.seconds += seconds


def test_a_helper_whose_core_is_wanted_back_leaves_after_its_part_and_the_caller_goes_on() -> None:
    lender = Stingy()
    helped: list[int] = []

    def work(number: int) -> int:
        if threading.get_ident() != caller:
            helped.append(number)
        time.sleep(0.002)
        return number

    caller, found = threading.get_ident(), []
    with spread_over(2), lent_by(lender):
        in_parts(work, range(20), found.append)
    assert found == list(range(20))
    assert len(helped) <= 1
    assert lender.given_back == 1


def test_a_server_lends_a_place_that_no_read_waits_for_and_counts_what_the_helper_computes() -> None:
    processors = Processors(2)
    with pace(processors, "ada", lambda: None) as own:
        assert own.lend()
        assert processors.computing == 1
        assert not own.wants_back()
        assert own.lend()
        assert not own.lend()  # as many places as processors
        own.give_back(0.5)
        own.give_back(0.5)
        assert processors.computing == 0
    assert processors.is_heavy("ada")  # though its own thread has computed next to nothing


def test_a_server_lends_nothing_while_short_reads_of_others_are_under_way() -> None:
    processors = Processors(2, others_read=lambda actor: actor == "ada")
    with pace(processors, "ada", lambda: None) as own, pace(processors, "bob", lambda: None) as other:
        assert not own.lend()
        assert other.lend()
        other.give_back(0.0)


# --- processes -------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_process_forked_in_the_middle_of_the_work_has_helpers_of_its_own() -> None:
    program = """
import os, threading, time
from omnigraph.cores import in_parts, spread_over

def side_by_side():
    both = threading.Barrier(2, timeout=20)
    with spread_over(2):
        in_parts(lambda _: both.wait(), range(4))

both, go = threading.Barrier(3, timeout=20), threading.Event()
def work(number):
    if number < 2:
        both.wait()
        go.wait(20)

def busy():
    with spread_over(2):
        in_parts(work, range(4))

other = threading.Thread(target=busy)
other.start()
both.wait()  # a caller and its helper are at work
child = os.fork()
if child == 0:
    side_by_side()
    os._exit(0)
ended = os.waitpid(child, 0)[1]
go.set()
other.join()
assert os.waitstatus_to_exitcode(ended) == 0
side_by_side()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_interpreter_ends_while_a_thread_of_the_background_still_works() -> None:
    program = """
import threading, time
from omnigraph.cores import in_parts, spread_over
inside = threading.Event()
def work(_):
    inside.set()
    time.sleep(600)
def run():
    with spread_over(4):
        in_parts(work, range(100))
threading.Thread(target=run, daemon=True).start()
inside.wait()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


# --- how many --------------------------------------------------------------------------------------------


def test_how_many_threads_are_asked_for() -> None:
    assert thread_count(3, {"OMNIGRAPH_THREADS": "5"}) == 3
    assert thread_count(None, {"OMNIGRAPH_THREADS": "5"}) == 5
    assert thread_count(None, {"OMNIGRAPH_THREADS": " "}) == usable_cores()
    for text in ("0", "-1", "many", "1000"):
        with pytest.raises(BadRequest, match="OMNIGRAPH_THREADS must be a number from 1 to 256"):
            thread_count(None, {"OMNIGRAPH_THREADS": text})


def test_a_control_group_and_the_cores_that_it_may_run_on_limit_how_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    mount = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
    files = {"proc/self/cgroup": "0::/pod/box\n", "proc/self/mountinfo": mount}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    box = tmp_path / "sys/fs/cgroup/pod/box"
    box.mkdir(parents=True)
    assert usable_cores(tmp_path) == 8
    (box / "cpu.max").write_text("max 100000\n")
    assert usable_cores(tmp_path) == 8
    (box.parent / "cpu.max").write_text("350000 100000\n")
    assert usable_cores(tmp_path) == 4
    (box / "cpu.max").write_text("20000 100000\n")
    assert usable_cores(tmp_path) == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    (box / "cpu.max").unlink()
    assert usable_cores(tmp_path) == 1


def test_version_1_of_control_groups_says_it_in_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    mount = "35 31 0:32 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    group = tmp_path / "sys/fs/cgroup/cpu/box"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("3:cpu,cpuacct:/box\n")
    (tmp_path / "proc/self/mountinfo").write_text(mount)
    (group / "cpu.cfs_quota_us").write_text("-1\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    assert usable_cores(tmp_path) == 8
    (group / "cpu.cfs_quota_us").write_text("200000\n")
    assert usable_cores(tmp_path) == 2
