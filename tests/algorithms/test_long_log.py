"""The sliding log where its numbers are wide: a long ring far on its way, and totals that wrap."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.algorithms import Limit
from ratelimit_app.conformance.subject import MIDNIGHT
from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.memory import MemoryStore
from tests.algorithms.telling import SlowRedisStore
from tests.servers import RedisServer


@pytest.fixture(scope="module")
def redis(redis_server: RedisServer) -> Iterator[SlowRedisStore]:
    store = SlowRedisStore(RedisCache(redis_server.url, {}), 20.0)
    yield store
    store.close()


HOUR, MOST = 3_600_000, 70_000
IDENTITY = b"fifteen letters"


def long_log(head: int, count: int = 69_000) -> bytearray:
    """Entries of one unit, two milliseconds apart, in a ring of 70,000 that begins at `head`; the
    newest is from MIDNIGHT. 68,000 units came before and are forgotten."""
    entries, base = [bytes(8)] * MOST, 68_000
    for index in range(count):
        at = (MIDNIGHT - 2 * (count - 1 - index)) % 2**40
        entries[(head + index) % MOST] = at.to_bytes(5, "big") + (base + index + 1).to_bytes(
            3, "big"
        )
    small = b"".join(each.to_bytes(3, "big") for each in (MOST, head, count, base))
    return bytearray(MIDNIGHT.to_bytes(6, "big") + small + b"".join(entries))


class Both:
    """A log in memory and in Redis, asked alike."""

    def __init__(self, redis: SlowRedisStore, limit: int, state: bytearray | None = None) -> None:
        self.now, self.redis = MIDNIGHT, redis
        self.memory = MemoryStore(now=lambda: self.now)
        numbers = Limit(limit, HOUR, limit)
        self.take = Take(Quota("log", "sliding_window_log", numbers, "log"), IDENTITY)
        redis.reset([self.take])
        if state is not None:
            redis.clients.wire.call("SET", redis.bucket(self.take), bytes(state), "PX", HOUR)
            self.memory._shard(self.take).save(self.take, state)

    def ask(self, cost: int) -> Any:
        self.redis.now, takes = self.now, [self.take._replace(cost=cost)]
        (decision,) = self.memory.take(takes)
        (same,) = self.redis.take(takes)
        assert same._replace(source="memory") == decision
        self.compare()
        return decision

    def give(self, cost: int, since: int | None = None) -> None:
        self.redis.now, takes = self.now, [self.take._replace(cost=cost)]
        self.memory.give(takes, since)
        self.redis.give(takes, since)
        self.compare()

    def compare(self) -> None:
        state = self.memory._shard(self.take).load(self.take)
        assert self.redis.clients.wire.call("GET", self.redis.bucket(self.take)) == state


@pytest.mark.parametrize("head", [0, 66_000, 69_999])
def test_a_long_log_goes_on(redis: SlowRedisStore, head: int):
    both = Both(redis, MOST, long_log(head))
    assert both.ask(400).remaining == 600
    refused = both.ask(700)
    # The first hundred entries must be older than an hour: two milliseconds apart, and closed.
    oldest = MIDNIGHT - 2 * 68_999
    assert (refused.allowed, refused.remaining) == (False, 600)
    assert round(refused.retry_after * 1000) == oldest + 2 * 99 + HOUR + 1 - MIDNIGHT
    both.now += round(refused.retry_after * 1000)
    assert both.ask(700).remaining == 0
    # Half of the entries are over.
    both.now = oldest + HOUR + 69_000
    assert both.ask(1).remaining == MOST - 34_500 - 400 - 700 - 1


# The second ring ends among the entries that move, the third at the first of them.
@pytest.mark.parametrize("head", [0, 1500, 1998, 2000])
@pytest.mark.parametrize(("units", "gone"), [(1, 1), (3, 3)])
def test_of_a_long_log_old_entries_are_given_back(
    redis: SlowRedisStore, head: int, units: int, gone: int
):
    """They are 1,000 entries before the newest, which all move up."""
    both, since = Both(redis, MOST, long_log(head)), MIDNIGHT - 2000
    both.give(units, since)
    assert both.ask(0).remaining == 1000 + units
    state = both.memory._shard(both.take).load(both.take)
    assert state is not None
    assert int.from_bytes(state[12:15], "big") == 69_000 - gone
    # By hand the newest goes; then a log whose newest are gone ends earlier.
    before = both.ask(0).reset_after
    both.give(2)
    assert both.ask(0).remaining == 1000 + units + 2
    assert round((before - both.ask(0).reset_after) * 1000) == 4
    # All that is left came before `since`, and none of it stays.
    both.give(10**6)
    assert both.ask(0).remaining == MOST


@pytest.mark.parametrize("head", [0, 66_000])
@pytest.mark.parametrize(("limit", "capacity"), [(200_000, 140_000), (100_000, 100_000)])
def test_a_long_log_grows(redis: SlowRedisStore, limit: int, capacity: int, head: int):
    """The ring is full, and the limit was raised: it doubles, up to the limit."""
    both = Both(redis, limit, long_log(head, MOST))
    both.now += 1
    assert both.ask(1).remaining == limit - MOST - 1
    grown = both.memory._shard(both.take).load(both.take)
    assert grown is not None
    assert int.from_bytes(grown[6:9], "big") == capacity
    assert len(grown) == 18 + 8 * capacity


def test_a_total_that_wraps_is_no_fresh_start(redis: SlowRedisStore):
    """40 million units, a million an hour at most: the running total wraps at 2**24 twice."""
    both, spent = Both(redis, 1_000_000), random.Random(1)
    for _ in range(100):
        # The one before is still there when this one comes.
        both.now += HOUR - 1
        cost = spent.randint(300_000, 500_000)
        left = both.ask(0).remaining
        assert left >= 500_000
        assert both.ask(cost).remaining == left - cost
        both.give(1000, both.now)
        assert both.ask(0).remaining == left - cost + 1000
