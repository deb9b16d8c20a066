"""Checkpoints: who is asked at one, in blocks that lie in each other."""

from __future__ import annotations

import pytest

from omnigraph.checkpoints import checking, checkpoint, is_checked, unchecked


def test_every_block_around_a_checkpoint_is_asked_the_outermost_first() -> None:
    asked: list[str] = []
    with checking(lambda: asked.append("run")), checking(lambda: asked.append("query")):
        checkpoint()
    assert (asked, is_checked()) == (["run", "query"], False)
    checkpoint()
    assert asked == ["run", "query"]


def test_what_is_finished_in_any_case_passes_checkpoints_and_what_follows_does_not() -> None:
    def stop() -> None:
        raise TimeoutError

    with checking(stop):
        with unchecked():
            assert not is_checked()
            checkpoint()
        assert is_checked()
        with pytest.raises(TimeoutError):
            checkpoint()
