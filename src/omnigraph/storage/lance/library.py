"""The three calls through which datasets and data files come into being: all that this package asks of lance itself.

Everything else is a method of the dataset that one of them returned. So code that keeps a graph in something else than
files (`Root.backing`) provides these three, and the rest of this package runs on it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Library:
    """Lance, or what takes its place; the signatures are those of `lance`."""

    dataset: Callable[..., Any]
    commit: Callable[..., Any]
    write_fragments: Callable[..., Any]
