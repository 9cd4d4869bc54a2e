"""Real Sentinels: who the primary is, within the deadline, whatever hangs or moves."""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.core.cache import caches
from redis.sentinel import Sentinel

from ratelimit_app.conformance.subject import quota
from ratelimit_app.stores import Take, Unavailable
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.sentinel import Sentinels as Topology
from ratelimit_app.stores.wire import Wire
from tests.servers import RedisServer
from tests.stores.impostor import Impostor
from tests.stores.stores import PATIENT

from .conftest import hang_up
from .servers import Sentinels, until

#: Seconds. Three Sentinels and the primary, each with a time-out of its own, would take 2.4.
TIMEOUT, DEADLINE = 0.4, 1.0

TEN = quota("gcra", 10, 360_000)
TAKE = Take(TEN, b"fifteen letters")


def django_redis(name: str, addresses: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": f"redis://{name}/0",
        "OPTIONS": {
            "CLIENT_CLASS": "django_redis.client.SentinelClient",
            "CONNECTION_FACTORY": "django_redis.pool.SentinelConnectionFactory",
            "SENTINELS": addresses,
        },
    }


def django(name: str, addresses: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": f"redis://{name}/0",
        "OPTIONS": {
            "pool_class": "redis.sentinel.SentinelConnectionPool",
            "service_name": name,
            "sentinel_manager": Sentinel(addresses),
        },
    }


MakeAlias = Callable[[str, list[tuple[str, int]]], dict[str, Any]]


@pytest.fixture
def make(settings: Any, sentinels: Sentinels) -> Iterator[Callable[..., RedisStore]]:
    made: list[RedisStore] = []

    def store(
        alias: MakeAlias = django_redis, timeout: float = TIMEOUT, name: str = sentinels.name
    ) -> RedisStore:
        settings.CACHES = {"default": alias(name, sentinels.addresses)}
        made.append(RedisStore(caches["default"], timeout))
        return made[-1]

    yield store
    for each in made:
        hang_up(each)


@pytest.mark.parametrize("alias", [django_redis, django])
def test_threads_and_tasks_share_a_bucket_on_the_primary(
    make: Callable[..., RedisStore], sentinels: Sentinels, alias: MakeAlias, monkeypatch: Any
):
    store = make(alias, timeout=PATIENT)
    assert store.take([TAKE])[0].remaining == 9
    # Tasks ask by themselves, and no thread for them.
    with monkeypatch.context() as patch:
        patch.delattr(Wire, "call")
        assert asyncio.run(store.atake([TAKE]))[0].remaining == 8
    assert store.take([TAKE])[0].remaining == 7
    store.announce("edited")
    assert store.version() == "edited"
    store.beat()
    assert store.processes >= 1
    assert sentinels.primary.client().exists(store.bucket(TAKE)) == 1
    store.reset([TAKE])
    assert sentinels.primary.client().exists(store.bucket(TAKE)) == 0


def timed(store: RedisStore, way: str) -> tuple[str, float]:
    """What became of a take, and how long it took."""
    started = time.monotonic()
    try:
        asyncio.run(store.atake([TAKE])) if way == "async" else store.take([TAKE])
    except Unavailable as error:
        return error.kind, time.monotonic() - started
    return "answered", time.monotonic() - started


def answers(store: RedisStore, way: str) -> bool:
    return timed(store, way)[0] == "answered"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_sentinels_that_hang_cost_no_more_than_the_deadline(
    make: Callable[..., RedisStore], sentinels: Sentinels, way: str
):
    for hanging in (3, 1):
        store = make()
        for sentinel in sentinels.sentinels[:hanging]:
            sentinel.pause()
        calls = [timed(store, way) for _ in range(4)]
        for sentinel in sentinels.sentinels:
            sentinel.resume()
        assert max(took for _, took in calls) < DEADLINE + 0.3
        # Who hangs is asked last the next time, which is a quarter of a second later.
        until(partial(answers, store, way), 5)
        if hanging == 1:
            assert [kind for kind, _ in calls] == ["answered"] * 4


def test_a_service_that_no_sentinel_knows(make: Callable[..., RedisStore]):
    store = make(name="another")
    with pytest.raises(Unavailable, match="'another'") as raised:
        store.take([TAKE])
    assert raised.value.kind == "down"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_primary_that_became_a_replica_is_left_in_the_same_request(settings: Any, way: str):
    """It says READONLY, so nothing was written, and the Sentinel knows the new one already."""
    old, new, sentinel = RedisServer(), RedisServer(), Impostor(b"")

    def says(server: RedisServer) -> bytes:
        return f"*2\r\n$9\r\n127.0.0.1\r\n${len(str(server.port))}\r\n{server.port}\r\n".encode()

    sentinel._answer = says(old)
    settings.CACHES = {"default": django_redis("any", [("127.0.0.1", sentinel.port)])}
    store = RedisStore(caches["default"], PATIENT)
    assert timed(store, way)[0] == "answered"
    at_old = old.client()
    assert at_old.dbsize() == 1

    at_old.replicaof("127.0.0.1", new.port)
    sentinel._answer = says(new)
    assert isinstance(store.topology, Topology)
    store.topology._due._next = 0.0  # Sentinels are not asked more often than every quarter second.
    assert timed(store, way)[0] == "answered"
    assert new.client().exists(store.bucket(TAKE)) == 1
    # And nothing is left open to the old one.
    assert len(at_old.client_list(_type="normal")) == 1

    hang_up(store)
    sentinel.close()
    old.stop()
    new.stop()
