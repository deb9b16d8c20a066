"""What several tests of reads use."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.engine.read import direct
from omnigraph.engine.read import query as query_module


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each call of a read with a route, whether it was answered directly."""
    seen: list[bool] = []

    def noted(*given: Any) -> Any:
        found = direct.direct_answer(*given)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(query_module, "direct_answer", noted)
    return seen
