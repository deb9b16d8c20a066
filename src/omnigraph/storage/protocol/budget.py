"""The budget of one write: how often it may be computed on a head that moved, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph import host
from omnigraph.errors import BadRequest
from omnigraph.settings import Settings


@dataclass(frozen=True, slots=True)
class Budget:
    """Attempts and seconds; waiting for other writers counts as time, not as an attempt."""

    attempts: int
    seconds: float

    @classmethod
    def of(cls, settings: Settings, attempts: int | None = None) -> Budget:
        """The budget of a call: the settings', unless the caller asks for other attempts."""
        if attempts is not None and attempts < 1:
            raise BadRequest("attempts: a write is computed at least once")
        return cls(settings.reprepare_budget if attempts is None else attempts, settings.reprepare_seconds)

    def begin(self) -> Spending:
        """Start the clock."""
        return Spending(self, host.monotonic())


@dataclass(slots=True)
class Spending:
    """A budget that is being used up."""

    budget: Budget
    began: float
    attempts: int = 0

    @property
    def deadline(self) -> float:
        """When the time is over, by the monotonic clock."""
        return self.began + self.budget.seconds

    @property
    def elapsed(self) -> float:
        """The seconds since the beginning."""
        return host.monotonic() - self.began

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(self.deadline - host.monotonic(), 0.0)

    @property
    def may_compute(self) -> bool:
        """Whether another attempt is allowed; the first one always is."""
        return self.attempts == 0 or (self.attempts < self.budget.attempts and self.left > 0)
