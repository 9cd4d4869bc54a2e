"""Every bucket in Redis expires, by its own numbers, whatever the cache or anybody else says."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.algorithms import ALGORITHMS, Limit
from ratelimit_app.stores.base import Quota, Take
from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer


def taken(algorithm: str, period: int = 3600) -> Take:
    limit = Limit(3, period * 1000, 3)
    return Take(Quota("p", algorithm, limit, f"expiry.{algorithm}"), os.urandom(15))


@pytest.fixture
def client(redis_server: RedisServer) -> Any:
    return redis_server.client()


@pytest.fixture(params=[{}, {"TIMEOUT": 1}], ids=["timeout-300", "timeout-1"])
def store(request: pytest.FixtureRequest, redis_server: RedisServer) -> Iterator[RedisStore]:
    made = RedisStore(RedisCache(redis_server.url, request.param), timeout=20)
    yield made
    made.clients.sync.connection_pool.disconnect()
    made.clients.hang_up()


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_an_admission_expires_with_its_reset_and_not_with_the_cache(
    store: RedisStore, client: Any, algorithm: str
):
    """B12: a time-out of the alias, of a second or of Django's five minutes, ends no window."""
    take = taken(algorithm, 30 * 86_400)
    for _ in range(3):
        (decision,) = store.take([take])
        left = client.pttl(store.bucket(take))
        assert decision.allowed
        # All but the moment that passed between the two questions.
        assert decision.reset_after - 20 < left / 1000 <= decision.reset_after


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_a_bucket_without_expiry_gets_one_with_the_next_answer(
    store: RedisStore, client: Any, algorithm: str
):
    """B11: as if a process had died between two commands, or somebody had taken it off."""
    take = taken(algorithm)
    key = store.bucket(take)
    answers = []
    for _ in range(5):
        (decision,) = store.take([take])
        answers.append(decision.allowed)
        assert 0 < client.pttl(key) <= round(decision.reset_after * 1000)
        assert client.persist(key)
    store.reset([take])
    assert answers[:3] == [True] * 3
