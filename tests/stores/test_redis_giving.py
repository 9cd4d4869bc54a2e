"""Giving back in Redis: what is written and for how long, what it costs, and since when."""

import asyncio
import math

import pytest
import redis
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS
from ratelimit_app.conformance.subject import MIDNIGHT, Subject, every_algorithm, quota
from ratelimit_app.stores import Unavailable
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.script import asked
from ratelimit_app.stores.traced import TraceRedisStore
from tests.servers import RedisServer
from tests.stores.stores import PATIENT, ClockedRedisStore, always
from tests.stores.test_redis_budget import LOG, full_log, reads
from tests.stores.test_redis_writes import FOREIGN, changes


@every_algorithm
def test_a_bucket_of_which_all_is_given_back_is_gone(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str
):
    subject, ten = Subject(always(redis_store)), quota(algorithm, 10, 360_000)
    key = redis_store.bucket(subject.asked(ten))
    subject.take(ten, 3)
    redis_store.give([subject.asked(ten, 2)])
    assert raw.exists(key)
    redis_store.give([subject.asked(ten, 1)])
    assert not raw.exists(key)


@every_algorithm
def test_where_there_is_no_bucket_none_is_made(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str
):
    subject, ten = Subject(always(redis_store)), quota(algorithm, 10, 360_000)
    before = changes(raw)
    redis_store.give([subject.asked(ten, 2)])
    assert changes(raw) == before
    assert not raw.exists(redis_store.bucket(subject.asked(ten)))


@every_algorithm
def test_what_stays_expires_when_it_is_like_new(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str
):
    """Even where somebody took the expiry off."""
    subject, ten = Subject(always(redis_store)), quota(algorithm, 10, 80_000_000)
    key = redis_store.bucket(subject.asked(ten))
    subject.take(ten, 6)
    raw.persist(key)
    redis_store.give([subject.asked(ten, 2)])
    left = raw.pttl(key)
    reset = subject.look(ten).reset_after * 1000
    # Whatever passed in between is gone from it; a minute is more than a test takes.
    assert 0 <= left - reset < 60_000


class SlowRedisStore(TraceRedisStore):
    """A millisecond of expiry lasts for 100 s, so that it can be told from its parts."""

    seam = """
    local function clock() return tonumber(ARGV[#ARGV]) end
    local function lifetime(ms) return ms * 100000 end
    """


@pytest.mark.parametrize("algorithm", sorted(BUCKETS))
def test_a_part_of_a_millisecond_is_not_cut_from_the_expiry(
    redis_server: RedisServer, raw: redis.Redis, algorithm: str
):
    """Two units of seven a second: 285.7 ms, and so 286."""
    store = SlowRedisStore(RedisCache(redis_server.url, {}), PATIENT, MIDNIGHT)
    subject, seven = Subject(always(store)), quota(algorithm, 7, 1)
    asked_for = subject.asked(seven)
    store.take([asked_for._replace(cost=3)])
    store.give([asked_for])
    left = raw.pttl(store.bucket(asked_for))
    store.close()
    assert 28_580_000 < left <= 28_600_000


def test_one_call_is_one_trip(redis_store: RedisStore, raw: redis.Redis):
    """A read and a write for each bucket, within one EVALSHA."""
    subject = Subject(always(redis_store))
    quotas = [quota(name, 5, 360_000) for name in ("gcra", "fixed_window", "token_bucket")]
    subject.take_all(*quotas, cost=2)
    takes = [subject.asked(each) for each in quotas]
    redis_store.give(takes)
    subject.take_all(*quotas)
    raw.config_resetstat()
    redis_store.give(takes)
    stats = {name: each["calls"] for name, each in raw.info("commandstats").items()}
    stats.pop("cmdstat_config|resetstat", None)
    stats.pop("cmdstat_time")
    assert stats == {"cmdstat_evalsha": 1, "cmdstat_get": 3, "cmdstat_set": 3}


def test_of_nothing_there_is_no_trip(redis_store: RedisStore, raw: redis.Redis):
    subject = Subject(always(redis_store))
    raw.config_resetstat()
    redis_store.give([])
    redis_store.give([subject.asked(quota("gcra", 5, 60), 0)])
    asyncio.run(redis_store.agive([]))
    assert "cmdstat_evalsha" not in raw.info("commandstats")


@every_algorithm
@pytest.mark.parametrize("in_loop", [False, True], ids=["sync", "async"])
def test_the_script_may_be_forgotten(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str, in_loop: bool
):
    """SCRIPT FLUSH between two calls: two units are given back, and no more."""
    subject, ten = Subject(always(redis_store)), quota(algorithm, 10, 360_000)
    subject.take(ten, 6)
    for _ in range(2):
        raw.script_flush()
        if in_loop:
            asyncio.run(redis_store.agive([subject.asked(ten)]))
        else:
            redis_store.give([subject.asked(ten)])
    assert subject.look(ten).remaining == 6


@pytest.mark.parametrize(
    ("algorithm", "value"), [(name, value) for name in ALGORITHMS for value in FOREIGN]
)
def test_a_value_that_is_not_ours_does_no_harm(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str, value: bytes
):
    subject, three = Subject(always(redis_store)), quota(algorithm, 3, 0.1)
    raw.set(redis_store.bucket(subject.asked(three)), value)
    redis_store.give([subject.asked(three)])
    assert subject.take(three, 0).remaining in range(4)


def test_a_key_of_another_type_is_told(redis_store: RedisStore, raw: redis.Redis):
    subject, ten = Subject(always(redis_store)), quota("gcra", 10, 3600)
    raw.lpush(redis_store.bucket(subject.asked(ten)), "a list")
    with pytest.raises(Unavailable) as raised:
        redis_store.give([subject.asked(ten)])
    assert raised.value.kind == "type"


def test_a_reply_tells_when(redis_store: RedisStore, raw: redis.Redis):
    """To the millisecond, by Redis's own clock: the `since` of a give-back."""

    def now() -> int:
        seconds, micro = raw.time()
        return int(seconds) * 1000 + int(micro) // 1000

    subject, ten = Subject(always(redis_store)), quota("gcra", 10, 3600)
    takes = [subject.asked(ten)]
    before = now()
    arguments = redis_store.arguments(takes, asked(takes, spend=True))
    reply = redis_store.clients.wire.call("EVAL", redis_store.taking.text, *arguments)
    assert before <= reply[-1] <= now()


@pytest.mark.parametrize("limit", [10, 100, 1000, 10_000])
def test_of_a_long_log_little_is_read(clocked: ClockedRedisStore, raw: redis.Redis, limit: int):
    """The script's time grows with the logarithm of the limit, and with what came after."""
    subject, _ = full_log(clocked, limit)
    take, most = subject.asked(quota(LOG, limit, 3600)), 3 * math.ceil(math.log2(limit)) + 12
    for later in (0, 1, 5):
        before = reads(raw)
        clocked.give([take], MIDNIGHT + limit - 1 - 2 * later)
        assert reads(raw) - before <= most + 2 * later
