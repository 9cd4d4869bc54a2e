"""The stores of the family, with their clock in the test's hand or as sites use them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django.core.cache import BaseCache
from django.core.cache.backends.redis import RedisCache as DjangoCache
from django_redis.cache import RedisCache as DjangoRedisCache  # type: ignore[import-untyped]

from ratelimit_app.algorithms import State
from ratelimit_app.conformance import MakeStore
from ratelimit_app.conformance.subject import Subject
from ratelimit_app.stores.base import Take
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.traced import TraceRedisStore

#: The caches that a RedisStore may stand on, by the name of their package.
CACHES: dict[str, Callable[..., BaseCache]] = {
    "django-redis": DjangoRedisCache,
    "django": DjangoCache,
}
#: Long enough for a machine that is busy with other tests.
PATIENT = 20.0

AnyRedisStore = TypeVar("AnyRedisStore", bound=RedisStore)


class ClockedRedisStore(TraceRedisStore):
    """The real script on a real Redis, by a clock that is a function, as the memory store's is."""

    def __init__(
        self, cache: BaseCache, clock: Callable[[], int] = lambda: 0, timeout: float = PATIENT
    ) -> None:
        super().__init__(cache, timeout)
        self.clock = clock

    def arguments(self, takes: Sequence[Take], words: Sequence[bytes]) -> list[Any]:
        self.now = self.clock()
        return super().arguments(takes, words)


def real_store(cache: str, url: str, timeout: float = PATIENT, **params: Any) -> RedisStore:
    return RedisStore(CACHES[cache](url, params), timeout)


@contextmanager
def closing(store: AnyRedisStore) -> Iterator[AnyRedisStore]:
    """Leaves no connection open."""
    try:
        yield store
    finally:
        store.clients.sync.connection_pool.disconnect()
        store.clients.hang_up()


def always(store: RedisStore) -> MakeStore:
    """For a `Subject` of a store that has a clock of its own."""
    return lambda _: store


def midway(seconds: int) -> int:
    """A period of so long or more, in a window that is not half over: no test sees its end."""
    now = int(time.time())
    return next(period for period in range(seconds, 2 * seconds) if now % period < period // 2)


def clocked_subject(store: ClockedRedisStore) -> Subject:
    """A subject whose clock is the store's."""

    def make(now: Callable[[], int]) -> ClockedRedisStore:
        store.clock = now
        return store

    return Subject(make)


class Memory(Subject):
    """A subject that knows what kind of store it has."""

    store: MemoryStore

    def __init__(self, most: int = 100_000) -> None:
        super().__init__(lambda now: MemoryStore(most, now))

    def state(self, take: Take) -> State | None:
        return self.store._shard(take).load(take)


def client(number: int) -> bytes:
    """Fifteen bytes like those of a digest."""
    return (number * 0x9E3779B97F4A7C15 % 2**64).to_bytes(15, "little")
