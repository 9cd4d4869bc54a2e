"""What every test has: a store, its clock in the test's hand, and clients of its own."""

import hashlib
import os
from collections.abc import Callable
from typing import TypeAlias

import pytest

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS, Decision, Limit
from ratelimit_app.stores import Quota, Store, Take

#: Gives a store whose clock is the function it gets: milliseconds since the epoch.
MakeStore: TypeAlias = Callable[[Callable[[], int]], Store]

#: Midnight of a day in 2023, in milliseconds: windows of any period that divides a day begin here.
MIDNIGHT = 19_675 * 86_400_000

every_algorithm = pytest.mark.parametrize("algorithm", list(ALGORITHMS))
every_bucket = pytest.mark.parametrize("algorithm", sorted(BUCKETS))
every_window = pytest.mark.parametrize("algorithm", sorted(ALGORITHMS.keys() - BUCKETS))


class Subject:
    """The store under test; `now` is its clock. No two subjects ask for the same client."""

    def __init__(self, make_store: MakeStore, now: int = MIDNIGHT) -> None:
        self.start = self.now = now
        self.store = make_store(lambda: self.now)
        self._salt = os.urandom(16)

    def take(
        self, quota: Quota, cost: int = 1, *, who: str = "alice", spend: bool = True
    ) -> Decision:
        """Take from one bucket."""
        (decision,) = self.store.take([self.asked(quota, cost, who=who)], spend=spend)
        return decision

    def look(self, quota: Quota, cost: int = 0, *, who: str = "alice") -> Decision:
        """What `take` would answer."""
        return self.take(quota, cost, who=who, spend=False)

    def take_all(self, *quotas: Quota, cost: int = 1, who: str = "alice") -> list[Decision]:
        """Take from the buckets of one client in one call."""
        return self.store.take([self.asked(quota, cost, who=who) for quota in quotas])

    def asked(self, quota: Quota, cost: int = 1, *, who: str = "alice") -> Take:
        """A take, with the digest that stands for the client."""
        digest = hashlib.blake2b(who.encode(), key=self._salt, digest_size=15).digest()
        return Take(quota, digest, cost)

    def wait(self, seconds: float) -> None:
        """Let time pass; a negative number steps the clock back."""
        self.now += round(seconds * 1000)

    def at(self, seconds: float) -> None:
        """Set the clock to so long after the start."""
        self.now = self.start + round(seconds * 1000)

    def longest_wait(self, quota: Quota, cost: int = 1) -> float:
        """How long a client waits who has just spent a full bucket, at the worst of times."""
        now, client = self.now, os.urandom(8).hex()
        # Windows are worst at their start.
        self.now -= now % quota.limit.period
        assert self.take(quota, quota.limit.burst, who=client).allowed
        refused = self.take(quota, cost, who=client)
        self.now = now
        assert refused.retry_after
        return refused.retry_after


def quota(
    algorithm: str,
    limit: int,
    seconds: float,
    burst: int | None = None,
    *,
    policy: str = "policy",
    shadow: bool = False,
) -> Quota:
    """A policy's numbers; the same name and algorithm again are the same policy, edited."""
    numbers = Limit(limit, round(seconds * 1000), limit if burst is None else burst)
    return Quota(policy, algorithm, numbers, f"{policy}.{algorithm}", shadow)
