"""Gateways in front of Redis, simulated request by request; the algorithm's code is the real one.

Modelled: a constant time each way over the network, and Redis nodes that serve one call after the
other, each call in the same time. Not modelled: a gateway's own work, and what fails.
"""

import random
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from ratelimit_app.algorithms import Limit, gcra

#: How long a denial is believed without asking, in ms.
BELIEVED = 1000.0
#: A moment on the wall to start from, in ms.
EPOCH = 1_772_359_200_000


class Request(NamedTuple):
    """`at`: ms after the start; `gateway` and `key` are numbers."""

    at: float
    gateway: int
    key: int


class Network(NamedTuple):
    """`way`: ms from a gateway to Redis, or back; `service`: ms of Redis's time for a call."""

    way: float
    service: float


@dataclass(slots=True)
class Outcome:
    """What came of it: decisions admitted by key, trips by key, and every request's wait in ms."""

    admitted: Counter[int] = field(default_factory=Counter)
    trips: Counter[int] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Redis:
    """Nodes that serve one call after the other, with the buckets of all keys."""

    nodes: int
    network: Network
    limit: Limit
    states: dict[int, int] = field(default_factory=dict)
    free: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.free = [0.0] * self.nodes

    def take(self, at: float, key: int, wanted: int) -> tuple[int, float, float]:
        """Units got, the wait in ms if none, and when the answer is back.

        Up to `wanted` units, if twice as many are left; else what the request needs, which is one.
        """
        node = _node(key, self.nodes)
        start = max(at + self.network.way, self.free[node])
        self.free[node] = start + self.network.service
        now, state = EPOCH + int(start), self.states.get(key)
        cost = 1
        if wanted > 1:
            _, _, left, _, _ = gcra.take(state, self.limit, 0, now)
            cost = wanted if left >= 2 * wanted else 1
        new, allowed, _, wait, _ = gcra.take(state, self.limit, cost, now)
        if new is not None:
            self.states[key] = new
        return cost if allowed else 0, wait, self.free[node] + self.network.way


@dataclass(slots=True)
class Known:
    """What a gateway knows of a key: units left since when, or denied until when."""

    units: int = 0
    since: float = 0.0
    denied: float = 0.0
    #: When the answer comes that this is known from.
    back: float = 0.0


def simulate(
    requests: Sequence[Request],
    limit: Limit,
    network: Network,
    nodes: int,
    near: bool = False,
    lease: int = 1,
) -> Outcome:
    """Every request through its gateway; `near` believes denials, `lease` takes units ahead."""
    redis, found = Redis(nodes, network, limit), Outcome()
    known: dict[tuple[int, int], Known] = {}
    for at, gateway, key in requests:
        mine = known.get((gateway, key)) if near or lease > 1 else None
        if mine is not None:
            # With leases one trip is in flight for a key, and the others wait for it.
            moment = max(at, mine.back) if lease > 1 else at
            if moment >= mine.back:
                if moment < mine.denied:
                    found.waits.append(moment - at)
                    continue
                lapsed = int((moment - mine.since) * limit.limit / limit.period)
                if mine.units > lapsed:
                    mine.units -= 1
                    found.admitted[key] += 1
                    found.waits.append(moment - at)
                    continue
        else:
            moment = at
        units, wait, back = redis.take(moment, key, lease)
        found.trips[key] += 1
        found.admitted[key] += units > 0
        found.waits.append(back - at)
        if near or lease > 1:
            denied = 0.0 if units else moment + min(wait, BELIEVED)
            known[gateway, key] = Known(units - 1, back, denied if near else 0.0, back)
    return found


def arrivals(
    keys: int, rate: float, gateways: int, seconds: float, skew: float, seed: int = 1
) -> list[Request]:
    """Requests of strangers, key k asked for in proportion to 1 / k ** skew."""
    chance = random.Random(seed)
    weights = list(accumulate(1 / (number + 1) ** skew for number in range(keys)))
    count = round(rate * seconds)
    asked = chance.choices(range(keys), cum_weights=weights, k=count)
    times = sorted(chance.uniform(0, 1000 * seconds) for _ in range(count))
    return [
        Request(at, chance.randrange(gateways), key) for at, key in zip(times, asked, strict=True)
    ]


def busiest(trips: Counter[int], nodes: int, busy: float) -> float:
    """The share of its time that the busiest node works; `busy` is that of one node for all."""
    by_node = Counter[int]()
    for key, count in trips.items():
        by_node[_node(key, nodes)] += count
    return busy * max(by_node.values()) / trips.total()


def nodes_needed(trips: Counter[int], busy: float, most: float = 0.7) -> int | None:
    """The fewest nodes of which none works more than `most` of its time; None: one key is too much.

    A key lives on one node, however many there are.
    """
    if busy * max(trips.values()) / trips.total() > most:
        return None
    return next(nodes for nodes in range(1, 10_000) if busiest(trips, nodes, busy) <= most)


def percentile(values: Sequence[float], of: float) -> float:
    return statistics.quantiles(values, n=1000, method="inclusive")[round(10 * of) - 1]


def _node(key: int, nodes: int) -> int:
    # Keys spread over slots as a hash spreads them, not by their rank.
    return (key * 2_654_435_761 % 2**32) * nodes >> 32
