"""Waiting for other writers: look again, a short random while apart, until a deadline has passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from omnigraph import host

Seconds = tuple[float, float]
"""From how long to how long a pause is; random, so that those who wait for the same thing do not look all at once."""

BETWEEN_LOOKS: Seconds = (0.005, 0.040)


def looks(
    seconds: float,
    apart: Seconds = BETWEEN_LOOKS,
    *,
    longest: float | None = None,
    clock: Callable[[], float] = host.monotonic,
    sleep: Callable[[float], None] = host.sleep,
) -> Iterator[bool]:
    """One item for each look, which pauses come between: whether there is time for another one. There is always one.

    With `longest` each pause is half as long again as the one before, up to that.

    >>> [more for more, _ in zip(looks(0.0), range(2))]
    [False, False]
    """
    deadline = clock() + seconds
    while True:
        yield clock() < deadline
        pause(apart, sleep=sleep)
        if longest is not None:
            apart = (min(apart[0] * 1.5, longest), min(apart[1] * 1.5, longest))


def pause(apart: Seconds, *, sleep: Callable[[float], None] = host.sleep) -> None:
    """Wait a random while, after a race that was lost or before something is looked at again."""
    sleep(host.between(*apart))
