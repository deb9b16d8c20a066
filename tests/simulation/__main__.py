"""`python -m tests.simulation`: simulate seeds until one fails, the time is over, or all are done."""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator

from tests.simulation.run import STEPS, Report, scenario_of, simulate
from tests.simulation.shrink import shrunk

_SHOWN_LINES = 400


def main() -> int:
    """0 when every seed held, 1 with the schedule of the first that did not."""
    options = _options()
    logging.disable(logging.CRITICAL)  # writers say in the log what they leave for others
    started, totals, done = time.monotonic(), Counter[str](), 0
    for seed in _seeds(options.seeds):
        if options.seconds is not None and time.monotonic() - started > options.seconds:
            break
        mute = frozenset(options.mute or ())
        report = simulate(scenario_of(seed, steps=options.steps, mute=mute))
        totals.update(report.counts)
        done += 1
        if report.failure is not None:
            _explain(report if options.exact else shrunk(report), report)
            return 1
        if done % 50 == 0:
            print(_summary(done, totals, time.monotonic() - started), flush=True)
    print(_summary(done, totals, time.monotonic() - started))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", default="0-", help="one (17), a range (0-99), or from one on (0-); default: 0-")
    parser.add_argument("--seconds", type=float, help="begin no further seed after so many seconds")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"operations before a run is ended (default {STEPS})")
    parser.add_argument("--mute", type=int, nargs="*", help="numbers of faults to leave out, as a shrunk failure says")
    parser.add_argument("--exact", action="store_true", help="show a failure as it is, without making it smaller")
    return parser.parse_args()


def _seeds(text: str) -> Iterator[int]:
    first, dash, last = text.partition("-")
    at = int(first)
    while not dash or not last or at <= int(last):
        yield at
        at += 1
        if not dash:
            return


def _explain(report: Report, first: Report) -> None:
    """Everything that is needed to see what went wrong, and to see it again."""
    scenario = report.scenario
    print(f"seed {scenario.seed} FAILED: {first.failure}")
    for line in report.schedule[-_SHOWN_LINES:]:
        print(line)
    if report.failure is not None:
        traceback.print_exception(report.failure, file=sys.stdout)
    print(scenario)
    mute = "".join(f" {number}" for number in sorted(scenario.mute))
    print(f"again: python -m tests.simulation --exact --seeds {scenario.seed} --steps {scenario.steps}", end="")
    print(f" --mute{mute}" if mute else "")


def _summary(done: int, totals: Counter[str], seconds: float) -> str:
    parts = ", ".join(f"{totals[name]:,} {name}" for name in sorted(totals, key=lambda name: -totals[name]))
    return f"{done} seeds in {seconds:.0f} s: {parts}"


if __name__ == "__main__":
    sys.exit(main())
