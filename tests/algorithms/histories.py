"""Plain random histories on both twins, many steps in one trip: what the mutants are tried against.

The machine in `twins` searches better and tells failures in few steps; this is a hundred times
faster, and looks at the expiry too.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS, EXACT, NEVER, Decision, Limit
from ratelimit_app.algorithms.sliding_window_log import LONGEST
from ratelimit_app.conformance.subject import MIDNIGHT
from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.stores.script import asked
from ratelimit_app.stores.traced import TraceRedisStore
from tests.algorithms.numbers import LATEST, decoded, fits, largest

#: A millisecond of expiry lasts so many real ones: what is left of it then tells what was set.
SLOWLY = 2**18
#: Redis does not take more, that slowly.
LONGEST_LIFE = 2**43


class SlowRedisStore(TraceRedisStore):
    """The clock is the trace's; expiry is so slow that nothing goes, and that it can be read."""

    seam = f"""
    local function clock() return tonumber(ARGV[#ARGV]) end
    local function lifetime(ms) return math.min(ms, {LONGEST_LIFE}) * {SLOWLY} end
    """


class Step(NamedTuple):
    """A call of the store, and what Python makes of it: decisions, states, and what it wrote."""

    now: int
    takes: list[Take]
    spend: bool
    decisions: list[Decision]
    states: list[Any]
    written: list[bool]


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
                yield Step(self.now, [Take(self.quotas[0], self.identity, -1)], True, [], [], [])
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
        return Step(self.now, takes, spend, decisions, states, written)

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


def tell(redis: SlowRedisStore, algorithm: str, seed: int, count: int) -> None:
    """One history on Python, then on Lua in one trip; the same answers, states and expiry."""
    told = list(History(algorithm, seed).steps(count))
    commands: list[list[Any]] = [["SCRIPT", "LOAD", redis._script.text]]
    for step in told:
        keys, redis.now = [redis.bucket(take) for take in step.takes], step.now
        if not step.decisions:
            commands += [["DEL", key] for key in keys]
            continue
        called = redis.arguments(step.takes, asked(step.takes, step.spend))
        commands.append(["EVALSHA", redis._script.sha, *called])
        commands += [[name, key] for key in keys for name in ("GET", "PTTL")]
    replies = iter(redis._batch(commands))
    next(replies)
    for step in told:
        answer = next(replies)
        if step.decisions:
            _compare(redis, step, answer, [next(replies) for _ in range(2 * len(step.takes))])


def _compare(redis: SlowRedisStore, step: Step, answer: Any, kept: list[Any]) -> None:
    decisions = redis._decisions(step.takes, answer)
    assert [each._replace(source="memory") for each in decisions] == step.decisions, step
    for at, (take, state) in enumerate(zip(step.takes, step.states, strict=True)):
        name, value, left = take.quota.algorithm, *kept[2 * at : 2 * at + 2]
        assert step.decisions[at].retry_after is not None or answer[4 * at + 2] == NEVER, step
        assert decoded(name, value) == state, step
        if state is None:
            continue
        assert left > 0, step
        if step.written[at]:
            # To the millisecond; as seconds the longest ones are rounded.
            reset = answer[4 * at + 3]
            assert -(left // -SLOWLY) == min(max(1, reset), LONGEST_LIFE), step
            ends = take.quota.twin.expires(state, take.quota.limit)
            if name == "sliding_window_counter":
                # It may be like new before its second window ends.
                assert ends >= step.now + reset, step
                reset = (
                    state[0] // take.quota.limit.period + 2
                ) * take.quota.limit.period - step.now
            assert ends == step.now + reset, step
