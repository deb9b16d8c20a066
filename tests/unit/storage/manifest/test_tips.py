"""The newest manifest version is opened again only when its file is another one, and then always."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import OmnigraphError
from omnigraph.storage.base.store import store_for
from omnigraph.storage.manifest import tips
from omnigraph.storage.manifest.tips import open_tip

SCHEMA = "node A { k: String @key }"
COUNT = "query q() { match { $a: A } return { count(*) as n } }"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was opened, one entry for each time."""
    seen: list[str] = []
    original = tips._opened
    monkeypatch.setattr(tips, "_opened", lambda address: seen.append(address.uri) or original(address))
    return seen


def test_an_unchanged_manifest_is_opened_once(tmp_path: Path, opened: list[str]) -> None:
    og.init(tmp_path / "g.omni", SCHEMA).close()
    address = store_for(tmp_path / "g.omni").root.manifest()
    opened.clear()
    assert open_tip(address) is open_tip(address)
    assert len(opened) == 1


def test_what_another_handle_writes_is_seen_at_once(tmp_path: Path) -> None:
    writer, reader = og.init(tmp_path / "g.omni", SCHEMA), og.open(tmp_path / "g.omni")
    for number in range(3):
        assert reader.query(COUNT).scalar() == number
        writer.load([f'{{"type":"A","data":{{"k":"{number}"}}}}'])


def test_a_graph_that_was_made_again_at_the_same_path_is_another_one(tmp_path: Path) -> None:
    place = tmp_path / "g.omni"
    for rows in (2, 1):
        graph = og.init(place, SCHEMA)
        graph.load([f'{{"type":"A","data":{{"k":"{number}"}}}}' for number in range(rows)])
        assert og.open(place).query(COUNT).scalar() == rows
        shutil.rmtree(place)
    with pytest.raises(OmnigraphError):
        graph.query(COUNT)
