"""What all tasks know travels with them while it is small, and otherwise lies in one file that is not trusted blindly."""

from __future__ import annotations

import pickle
from pathlib import Path

import cloudpickle
import pytest

from omnigraph.errors import Corrupt
from omnigraph.pipeline.tasks.shared import FEW_BYTES, Shared

LARGE = [f"part-{at}" for at in range(20_000)]


def test_this_process_has_the_value_itself_and_writes_nothing(tmp_path: Path) -> None:
    assert Shared(LARGE, str(tmp_path)).value is LARGE
    assert list(tmp_path.iterdir()) == []


def test_a_large_value_is_one_file_however_often_it_is_sent(tmp_path: Path) -> None:
    shared = Shared(LARGE, str(tmp_path))
    sent = [cloudpickle.dumps(lambda at: (at, shared.value)) for _ in range(3)]
    assert max(map(len, sent)) < 2_000
    assert len(list(tmp_path.iterdir())) == 1
    assert [pickle.loads(each)(7) for each in sent] == [(7, LARGE)] * 3


def test_a_small_value_travels(tmp_path: Path) -> None:
    small = "x" * (FEW_BYTES - 100)
    assert pickle.loads(pickle.dumps(Shared(small, str(tmp_path)))).value == small
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_somebody_has_changed_is_not_unpacked(tmp_path: Path) -> None:
    sent = pickle.dumps(Shared(LARGE, str(tmp_path)))
    (file,) = tmp_path.iterdir()
    file.write_bytes(pickle.dumps([*LARGE[:-1], "another"]))
    with pytest.raises(Corrupt, match="is not what was written there"):
        _ = pickle.loads(sent).value
