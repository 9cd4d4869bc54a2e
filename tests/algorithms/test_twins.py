"""Lua is Python: an algorithm and its twin answer alike and keep the same state, come what may."""

from collections.abc import Iterator

import pytest
from django.core.cache.backends.redis import RedisCache
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.stores.traced import TraceRedisStore
from tests.algorithms.twins import machine
from tests.servers import RedisServer


@pytest.fixture(scope="module")
def redis(redis_server: RedisServer) -> Iterator[TraceRedisStore]:
    store = TraceRedisStore(RedisCache(redis_server.url, {}), 20.0)
    yield store
    store.close()


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_lua_is_python(redis: TraceRedisStore, redis_server: RedisServer, algorithm: str):
    """500 histories of 100 steps; `make fuzz` goes on from there."""
    with redis_server.client() as raw:
        run_state_machine_as_test(
            machine(algorithm, redis, raw),
            settings=settings(
                max_examples=500, stateful_step_count=100, derandomize=True, deadline=None
            ),
        )
