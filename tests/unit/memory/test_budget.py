"""Budgets and the caches that draw on them: what is let go first, and that closing lets go of everything."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from omnigraph.errors import BadRequest
from omnigraph.memory.budget import NOTHING_KEPT, Library, MemoryBudget, Process, open_budget
from omnigraph.memory.cache import CacheKind
from omnigraph.memory.sizes import parse_bytes

TEXTS: CacheKind[bytes] = CacheKind("texts", len, largest=1.0)
OTHERS: CacheKind[bytes] = CacheKind("others", len, largest=1.0)
NARROW: CacheKind[bytes] = CacheKind("narrow", len, share=0.5, largest=0.5)
FEW: CacheKind[bytes] = CacheKind("few", len, entries=2)


class Box:
    """A value that can be watched."""

    def __init__(self, size: int) -> None:
        self.size = size


BOXES: CacheKind[Box] = CacheKind("boxes", lambda box: box.size, largest=1.0)
LIBRARY: Library[Box] = Library("a library", lambda memory: Box(0), lambda box: box.size)


def budget(limit: int | None = 100, *, allowed: int = 1_000) -> MemoryBudget:
    return MemoryBudget(limit, process=Process(lambda: allowed))


def test_the_least_recently_used_value_goes_first_whichever_cache_holds_it() -> None:
    memory = budget(100)
    texts, others = memory.cache(TEXTS), memory.cache(OTHERS)
    texts.put("a", bytes(40))
    others.put("b", bytes(40))
    assert texts.get("a") is not None
    texts.put("c", bytes(40))
    assert ("a" in texts, "b" in others, "c" in texts) == (True, False, True)
    assert memory.used == 80


def test_a_kind_stays_within_its_share_and_refuses_what_is_too_large_for_it() -> None:
    memory = budget(100)
    narrow = memory.cache(NARROW)
    assert narrow.accepts(25)
    assert not narrow.accepts(26)
    narrow.put("large", bytes(26))
    assert "large" not in narrow
    for key in "abc":
        narrow.put(key, bytes(25))
    assert narrow.keys() == ["b", "c"]
    assert memory.used == 50


def test_a_number_of_entries_is_a_bound_too() -> None:
    few = budget(100).cache(FEW)
    for key in "abc":
        few.put(key, b"")
    assert few.keys() == ["b", "c"]


def test_a_value_that_has_grown_is_weighed_again_and_goes_when_it_no_longer_fits() -> None:
    memory = budget(100)
    boxes, box = memory.cache(BOXES), Box(10)
    boxes.put("a", box)
    box.size = 60
    boxes.put("a", box)
    assert memory.used == 60
    box.size = 101
    boxes.put("a", box)
    assert (len(boxes), memory.used) == (0, 0)


def test_a_value_that_is_not_kept_is_still_handed_out() -> None:
    memory = budget(0)
    assert memory.cache(TEXTS).get_or_build("a", lambda: b"made") == b"made"
    assert memory.used == 0


def test_closing_lets_go_of_everything_and_keeps_nothing_afterwards() -> None:
    memory = budget(100)
    boxes, box = memory.cache(BOXES), Box(10)
    gone = weakref.ref(box)
    boxes.put("a", box)
    memory.close()
    del box
    assert gone() is None
    boxes.put("b", Box(1))
    memory.cache(TEXTS).put("c", b"c")
    assert (memory.used, len(boxes)) == (0, 0)


def test_a_budget_that_nobody_refers_to_holds_nothing_of_the_process() -> None:
    process = Process(lambda: 1_000)
    memory, other = MemoryBudget(process=process), MemoryBudget(process=process)
    memory.cache(TEXTS).put("a", bytes(100))
    other.cache(TEXTS).put("a", bytes(10))
    del memory
    gc.collect()
    assert process.used == 10


def test_two_graphs_together_keep_half_of_what_the_process_may_use() -> None:
    process = Process(lambda: 1_000)
    idle, busy = MemoryBudget(process=process), MemoryBudget(process=process)
    assert (idle.limit, busy.limit, process.capacity) == (500, 500, 500)
    for number in range(5):
        idle.cache(TEXTS).put(number, bytes(100))
    busy.cache(TEXTS).put("a", bytes(100))
    assert idle.cache(TEXTS).keys() == [1, 2, 3, 4]
    assert process.used == 500


def test_limits_that_were_asked_for_raise_what_all_may_keep_but_not_beyond_the_process() -> None:
    process = Process(lambda: 1_000)
    first = MemoryBudget(400, process=process)
    assert process.capacity == 500
    second = MemoryBudget(300, process=process)
    assert process.capacity == 700
    third = MemoryBudget(5_000, process=process)
    assert (third.limit, process.capacity) == (875, 875)
    third.cache(TEXTS).put("a", bytes(875))
    first.cache(TEXTS).put("a", bytes(10))
    assert (first.used, second.used, third.used) == (10, 0, 0)


def test_what_a_library_holds_counts_and_goes_last() -> None:
    memory = budget(None)
    box = memory.library(LIBRARY)
    box.size = 300
    memory.cache(TEXTS).put("a", bytes(100))
    memory.cache(TEXTS).put("b", bytes(150))
    assert (memory.cache(TEXTS).keys(), memory.used) == (["b"], 450)
    assert memory.library(LIBRARY) is box
    box.size = 600
    memory.cache(TEXTS).put("c", bytes(10))
    assert (memory.used, memory.library(LIBRARY) is box) == (0, False)
    memory.library(LIBRARY).size = 7
    assert memory.usage() == {"texts": 0, "a library": 7}
    memory.close()
    assert memory.used == 0


def test_a_closed_budget_hands_out_libraries_that_nobody_keeps() -> None:
    memory = budget()
    memory.close()
    made = weakref.ref(memory.library(LIBRARY))
    assert made() is None


def test_the_limit_of_the_process_is_read_whenever_a_graph_is_opened() -> None:
    allowed = [1_000]
    process = Process(lambda: allowed[0])
    assert MemoryBudget(process=process).limit == 500
    allowed[0] = 200
    assert MemoryBudget(process=process).limit == 100


def test_ceilings_of_work_follow_the_limit() -> None:
    memory = budget(100)
    assert memory.share(0.5) == 50
    assert memory.share(0.5, least=70) == 70
    assert memory.share(0.5, most=20) == 20
    assert memory.usage() == {}


def test_threads_that_want_the_same_value_wait_for_one_of_them() -> None:
    texts = budget(100).cache(TEXTS)
    built, begin, found = [], threading.Barrier(4), []

    def build() -> bytes:
        built.append(1)
        return b"made"

    def want() -> None:
        begin.wait()
        found.append(texts.get_or_build("a", build))

    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (built, found) == ([1], [b"made"] * 4)


def test_threads_that_put_and_close_leave_nothing_behind() -> None:
    memory = budget(10_000, allowed=100_000)
    stop = threading.Event()

    def put(kind: CacheKind[bytes]) -> None:
        number = 0
        while not stop.is_set():
            memory.cache(kind).put(number % 50, bytes(number % 400))
            number += 1

    threads = [threading.Thread(target=put, args=(kind,)) for kind in (TEXTS, OTHERS, FEW)]
    for thread in threads:
        thread.start()
    while not memory.used:
        assert all(thread.is_alive() for thread in threads)
    memory.close()
    stop.set()
    for thread in threads:
        thread.join()
    assert memory.used == 0
    assert memory.usage() == {"texts": 0, "others": 0, "few": 0}


@pytest.mark.parametrize(
    ("given", "size"),
    [(0, 0), (5, 5), ("5", 5), ("512MiB", 512 << 20), ("2GiB", 2 << 30), (" 1.5 gib ", 3 << 29), ("2GB", 2 * 10**9)],
)
def test_sizes_are_bytes_or_have_a_unit(given: int | str, size: int) -> None:
    assert parse_bytes(given, name="memory") == size


@pytest.mark.parametrize("given", ["", "much", "2 gibs", "-1", -1, True, "1e9", "GiB"])
def test_other_sizes_are_refused_by_name(given: int | str) -> None:
    with pytest.raises(BadRequest, match="OMNIGRAPH_MEMORY must be a number of bytes or a size such as 512MiB"):
        parse_bytes(given, name="OMNIGRAPH_MEMORY")


def test_what_is_given_goes_before_the_environment() -> None:
    assert open_budget("1MiB", {"OMNIGRAPH_MEMORY": "2MiB"}).limit == 1 << 20
    assert open_budget(None, {"OMNIGRAPH_MEMORY": "2MiB"}).limit == 2 << 20
    assert not open_budget(None, {"OMNIGRAPH_MEMORY": " "}).is_given


def test_without_an_opened_graph_nothing_is_kept() -> None:
    NOTHING_KEPT.cache(TEXTS).put("a", b"a")
    assert NOTHING_KEPT.used == 0


def test_a_build_that_fails_leaves_the_next_one_free_to_try() -> None:
    texts = budget().cache(TEXTS)
    with pytest.raises(ZeroDivisionError):
        texts.get_or_build("k", lambda: bytes(1 // 0))
    assert texts.get_or_build("k", lambda: b"x") == b"x"


def test_a_value_that_is_taken_belongs_to_whoever_took_it() -> None:
    memory = budget()
    memory.cache(TEXTS).put("a", b"1234")
    assert memory.cache(TEXTS).take("a") == b"1234"
    assert (memory.cache(TEXTS).take("a"), memory.used) == (None, 0)


def test_names_that_may_mean_something_else_are_forgotten_alone() -> None:
    named: CacheKind[bytes] = CacheKind("named", len, by_name=True)
    memory = budget()
    memory.cache(TEXTS).put("a", b"a")
    memory.cache(named).put("a", b"a")
    memory.forget_names()
    assert memory.usage() == {"texts": 1, "named": 0}


def test_a_closed_budget_does_not_count_as_asked_for() -> None:
    process = Process(lambda: 1_000)
    MemoryBudget(process=process)
    given = MemoryBudget(800, process=process)
    assert process.capacity == 800
    given.close()
    assert process.capacity == 500
