"""How much random input a run of the tests draws: a part of it in `make test`, all of it in CI and in `make test-thorough`."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("OMNIGRAPH_TEST_THOROUGH", "") not in ("", "0")
# New examples in every run, instead of those that depend on the text of the test alone.
EXPLORE = os.environ.get("OMNIGRAPH_TEST_EXPLORE", "") not in ("", "0")
_PART = 4


def examples(count: int) -> int:
    """How many examples a property is tried with, of `count` in a thorough run."""
    return count if THOROUGH else -(-count // _PART)
