"""Looking again until a deadline: every look is followed by a pause, and the last one is told that it is the last."""

from __future__ import annotations

from omnigraph.storage.base.waiting import looks


def test_the_last_look_is_told_that_there_is_no_time_for_another() -> None:
    now, slept = [10.0], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += 1.0

    found = []
    for more in looks(2.5, (0.25, 0.75), clock=lambda: now[0], sleep=sleep):
        found.append(more)
        if not more:
            break
    assert found == [True, True, True, False]
    assert len(slept) == 3
    assert all(0.25 <= seconds <= 0.75 for seconds in slept)


def test_without_any_time_there_is_one_look_and_no_pause() -> None:
    found = looks(0.0, clock=lambda: 1.0, sleep=lambda seconds: 1 / 0)
    assert next(found) is False


def test_a_look_that_takes_longer_than_there_is_time_is_followed_by_a_last_one() -> None:
    now = [0.0]
    found = looks(1.0, clock=lambda: now[0], sleep=lambda seconds: None)
    assert next(found)
    now[0] = 5.0
    assert not next(found)
