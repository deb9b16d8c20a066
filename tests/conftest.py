"""What every test may use: the golden-file fixture and its update flag."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# A shared machine stalls now and then; how long one example takes proves nothing.
settings.register_profile("omnigraph", deadline=None)
settings.load_profile("omnigraph")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="rewrite golden files with what the code produces now"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("schema/S004.txt", text)` compares text with the file under tests/golden, or rewrites it."""

    def check(name: str, actual: str) -> None:
        path = GOLDEN / name
        actual = actual if actual.endswith("\n") else actual + "\n"
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8", newline="")
        assert path.exists(), f"{path} is missing; run pytest with --update-goldens and review the new file"
        assert actual == path.read_bytes().decode("utf-8"), f"{path} differs; review, then run with --update-goldens"

    return check
