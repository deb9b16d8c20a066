"""Checkpoints: places in long work where it looks whether it may go on, without knowing who decides about that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("omnigraph_check", default=None)


@contextmanager
def checking(check: Callable[[], None]) -> Iterator[None]:
    """Call `check`, which may raise or wait, at every checkpoint of the block, after those of the blocks around it."""
    outer = _CHECK.get()

    def both() -> None:
        assert outer is not None
        outer()
        check()

    token = _CHECK.set(check if outer is None else both)
    try:
        yield
    finally:
        _CHECK.reset(token)


@contextmanager
def ask_instead(check: Callable[[], None] | None) -> Iterator[None]:
    """Call `check` at every checkpoint of the block, and none of those of the blocks around it."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


@contextmanager
def unchecked() -> Iterator[None]:
    """Pass every checkpoint of the block: what it does is finished."""
    with ask_instead(None):
        yield


def is_checked() -> bool:
    """Whether a checkpoint here would ask anybody."""
    return _CHECK.get() is not None


def checkpoint() -> None:
    """Stop here if the work that this belongs to has to stop."""
    check = _CHECK.get()
    if check is not None:
        check()
