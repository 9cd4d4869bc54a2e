"""What a bucket costs in Redis: bytes of memory, and commands of the script."""

import math
from dataclasses import replace

import pytest
import redis

from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.conformance.subject import MIDNIGHT, Subject, quota
from ratelimit_app.digests import tag
from ratelimit_app.stores import Quota
from ratelimit_app.stores.base import text
from tests.stores.stores import ClockedRedisStore, clocked_subject

LOG = "sliding_window_log"


def size(raw: redis.Redis, key: str) -> int:
    """Bytes of key, value and expiry, with Django's usual prefix in the key."""
    return int(raw.memory_usage(key, samples=0) or 0)


def tagged(asked: Quota) -> Quota:
    """With a tag as policies have it, of twelve characters."""
    return replace(asked, tag=text(tag("row", asked.policy, asked.algorithm)))


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != LOG])
def test_bytes_a_key(clocked: ClockedRedisStore, raw: redis.Redis, algorithm: str):
    """At limits that use the whole width of a state, and whatever is spent."""
    for limit, seconds in ((10, 60), (7, 10), (28_561, 315_360_000), (9_007_199, 0.999)):
        subject, asked = clocked_subject(clocked), tagged(quota(algorithm, limit, seconds))
        for cost in (1, limit // 2, 1):
            assert subject.take(asked, cost).allowed
            assert size(raw, clocked.bucket(subject.asked(asked))) <= 120
            subject.wait(0.001)


def test_bytes_of_gcra_at_a_whole_millisecond(clocked: ClockedRedisStore, raw: redis.Redis):
    """An instant without a fraction is an integer to Redis: the smallest value there is."""
    subject, asked = clocked_subject(clocked), tagged(quota("gcra", 10, 60))
    subject.take(asked, 3)
    key = clocked.bucket(subject.asked(asked))
    assert int(raw.get(key) or 0) == MIDNIGHT + 18_000
    assert raw.object("encoding", key) == b"int"
    assert size(raw, key) <= 88


@pytest.mark.parametrize(("entries", "most"), [(3, 250), (1000, 9000)])
def test_bytes_of_a_log(clocked: ClockedRedisStore, raw: redis.Redis, entries: int, most: int):
    subject, asked = clocked_subject(clocked), tagged(quota(LOG, 1000, 3600))
    for _ in range(entries):
        assert subject.take(asked).allowed
        subject.wait(0.001)
    assert size(raw, clocked.bucket(subject.asked(asked))) <= most


def test_bytes_of_a_log_do_not_grow_with_its_age(clocked: ClockedRedisStore, raw: redis.Redis):
    """A ring: ten thousand entries come and go through a hundred places."""
    subject, asked = clocked_subject(clocked), quota(LOG, 100, 1)
    key, sizes = clocked.bucket(subject.asked(asked)), set()
    for _ in range(2000):
        subject.wait(0.011)
        assert subject.take(asked).allowed
        sizes.add(size(raw, key))
    assert max(sizes) <= 1000


def full_log(clocked: ClockedRedisStore, limit: int) -> tuple[Subject, list[int]]:
    """A client whose log is full, each entry at a time of its own, and the costs of some takes."""
    subject, asked = clocked_subject(clocked), quota(LOG, limit, 3600)
    clocked.take_each([(MIDNIGHT + at, subject.asked(asked)) for at in range(limit)])
    subject.wait(limit / 1000)
    return subject, [0, 1, 2, limit // 2, limit]


def reads(raw: redis.Redis) -> int:
    return int(raw.info("commandstats").get("cmdstat_getrange", {"calls": 0})["calls"])


@pytest.mark.parametrize("limit", [10, 100, 1000, 10_000])
def test_a_long_log_is_read_in_few_places(clocked: ClockedRedisStore, raw: redis.Redis, limit: int):
    """The script's time grows with the logarithm of the limit: refused, admitted, or looked at."""
    subject, costs = full_log(clocked, limit)
    asked = quota(LOG, limit, 3600)
    most = 2 * math.ceil(math.log2(limit)) + 8
    for cost in costs:
        for seconds in (0, 3599.999, 0.002, -3600 + 1):
            subject.wait(seconds)
            before = reads(raw)
            subject.take(asked, cost)
            assert reads(raw) - before <= most, (cost, seconds, reads(raw) - before)


def test_a_log_that_grows_is_copied_and_not_read(clocked: ClockedRedisStore, raw: redis.Redis):
    """From nothing to two thousand entries: no call stands out, although nine rewrite the log."""
    subject, asked = clocked_subject(clocked), quota(LOG, 2000, 3600)
    most, before = 2 * math.ceil(math.log2(2000)) + 8, reads(raw)
    for _ in range(2000):
        assert subject.take(asked).allowed
        after = reads(raw)
        assert after - before <= most
        before = after
        subject.wait(0.001)


def test_one_call_is_one_trip_and_one_command(clocked: ClockedRedisStore, raw: redis.Redis):
    """Three policies or one: EVALSHA, and within it a read and a write for each bucket."""
    subject = clocked_subject(clocked)
    quotas = [quota(name, 5, 60) for name in ("gcra", "fixed_window", "token_bucket")]
    subject.take_all(*quotas)
    raw.config_resetstat()
    subject.take_all(*quotas)
    stats = {name: each["calls"] for name, each in raw.info("commandstats").items()}
    stats.pop("cmdstat_config|resetstat", None)
    assert stats == {"cmdstat_evalsha": 1, "cmdstat_get": 3, "cmdstat_set": 3}
