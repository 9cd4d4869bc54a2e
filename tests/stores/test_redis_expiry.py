"""Idle means gone, and not before: expiry on every write, by the real script and Redis's clock."""

import pytest
import redis

from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.conformance.subject import Subject, every_algorithm, quota
from ratelimit_app.stores import Quota
from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer
from tests.stores.stores import always, closing, midway, real_store

#: What PTTL says of a key that is not there.
GONE = -2


def time_of(raw: redis.Redis) -> int:
    seconds, micros = raw.time()
    return int(seconds) * 1000 + int(micros) // 1000


def seen(raw: redis.Redis, key: str) -> tuple[int, int]:
    """Redis's time in milliseconds, and PTTL of the key at that moment."""
    pipeline = raw.pipeline(transaction=True)
    pipeline.time()
    pipeline.pttl(key)
    (seconds, micros), ttl = pipeline.execute()
    return int(seconds) * 1000 + int(micros) // 1000, int(ttl)


@every_algorithm
def test_every_write_leaves_an_expiry(redis_store: RedisStore, raw: redis.Redis, algorithm: str):
    """The first, the second, those that make a log grow, and those of a full round of it."""
    subject, asked = Subject(always(redis_store)), quota(algorithm, 9, 3600)
    key = redis_store.bucket(subject.asked(asked))
    for _ in range(9):
        before = time_of(raw)
        decision = subject.take(asked)
        after, ttl = seen(raw, key)
        assert decision.allowed
        reset = round(decision.reset_after * 1000)
        assert reset - (after - before) - 1 <= ttl <= reset


@every_algorithm
@pytest.mark.parametrize("period", [50, 100])
@pytest.mark.parametrize("cost", [1, 5])
def test_never_gone_before_reset_after_and_gone_then(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str, period: int, cost: int
):
    subject, asked = Subject(always(redis_store)), quota(algorithm, 5, period / 1000)
    key = redis_store.bucket(subject.asked(asked))
    before = time_of(raw)
    reset = round(subject.take(asked, cost).reset_after * 1000)
    after = time_of(raw)
    now, ttl = seen(raw, key)
    while ttl != GONE:
        # A key is there through the millisecond that its expiry names, which may just have begun.
        assert 0 <= ttl <= reset
        assert now <= after + reset + 1
        now, ttl = seen(raw, key)
    assert now >= before + reset


@every_algorithm
def test_at_reset_after_all_is_there_again(redis_store: RedisStore, algorithm: str):
    """By the clock of Redis alone: ask until it fits, and it fits for as much as ever."""
    subject, asked = Subject(always(redis_store)), quota(algorithm, 5, 0.05)
    subject.take(asked, 5)
    while not subject.look(asked, 5).allowed:
        pass
    assert subject.look(asked, 5).remaining == 0
    assert subject.take(asked, 5).allowed


@pytest.mark.parametrize("cache", ["django-redis", "django"])
@every_algorithm
def test_the_cache_s_own_timeout_means_nothing(
    redis_server: RedisServer, raw: redis.Redis, cache: str, algorithm: str
):
    """B12: an alias with TIMEOUT 1 and one an hour; the bucket lives for what the policy says."""
    with closing(real_store(cache, redis_server.url, TIMEOUT=1)) as store:
        subject, asked = Subject(always(store)), quota(algorithm, 1, midway(3600))
        reset = subject.take(asked).reset_after
        assert reset > 1000
        key = store.bucket(subject.asked(asked))
        assert raw.pttl(key) > 1_000_000
        assert not subject.take(asked).allowed


@pytest.mark.parametrize("cache", ["django-redis", "django"])
def test_prefix_and_version_of_the_cache_stand_in_every_key(
    redis_server: RedisServer, raw: redis.Redis, cache: str
):
    with closing(real_store(cache, redis_server.url, KEY_PREFIX="shop", VERSION=7)) as store:
        subject = Subject(always(store))
        quotas: list[Quota] = [quota(name, 5, 60) for name in ALGORITHMS]
        subject.take_all(*quotas)
        keys = [store.bucket(subject.asked(each)) for each in quotas]
        assert {key.partition(":rl1:")[0] for key in keys} == {"shop:7"}
        assert raw.exists(*keys) == len(keys)
