"""Engine calls off the event loop: a call that fails frees what it held."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

from omnigraph.server.work import Pools


class Large:
    """Stands for the arrays of a query."""


def test_what_a_failed_call_held_is_freed_without_the_garbage_collector() -> None:
    held: list[weakref.ref[Large]] = []

    def inner() -> None:
        large = Large()
        held.append(weakref.ref(large))
        try:
            raise KeyError("first")
        except KeyError:
            raise RuntimeError("stopped") from None

    def call(_: threading.Event) -> None:
        large = Large()
        held.append(weakref.ref(large))
        inner()

    async def test() -> None:
        pools = Pools(reads=1, writes=1)
        for run in (lambda: pools.read(call, None), lambda: pools.write(inner), lambda: pools.small(inner)):
            with pytest.raises(RuntimeError, match="stopped") as caught:
                await run()
            assert [each() for each in held] == [None] * len(held)
            del caught
        pools.close()

    gc.disable()
    try:
        asyncio.run(test())
    finally:
        gc.enable()
    assert len(held) == 4
