"""What a process holds of one bucket: units taken in one trip and not yet spent. Time is data."""

from concurrent.futures import Future
from typing import TypeAlias

from ratelimit_app.algorithms import BUCKETS, Decision

from .base import Quota, Unavailable

#: A trip for a lease, for others to wait for; the result is the fault that it met, or None.
Flight: TypeAlias = Future[Unavailable | None]

_MS = 1_000_000


class Holding:
    """Units of one bucket; instants are nanoseconds of a clock that never steps.

    The store counts the units as spent, and they come back to it as all others do. What has come
    back there cannot be spent here: no more are held than the store counts as spent.
    """

    __slots__ = (
        "_ends",
        "_fresh",
        "_slope",
        "_span",
        "aside",
        "firm",
        "flight",
        "lapsed",
        "owner",
        "quota",
        "remaining",
        "units",
    )

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.units = 0
        #: Beside those: what calls that are on their way have set aside.
        self.aside = 0
        #: Units that may have come back to the store: not to be spent before it was heard of again.
        self.lapsed = 0
        #: What the store had left when it was last heard of.
        self.remaining = quota.limit.burst
        self._fresh = self._ends = 0
        #: Until then nothing lapses.
        self.firm = 0
        self._slope, self._span = 0, 1
        #: The thread that fetches a lease, or 0; and what others wait for, once somebody does.
        self.owner = 0
        self.flight: Flight | None = None

    def live(self, now: int) -> int:
        """The units that have not lapsed; the others are let go of."""
        units = self.units
        if now >= self._ends:
            self.units = 0
        elif now >= self.firm and self._slope:
            self.units = min(units, (self._ends - now) * self._slope // self._span)
        if self._slope:
            self.lapsed += units - self.units
        return self.units

    def awaited(self) -> Flight:
        """The flight of the lease that is being fetched."""
        if self.flight is None:
            self.flight = Future()
            # Nobody who waits for it can cancel it.
            self.flight.set_running_or_notify_cancel()
        return self.flight

    def set_aside(self, units: int) -> None:
        """For a call that is on its way."""
        self.units -= units
        self.aside += units

    def back(self, aside: int, units: int) -> None:
        """A call that had set so many aside is over, and these are not spent."""
        self.aside -= aside
        self.units += units
        # More than were there when it was reckoned.
        self.firm = 0

    def heard(self, said: Decision, sent: int, charged: int) -> None:
        """The store was asked at `sent`, said this, and counts `charged` units more as spent.

        `units` tells already what is held now.
        """
        quota = self.quota
        rate, period, _ = quota.limit
        self.remaining = said.remaining or 0
        self._fresh = sent + round(said.reset_after * 1000) * _MS
        if quota.algorithm in BUCKETS:
            # What is spent comes back one by one, until the bucket is fresh.
            self._ends, self._slope, self._span = self._fresh, rate, period * _MS
            # Others have spent meanwhile, so that not all of what lapsed has come back there.
            spent = round(said.reset_after * 1000) * rate // period - charged
            self.units += max(0, min(self.lapsed, spent - self.units - self.aside))
            self.lapsed = 0
        elif quota.algorithm == "fixed_window":
            # All comes back at once, when the window closes.
            self._ends, self._slope = self._fresh, 0
        elif charged:
            # A period later the sliding window has left them behind.
            self._ends, self._slope = sent + period * _MS, 0
        waits = -(self.units * self._span // -self._slope) if self._slope else 0
        self.firm = self._ends - waits

    def said(self, now: int) -> Decision:
        """The bucket as it is known here; its `remaining` may have grown since."""
        quota = self.quota
        most, remaining = quota.limit[2], self.remaining + self.units
        if remaining > most:
            remaining = most
        # Whole milliseconds, rounded up, as of the store; see `base.decision` for the tuple.
        reset = -((self._fresh - now) // -_MS) / 1000 if now < self._fresh else 0.0
        return tuple.__new__(
            Decision, (True, most, remaining, 0.0, reset, quota.policy, "lease", 0.0)
        )
