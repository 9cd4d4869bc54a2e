"""Plain random histories, as the twins in Python tell them; `telling` has Lua say the same."""

import random
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS, EXACT, Decision, Limit
from ratelimit_app.algorithms.sliding_window_log import LONGEST
from ratelimit_app.conformance.subject import MIDNIGHT
from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.memory import MemoryStore
from tests.algorithms.numbers import LATEST, fits, largest


class Step(NamedTuple):
    """A call of the store, and what Python makes of it: decisions, states, and what it wrote.

    `call` is its name; a look is a take that spends nothing. Of a give-back, `since` and
    `decisions` are what it was told.
    """

    call: str
    now: int
    takes: list[Take]
    decisions: list[Decision]
    states: list[Any]
    written: list[bool]
    since: int | None = None


class History:
    """What the twin in Python says of one client's three policies; two begin with `algorithm`."""

    def __init__(self, algorithm: str, seed: int) -> None:
        self.random = random.Random(f"{algorithm} {seed}")
        self.identity = self.random.randbytes(15)
        self.memory = MemoryStore(now=lambda: self.now)
        self.now = MIDNIGHT
        names = algorithm, algorithm, self.random.choice(list(ALGORITHMS))
        self.quotas = [self.quota(index, name) for index, name in enumerate(names)]
        self.last = [Decision(True, 1, 1, 0, 0)] * 3
        self.spent: deque[Step] = deque(maxlen=3)

    def quota(self, index: int, name: str, limit: Limit | None = None) -> Quota:
        limit = limit or self.limit(name)
        return Quota(f"{index}", name, limit, f"{index}.{name}", self.random.random() < 0.2)

    def limit(self, algorithm: str) -> Limit:
        """Mostly small, so that answers turn often; now and then up to all that is let through."""
        a = self.random.randint
        if a(0, 3):
            limit, period, most = a(1, a(1, 30)), a(1, 10 ** a(1, 4)), 40
        else:
            period = a(1, 2 ** (a(0, 1) and a(1, 38)))
            limit = min(a(1, 2 ** a(1, 60)), largest(algorithm, EXACT, period))
            most = largest(algorithm, limit, period)
        if algorithm not in BUCKETS:
            return Limit(limit, period, limit)
        least = -(limit // -period)
        return Limit(limit, period, max(least, self.random.choice((limit, most, a(least, most)))))

    def steps(self, count: int) -> Iterator[Step]:
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.06:
                self.edit(self.random.randrange(3))
            elif kind < 0.07:
                self.memory.reset([Take(self.quotas[0], self.identity)])
                yield Step("reset", self.now, [Take(self.quotas[0], self.identity)], [], [None], [])
            elif kind < 0.2 and self.spent:
                yield self.give()
            yield self.step()

    def step(self) -> Step:
        """Some time passes, and one bucket is asked, or several in any order."""
        several = self.random.sample(range(3), self.random.choice((1, 1, 1, 1, 2, 3)))
        asked = several if len(several) > 1 else [self.random.choice((0, 0, 0, 1, 2))]
        self.pass_by(asked[0])
        takes = [Take(self.quotas[index], self.identity, self.cost(index)) for index in asked]
        spend = self.random.random() < 0.9
        before = self.states(takes)
        decisions = self.memory.take(takes, spend=spend)
        states = self.states(takes)
        for index, decision in zip(asked, decisions, strict=True):
            self.last[index] = decision
        refused = any(
            not (each.allowed or take.quota.shadow)
            for each, take in zip(decisions, takes, strict=True)
        )
        written = [
            was != state or (each.allowed and take.cost > 0 and spend and not refused)
            for was, state, each, take in zip(before, states, decisions, takes, strict=True)
        ]
        step = Step("take" if spend else "look", self.now, takes, decisions, states, written)
        if spend and not refused:
            self.spent.append(step)
        return step

    def give(self) -> Step:
        """What was taken is given back, maybe not for the first time; or any number of units is.

        The limit may have been edited meanwhile.
        """
        taken = self.random.choice(self.spent)
        takes, since, decisions = taken.takes, taken.now, taken.decisions
        self.pass_by(int(takes[0].quota.policy))
        now = [self.quotas[int(take.quota.policy)] for take in takes]
        if self.random.random() < 0.5 and [each.tag for each in now] == [
            take.quota.tag for take in takes
        ]:
            takes = [take._replace(quota=quota) for take, quota in zip(takes, now, strict=True)]
        kind = self.random.random()
        if kind < 0.3:
            costs = (1, 2, takes[0].quota.limit.burst)
            takes = [take._replace(cost=self.random.choice(costs)) for take in takes]
        if kind < 0.4:
            decisions = []
        before = self.states(takes)
        self.memory.give(takes, since if kind > 0.2 else None, decisions)
        states = self.states(takes)
        written = [was != state for was, state in zip(before, states, strict=True)]
        return Step(
            "give", self.now, takes, decisions, states, written, since if kind > 0.2 else None
        )

    def states(self, takes: list[Take]) -> list[Any]:
        found = [self.memory._shard(take).load(take) for take in takes]
        # A log is changed in place.
        return [bytes(state) if isinstance(state, bytearray) else state for state in found]

    def cost(self, index: int) -> int:
        """Costs where an answer turns."""
        capacity, left = self.quotas[index].limit.burst, self.last[index].remaining or 0
        around = (left - 1, left, left, left + 1, capacity, capacity + 1, capacity // 3, left // 2)
        return max(0, self.random.choice((0, 1, 1, 1, 2, *around)))

    def pass_by(self, index: int) -> None:
        """Moments at which an answer turns, and steps of the clock."""
        period, last = self.quotas[index].limit.period, self.last[index]
        retry, reset = round((last.retry_after or 0) * 1000), round(last.reset_after * 1000)
        closes = period - self.now % period
        turns = (retry, retry - 1, reset, reset - 1, closes, closes - 1, closes + period)
        moves = (1, period, period // 2, period // 7 + 1, retry // 2, reset // 2, 2 * period + 1)
        steps = (-1, -period, -(period // 3), -reset, -self.now % 1000, -(10**7), 10**7, LONGEST)
        kind = self.random.choices(((0,), turns, moves, steps), (8, 6, 6, 1))[0]
        self.now = min(max(0, self.now + self.random.choice(kind)), LATEST)

    def edit(self, index: int) -> None:
        """New numbers, in one place or in all; now and then another algorithm."""
        old = self.quotas[index]
        if self.random.random() < 0.1:
            self.quotas[index] = self.quota(index, self.random.choice(list(ALGORITHMS)))
            return
        (limit, period, burst), new = old.limit, self.limit(old.algorithm)
        nearer = self.random.choice((limit - 1, limit + 1, limit * 2, limit // 2))
        edits = [
            new,
            Limit(new.limit, period, burst),
            Limit(nearer, period, burst),
            Limit(limit, new.period, burst),
            Limit(limit, self.random.choice((period // 2, period - 1, 1)), burst),
            Limit(limit, period, new.burst),
            Limit(nearer, period, max(1, burst - limit + nearer)),
        ]
        edited = self.random.choice(edits)
        if old.algorithm not in BUCKETS:
            edited = edited._replace(burst=edited.limit)
        if min(edited) > 0 and fits(old.algorithm, edited):
            self.quotas[index] = self.quota(index, old.algorithm, edited)
