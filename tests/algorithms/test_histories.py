"""Lua is Python over long plain histories, to the expiry that each write sets."""

from collections.abc import Iterator

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.algorithms import ALGORITHMS
from tests.algorithms.telling import SlowRedisStore, tell
from tests.servers import RedisServer


@pytest.fixture(scope="module")
def redis(redis_server: RedisServer) -> Iterator[SlowRedisStore]:
    store = SlowRedisStore(RedisCache(redis_server.url, {}), 20.0)
    yield store
    store.close()


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_histories(redis: SlowRedisStore, algorithm: str):
    for seed in range(100):
        tell(redis, algorithm, seed, 60)
