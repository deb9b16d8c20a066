"""Checkpoints: places in long work where it looks whether it may go on, without knowing who decides about that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("omnigraph_check", default=None)


@contextmanager
def checking(check: Callable[[], None]) -> Iterator[None]:
    """Call `check`, which may raise or wait, at every checkpoint of the block."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def checkpoint() -> None:
    """Stop here if the work that this belongs to has to stop."""
    check = _CHECK.get()
    if check is not None:
        check()
