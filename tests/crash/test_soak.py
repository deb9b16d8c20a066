"""A short soak in every run: six processes write, die and stall; nothing acknowledged is lost, nothing is partial."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.testing.services.s3server import running_s3
from omnigraph.testing.soak.counter import Trial, run_counter
from omnigraph.testing.soak.run import COUNTED, Place, run
from omnigraph.testing.soak.worker import Chaos

ROUGH = Chaos(kill=0.004, pause=0.004, stall=0.1)


def case(number: str) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=number)])


@case("W62")
@pytest.mark.slow
@pytest.mark.soak
def test_processes_that_die_and_stall_at_random_break_no_promise(tmp_path: Path, case: str) -> None:
    (tmp_path / "log").mkdir()
    verdict = run(Place(str(tmp_path / "graph"), tmp_path / "log", {}), seconds=15, processes=6, chaos=ROUGH)
    assert verdict.problems == []
    assert verdict.counts["acknowledged"] > 0
    assert (verdict.counts["lost"], verdict.counts["partial"]) == (0, 0)


def test_updates_of_own_rows_and_a_shared_counter_are_never_refused(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    root, log = str(tmp_path / "graph"), str(tmp_path / "log")
    verdict = run_counter(Trial(root=root, log=log, processes=4, updates=8, kill=0.004, settings=COUNTED))
    assert verdict.problems == []
    assert (verdict.counts["refused"], verdict.counts["counter"]) == (0, 32)


@case("W62")
@pytest.mark.s3
@pytest.mark.slow
@pytest.mark.soak
def test_the_same_holds_on_an_object_store(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log").mkdir()
    with running_s3() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        place = Place(server.fresh_root("soak").uri, tmp_path / "log", server.environment)
        verdict = run(place, seconds=25, processes=6, chaos=ROUGH)
    assert verdict.problems == []
    assert verdict.counts["acknowledged"] > 0
