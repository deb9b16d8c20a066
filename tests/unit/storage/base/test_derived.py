"""Derived arrays that are equal take their place on the disk once, and each stays when another goes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from omnigraph.storage.base.derived import drop_arrays, load_arrays, names_under, save_arrays
from omnigraph.storage.base.layout import normalize_root


def test_equal_arrays_share_their_file(tmp_path: Path) -> None:
    root = normalize_root(tmp_path)
    large, other, small = np.arange(20_000), np.arange(20_000)[::-1].copy(), np.arange(3)
    assert save_arrays(root, "kind/a", {"same": large, "differs": large, "small": small})
    assert save_arrays(root, "kind/b", {"same": large, "differs": other, "small": small})
    files = {
        name: [tmp_path / "__derived" / "kind" / place / f"{name}.npy" for place in "ab"]
        for name in ("same", "differs", "small")
    }
    assert files["same"][0].samefile(files["same"][1])
    assert not any(left.samefile(right) for left, right in (files["differs"], files["small"]))
    drop_arrays(root, "kind/a")
    kept = load_arrays(root, "kind/b")
    assert kept is not None
    assert names_under(root, "kind") == ["kind/b"]
    assert [
        np.array_equal(kept[name], value) for name, value in (("same", large), ("differs", other), ("small", small))
    ] == [True] * 3
