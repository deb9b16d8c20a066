"""A smaller failure: the same seed with fewer faults, as long as the same kind of invariant breaks."""

from __future__ import annotations

from dataclasses import replace

from tests.simulation.run import Report, simulate


def shrunk(report: Report, *, rounds: int = 60) -> Report:
    """A report of the same seed in which fewer things go wrong; the same report when none can be left out."""
    best = report
    chunk = max(best.faults // 2, 1)
    while chunk and rounds > 0:
        smaller = None
        for start in range(1, best.faults + 1, chunk):
            muted = best.scenario.mute | frozenset(range(start, start + chunk))
            if muted == best.scenario.mute:
                continue
            rounds -= 1
            found = simulate(replace(best.scenario, mute=muted))
            if _alike(found, report) and size(found) < size(best):
                smaller = found
                break
        if smaller is not None:
            best = smaller
        else:
            chunk //= 2
    return best


def size(report: Report) -> int:
    """What a person has to read: everything that went wrong, and something for the rest of the schedule."""
    return len(_happened(report)) + len(report.schedule) // 50


def _happened(report: Report) -> list[str]:
    marks = ("CRASHES", "sleeps for", "lost:", "given up:", "late:")
    return [line for line in report.schedule if any(mark in line for mark in marks)]


def _alike(one: Report, other: Report) -> bool:
    if one.failure is None or other.failure is None:
        return False
    return _kind(one.failure) == _kind(other.failure)


def _kind(error: BaseException) -> tuple[str, str]:
    """The class of a failure and its words without names and numbers."""
    words = [word for word in str(error).split() if word.isalpha()]
    return type(error).__name__, " ".join(words)
