"""What policies decide while the store does not answer, and what is said and counted of it."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from . import stores
from .algorithms import BUCKETS, Decision, Limit
from .policies import CompiledPolicy
from .sparingly import Sparingly
from .stores import Quota, Take, Unavailable
from .verdict import failed

log = logging.getLogger("ratelimit_app")

#: How many decisions went without the store since the start of the process, by kind of fault.
counts: Counter[str] = Counter()

_said: dict[str, Sparingly] = {}


def decide(
    policies: Sequence[CompiledPolicy],
    takes: Sequence[Take],
    error: Unavailable,
    *,
    spend: bool = True,
) -> list[Decision]:
    """Each policy's `on_error`; where they differ, closed beats local beats open.

    A local policy counts in this process, at its share of the limit: the number of processes is
    what the store knew while it answered.
    """
    counts[error.kind] += 1
    _said.setdefault(error.kind, Sparingly(log)).warning(
        "The store does not answer, and policies decide by their on_error: %s", error
    )
    decisions = [failed(policy) for policy in policies]
    if any(policy.on_error == "closed" and policy.mode == "enforce" for policy in policies):
        return decisions
    local = [at for at, policy in enumerate(policies) if policy.on_error == "local"]
    processes = stores.current().processes
    shares = [
        takes[at]._replace(quota=share(takes[at].quota, processes, takes[at].cost)) for at in local
    ]
    for at, found in zip(local, stores.local().take(shares, spend=spend), strict=True):
        decisions[at] = found
    return decisions


@lru_cache(maxsize=10_000)
def share(quota: Quota, processes: int, cost: int = 1) -> Quota:
    """One process's part of a quota, but no less than the cost of a request that fits the whole."""
    limit, period, burst = quota.limit
    capacity = max(1, min(cost, burst), burst // processes)
    rate = max(1, limit // processes) if quota.algorithm in BUCKETS else capacity
    part = Limit(rate, period, capacity)
    return replace(quota, limit=part)
