"""A Redis whose own clock steps while it runs."""

from collections.abc import Callable, Iterator

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.conformance import MakeStore
from ratelimit_app.stores import Store
from tests.servers import RedisServer

from .shifted import Clock, ShiftedRedisStore


@pytest.fixture(scope="module")
def redis_clock(tmp_path_factory: pytest.TempPathFactory) -> Clock:
    return Clock(tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="module")
def shifted_redis(redis_clock: Clock) -> Iterator[RedisServer]:
    with pytest.MonkeyPatch.context() as patch:
        # Only for what is started here; this process has its libraries already.
        for name, value in redis_clock.env.items():
            patch.setenv(name, value)
        server = RedisServer()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def shifted_store(shifted_redis: RedisServer, redis_clock: Clock) -> Iterator[ShiftedRedisStore]:
    store = ShiftedRedisStore(RedisCache(shifted_redis.url, {}), redis_clock)
    yield store
    store.clients.sync.connection_pool.disconnect()
    store.clients.hang_up()


@pytest.fixture
def make_store(shifted_store: ShiftedRedisStore) -> MakeStore:
    """For the public suite; see ratelimit_app.conformance."""

    def make(now: Callable[[], int]) -> Store:
        shifted_store.now = now
        return shifted_store

    return make
