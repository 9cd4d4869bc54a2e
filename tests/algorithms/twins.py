"""The machine that proves Lua equal to Python: one history, two stores, equal to the last bit."""

import struct
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS, Decision, Limit
from ratelimit_app.algorithms.sliding_window_log import LONGEST
from ratelimit_app.conformance.subject import MIDNIGHT
from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.stores.traced import TraceRedisStore
from tests.algorithms.numbers import LATEST, decoded, fits, limits

POLICIES = range(3)
NAMES = st.sampled_from(list(ALGORITHMS))
#: Which of the costs and moves below; of three costs, each is a digit. Few draws make it fast.
COST, COSTS, MOVES = st.integers(0, 9), st.integers(0, 999), st.integers(0, 28)
ORDERS = st.sampled_from([(0, 1), (1, 0), (2, 0), (1, 2), (0, 1, 2), (2, 1, 0), (1, 2, 0)])


class Twins(RuleBasedStateMachine):
    """Three policies of one client, of which the first begins with `algorithm`."""

    algorithm: ClassVar[str]
    redis: ClassVar[TraceRedisStore]
    raw: ClassVar[Any]
    count: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        Twins.count += 1
        self.identity = struct.pack(">QQ", 0, Twins.count)[1:]
        self.memory = MemoryStore(now=lambda: self.now)
        self.now = MIDNIGHT
        self.quotas: list[Quota] = []
        self.last = [Decision(True, 1, 1, 0, 0)] * 3
        self.spent: list[tuple[list[Take], int, list[Decision]]] = []

    @initialize(data=st.data(), others=st.tuples(NAMES, NAMES), shadow=st.integers(0, 7))
    def policies(self, data: st.DataObject, others: tuple[str, str], shadow: int) -> None:
        for index, name in enumerate((self.algorithm, *others)):
            self.quotas.append(
                self.quota(index, name, data.draw(limits(name)), bool(shadow >> index & 1))
            )

    def quota(self, index: int, name: str, limit: Limit, shadow: bool) -> Quota:
        return Quota(f"policy {index}", name, limit, f"{index}.{name}", shadow)

    @rule(index=st.sampled_from(POLICIES), cost=COST, passed=MOVES)
    def take_one(self, index: int, cost: int, passed: int) -> None:
        self.take([(index, cost)], passed, spend=True)

    @rule(cost=COST, passed=MOVES)
    def take_of_the_first(self, cost: int, passed: int) -> None:
        self.take([(0, cost)], passed, spend=True)

    @rule(order=ORDERS, costs=COSTS, passed=MOVES)
    def take_several(self, order: tuple[int, ...], costs: int, passed: int) -> None:
        self.take([(index, costs // 10**index % 10) for index in order], passed, spend=True)

    @rule(costs=COSTS, passed=MOVES)
    def look(self, costs: int, passed: int) -> None:
        asked = [(index, costs // 10**index % 10) for index in POLICIES]
        self.take(asked, passed, spend=False)

    def take(self, asked: list[tuple[int, int]], passed: int, spend: bool) -> None:
        """Some time passes, and some of the buckets are asked."""
        self.pass_by(asked[0][0], passed)
        takes = [
            Take(self.quotas[index], self.identity, self.cost(index, kind)) for index, kind in asked
        ]
        self.redis.now = self.now
        in_memory = self.memory.take(takes, spend=spend)
        in_redis = [each._replace(source="memory") for each in self.redis.take(takes, spend=spend)]
        assert in_memory == in_redis, (takes, self.now)
        for (index, _), decision in zip(asked, in_memory, strict=True):
            self.last[index] = decision
        if spend and all(each.allowed for each in in_memory):
            self.spent = [*self.spent[-2:], (takes, self.now, in_memory)]
        self.compare(takes)

    @precondition(lambda self: self.spent)
    @rule(which=st.integers(0, 2), known=st.booleans(), passed=MOVES)
    def give(self, which: int, known: bool, passed: int) -> None:
        """What was taken is given back, maybe once more; `known` is when, and what was said."""
        takes, since, decisions = self.spent[which % len(self.spent)]
        self.pass_by(0, passed)
        self.redis.now = self.now
        for store in (self.memory, self.redis):
            if known:
                store.give(takes, since, decisions)
            else:
                store.give(takes)
        self.compare(takes)

    def compare(self, takes: list[Take]) -> None:
        """The same states in both."""
        values = self.raw.mget([self.redis.bucket(take) for take in takes])
        for take, value in zip(takes, values, strict=True):
            state = self.memory._shard(take).load(take)
            assert state == decoded(take.quota.algorithm, value), (take, self.now)

    def cost(self, index: int, kind: int) -> int:
        """Costs where an answer turns."""
        capacity, left = self.quotas[index].limit.burst, self.last[index].remaining or 0
        some = (0, 1, 2, left - 1, left, left + 1)
        return max(0, (*some, capacity, capacity + 1, capacity // 3, capacity * 2 // 3)[kind])

    def pass_by(self, index: int, kind: int) -> None:
        """Moments at which an answer turns, and steps of the clock."""
        period, last = self.quotas[index].limit.period, self.last[index]
        retry, reset = round((last.retry_after or 0) * 1000), round(last.reset_after * 1000)
        closes = period - self.now % period
        forward = (1, retry, retry - 1, retry // 2, reset, reset - 1, reset // 2)
        windows = (closes, closes - 1, period, period // 2, period // 7 + 1, 2 * period + 1)
        back = (-1, -period, -(period // 3), -reset, -3_600_000)
        moves = (*[0] * 8, *forward, *windows, *back, 3 * period, 3_600_000, LONGEST)
        self.now = min(max(0, self.now + moves[kind]), LATEST)

    @rule(data=st.data(), index=st.sampled_from(POLICIES), kind=st.integers(0, 7))
    def edit(self, data: st.DataObject, index: int, kind: int) -> None:
        """New numbers, in one place or in all; now and then another algorithm."""
        old = self.quotas[index]
        if kind == 0:
            name = data.draw(NAMES)
            self.quotas[index] = self.quota(index, name, data.draw(limits(name)), old.shadow)
            return
        new, (limit, period, burst) = data.draw(limits(old.algorithm)), old.limit
        edited = (
            Limit(new.limit, period, burst),
            Limit(limit, new.period, burst),
            Limit(limit, period, new.burst),
            Limit(limit * 2, period, burst * 2),
            Limit(limit, period * 2, burst),
            new,
            new,
        )[kind - 1]
        if old.algorithm not in BUCKETS:
            edited = edited._replace(burst=edited.limit)
        if fits(old.algorithm, edited):
            self.quotas[index] = self.quota(index, old.algorithm, edited, old.shadow)

    @rule(index=st.integers(0, 3))
    def lose(self, index: int) -> None:
        """A bucket is gone: evicted or reset. Or the script is, as when Redis restarts."""
        if index == 3:
            self.raw.script_flush()
            return
        takes = [Take(self.quotas[index], self.identity)]
        self.memory.reset(takes)
        self.redis.reset(takes)


def machine(algorithm: str, redis: TraceRedisStore, raw: Any) -> type[Twins]:
    """The machine whose first policy has this algorithm; the other two have any."""
    return type("Twins", (Twins,), {"algorithm": algorithm, "redis": redis, "raw": raw})
