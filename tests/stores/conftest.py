"""Every store of the family, under one name; and Redis as sites use it."""

from collections.abc import Callable, Iterator

import pytest
import redis

from ratelimit_app.conformance import MakeStore
from ratelimit_app.stores import Store
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer
from tests.stores.audited import Audited
from tests.stores.stores import CACHES, ClockedRedisStore, closing, real_store


@pytest.fixture(params=["memory", *CACHES, "near"], scope="module")
def make_store(request: pytest.FixtureRequest) -> Iterator[MakeStore]:
    """Makes a store of each kind whose clock is the test's; see ratelimit_app.conformance."""
    if request.param == "memory":
        yield lambda now: MemoryStore(now=now)
        return
    server: RedisServer = request.getfixturevalue("redis_server")
    cache = CACHES.get(request.param, CACHES["django"])
    with closing(ClockedRedisStore(cache(server.url, {}))) as store:

        def make(now: Callable[[], int]) -> Store:
            store.clock = now
            return Audited(store, now) if request.param == "near" else store

        yield make


@pytest.fixture(params=list(CACHES), scope="module")
def redis_store(request: pytest.FixtureRequest, redis_server: RedisServer) -> Iterator[RedisStore]:
    """By Redis's own clock and expiry."""
    with closing(real_store(request.param, redis_server.url)) as store:
        yield store


@pytest.fixture(scope="module")
def clocked(redis_server: RedisServer) -> Iterator[ClockedRedisStore]:
    """By the test's clock, where one cache is as good as another."""
    with closing(ClockedRedisStore(CACHES["django"](redis_server.url, {}))) as store:
        yield store


@pytest.fixture
def raw(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """To look at what is in Redis."""
    with redis_server.client() as client:
        yield client
