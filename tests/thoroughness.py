"""How much random input a run of the tests draws: a quarter of it in `make test`, half in CI, all in `make test-thorough`."""

from __future__ import annotations

import os

_PARTS = {"": 4, "0": 4, "half": 2}
_PART = _PARTS.get(os.environ.get("OMNIGRAPH_TEST_THOROUGH", ""), 1)
# New examples in every run, instead of those that depend on the text of the test alone.
EXPLORE = os.environ.get("OMNIGRAPH_TEST_EXPLORE", "") not in ("", "0")


def examples(count: int) -> int:
    """How many examples a property is tried with, of `count` in a thorough run."""
    return -(-count // _PART)
