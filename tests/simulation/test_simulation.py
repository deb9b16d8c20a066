"""The simulation holds on a few seeds, replays a seed exactly, and notices a commit protocol that is broken on purpose."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.mutations import MUTATIONS
from tests.simulation.mutants import first_failure, mutated
from tests.simulation.run import Report, scenario_of, simulate
from tests.simulation.shrink import shrunk, size

REPOSITORY = Path(__file__).resolve().parents[2]
_STEPS = 1_200


@pytest.mark.parametrize("seed", range(8))
def test_every_invariant_holds(seed: int) -> None:
    report = simulate(scenario_of(seed, steps=_STEPS))
    if report.failure is not None:
        pytest.fail("\n".join([*report.schedule[-60:], f"seed {seed}: {report.failure}"]))
    assert report.counts["commits"] > 0


# Seeds that have found a defect once. Schedules shift when clients or protocol change, so each defect also has a test of
# its own: test_private_branches, test_attempt, test_tickets and test_trim below tests/unit/storage.
@pytest.mark.parametrize(
    ("seed", "steps"),
    [
        pytest.param(2, 3_000, id="a-private-ref-appears-after-its-lease-is-gone"),
        pytest.param(24, 3_000, id="a-refused-commit-had-landed-and-was-rolled-forward"),
        pytest.param(40, 3_000, id="an-expired-ticket-of-a-deleted-branch-stays"),
        pytest.param(9001, 3_000, id="a-trimming-dies-between-data-and-versions"),
        pytest.param(20146, 3_000, id="a-version-that-landed-could-not-be-opened"),
    ],
)
def test_seeds_that_found_a_defect_hold(seed: int, steps: int) -> None:
    assert simulate(scenario_of(seed, steps=steps)).failure is None


def digest(report: Report) -> str:
    return hashlib.sha256("\n".join(report.schedule).encode()).hexdigest()


def test_a_seed_gives_the_same_schedule_in_another_process() -> None:
    program = (
        "from tests.simulation.test_simulation import digest\n"
        "from tests.simulation.run import scenario_of, simulate\n"
        "print(digest(simulate(scenario_of(3, steps=600))))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    other = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=REPOSITORY, env=environment
    )
    assert digest(simulate(scenario_of(3, steps=600))) == other.stdout.strip()


# Some of the lines that `make mutants` breaks, each with a seed that shows it.
_BROKEN = {
    "recovery: one complete table is enough to roll forward": (3, "was reclaimed"),
    "recovery: a sweep decides for live writers": (3, "its writer is alive"),
    "retention: the version that a snapshot shows may go": (0, "although tag"),
    "fence: a published operation is reported as aborted": (15, "reported as failed"),
    "classify: another transaction in the planned slot is ours": (39, "should be"),
    "publish: an aborted operation is published after all": (7, "decided twice"),
    "publish: of commits that are published together each shows what the last one leaves": (1, "should be"),
    "together: a write is published behind another that changes the rows it has read": (3, "should be"),
    "commit: an attempt that could not be decided is tried once more": (2, "reported as failed"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _BROKEN)
def test_a_protocol_that_is_broken_on_purpose_is_noticed(name: str) -> None:
    mutation = next(each for each in MUTATIONS if each.name == name)
    with mutated(mutation.file, mutation.original, mutation.replacement):
        first, words = _BROKEN[name]
        report = first_failure(range(first, first + 60))
    assert report is not None
    assert words in str(report.failure)


def test_a_failure_is_made_smaller_and_stays_the_same() -> None:
    mutation = next(each for each in MUTATIONS if each.name.startswith("recovery: one complete table"))
    with mutated(mutation.file, mutation.original, mutation.replacement):
        report = first_failure(range(2, 60))
        assert report is not None
        smaller = shrunk(report, rounds=6)
        again = simulate(smaller.scenario)
    assert str(again.failure) == str(smaller.failure)
    assert again.schedule == smaller.schedule
    assert size(smaller) < size(report)
