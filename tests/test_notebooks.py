"""The notebooks in `examples/notebooks` run from top to bottom, and their stored outputs are small."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))
_MOST_BYTES = 200_000


def execute(path: Path, home: Path) -> Any:
    """The notebook with the outputs of a fresh run."""
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(home)}}).execute()
    return book


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow]) for path in NOTEBOOKS],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_notebook_runs_and_shows_the_same_kinds_of_outputs(path: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "airline", tmp_path / "airline", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "notebooks").mkdir()
    stored, found = nbformat.read(path, as_version=4), execute(path, tmp_path / "notebooks")
    assert [_kinds(cell) for cell in found.cells] == [_kinds(cell) for cell in stored.cells]


def _kinds(cell: Any) -> list[list[str]]:
    """The media types of what a cell shows, apart from what it writes to stderr."""
    shown = [each for each in cell.get("outputs", []) if each.get("name") != "stderr"]
    return [sorted(each.get("data", {each.output_type: None})) for each in shown]


def test_stored_notebooks_are_small() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"airline", "merge-review", "search", "spark"}
    for path in NOTEBOOKS:
        assert path.stat().st_size < _MOST_BYTES, path
        assert all(
            cell.get("outputs") or cell.cell_type != "code" or "import" in cell.source or "%gq" in cell.source
            for cell in nbformat.read(path, as_version=4).cells
        ), path
