"""What doing without a derived value has cost so far: hints, so forgetting some is harmless."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass

from omnigraph.memory.cache import Cache, CacheKind

_REMEMBERED = 1_024
_HINT_BYTES = 256
_LOOK_AGAIN_SECONDS = 10.0


@dataclass(slots=True)
class Cost:
    """Rows and bytes that were fetched, and the seconds it took."""

    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0


def cost_kind(name: str) -> CacheKind[Cost]:
    """A kind of work whose cost is remembered by key."""
    return CacheKind(name, lambda cost: _HINT_BYTES, entries=_REMEMBERED)


def add_cost(costs: Cache[Cost], key: Hashable, seconds: float, *, rows: int = 0, size: int = 0) -> None:
    """Some more of it."""
    cost = costs.get(key)
    if cost is None:
        cost = Cost()
        costs.put(key, cost)
    cost.rows += rows
    cost.bytes += size
    cost.seconds += seconds


def cost_of(costs: Cache[Cost], key: Hashable) -> Cost:
    """All of it so far."""
    return costs.get(key) or Cost()


def search_kind(name: str) -> CacheKind[float]:
    """When something was last looked for in vain: another process may make it, but not many times a second."""
    return CacheKind(name, lambda when: _HINT_BYTES, entries=_REMEMBERED)


def due(searches: Cache[float], key: Hashable) -> bool:
    """Whether to look, again or for the first time; the answer counts as having looked."""
    now, last = time.monotonic(), searches.get(key)
    if last is not None and now - last < _LOOK_AGAIN_SECONDS:
        return False
    searches.put(key, now)
    return True
