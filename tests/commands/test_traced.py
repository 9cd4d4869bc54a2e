"""The store for traces: time is data, one call or many in a trip."""

import asyncio

import pytest
from django.core.cache import caches

from ratelimit_app.algorithms import ALGORITHMS, Limit
from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.stores.traced import TraceRedisStore


@pytest.fixture
def store(on_redis):
    store = TraceRedisStore(caches["default"], 5)
    yield store
    store.close()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_its_clock_is_set(store, algorithm):
    take = Take(Quota("p", algorithm, Limit(3, 10_000, 3), "t"), b"0123456789abcde", 2)
    memory = MemoryStore(now=lambda: store.now)
    for store.now in (1_772_359_200_000, 1_772_359_200_001, 1_772_359_207_999, 1_772_359_230_000):
        assert [each._replace(source="redis") for each in memory.take([take])] == store.take([take])


def test_many_in_one_trip_are_as_one_after_the_other(store, on_redis):
    quota = Quota("p", "gcra", Limit(3, 10_000, 3), "t")
    moments = [(1000 + 700 * n, Take(quota, bytes([n % 3] * 15), 1 + n % 2)) for n in range(40)]
    together = store.take_each(moments)
    store.forget([take for _, take in moments])
    assert on_redis.dbsize() == 0
    single = []
    for store.now, take in moments:
        single += store.take([take])
    assert single == together


def test_async_has_the_same_clock(store):
    take = Take(Quota("p", "fixed_window", Limit(1, 1_000, 1), "t"), b"0123456789abcde")

    async def both() -> list[bool]:
        allowed = []
        for store.now in (5_000, 5_999, 6_000):
            allowed.append((await store.atake([take]))[0].allowed)
        await store.clients.here().hang_up()
        return allowed

    assert asyncio.run(both()) == [True, False, True]
