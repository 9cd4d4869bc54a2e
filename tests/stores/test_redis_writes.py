"""What is written, and what is not: refusals, looks, mending, and keys that others have touched."""

import pytest
import redis

from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.conformance.subject import Subject, every_algorithm, quota
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.script import CODES
from tests.stores.stores import ClockedRedisStore, always, clocked_subject

#: What PTTL says of a key without expiry.
FOREVER = -1


def changes(raw: redis.Redis) -> int:
    """How many writes Redis has counted."""
    return int(raw.info("persistence")["rdb_changes_since_last_save"])


@every_algorithm
def test_a_refusal_writes_nothing(clocked: ClockedRedisStore, raw: redis.Redis, algorithm: str):
    subject, three = clocked_subject(clocked), quota(algorithm, 3, 60)
    subject.take(three, 3)
    before = changes(raw)
    for _ in range(50):
        assert not subject.take(three).allowed
        assert not subject.take(three, 4).allowed
        subject.wait(0.1)
    assert changes(raw) == before


@every_algorithm
def test_looks_and_zeros_write_nothing(
    clocked: ClockedRedisStore, raw: redis.Redis, algorithm: str
):
    subject, three = clocked_subject(clocked), quota(algorithm, 3, 60)
    before = changes(raw)
    for spent in (0, 2, 1):
        subject.take(three, spent)
        before += spent and changes(raw) - before
        for cost in range(5):
            subject.look(three, cost)
            subject.take(three, 0)
        assert changes(raw) == before


@every_algorithm
def test_a_call_that_one_bucket_refuses_writes_nothing(
    clocked: ClockedRedisStore, raw: redis.Redis, algorithm: str
):
    subject = clocked_subject(clocked)
    quotas = [quota(name, 5, 60, policy="free") for name in ALGORITHMS]
    one = quota(algorithm, 1, 60, policy="one")
    subject.take(one)
    before = changes(raw)
    for _ in range(10):
        decisions = subject.take_all(*quotas, one)
        assert [each.allowed for each in decisions] == [True] * 6 + [False]
    assert changes(raw) == before


@every_algorithm
def test_a_refusal_mends_a_bucket_from_the_future_once(
    clocked: ClockedRedisStore, raw: redis.Redis, algorithm: str
):
    subject, three = clocked_subject(clocked), quota(algorithm, 3, 60)
    subject.take(three, 3)
    subject.wait(-3600)
    before = changes(raw)
    assert not subject.take(three).allowed
    mended = changes(raw)
    assert mended > before
    for _ in range(10):
        assert not subject.take(three).allowed
    assert changes(raw) == mended


@every_algorithm
def test_a_bucket_found_without_expiry_heals(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str
):
    """B11: a full bucket that would have stayed for ever admits again within its reset_after."""
    subject, three = Subject(always(redis_store)), quota(algorithm, 3, 0.1)
    key = redis_store.bucket(subject.asked(three))
    while True:
        subject.take(three, 3)
        if raw.persist(key):
            refused = subject.take(three, 3)
            if not refused.allowed:
                break
    assert FOREVER < raw.pttl(key) <= round(refused.reset_after * 1000) or not raw.exists(key)
    while raw.exists(key):
        pass
    assert subject.take(three, 3).allowed


@every_algorithm
def test_an_admission_gives_a_bucket_its_expiry_back(
    clocked: ClockedRedisStore, raw: redis.Redis, algorithm: str
):
    subject, three = clocked_subject(clocked), quota(algorithm, 3, 60)
    key = clocked.bucket(subject.asked(three))
    for _ in range(3):
        assert subject.take(three).allowed
        assert raw.pttl(key) > 0
        raw.persist(key)


#: What may stand there instead of a bucket: nothing, a counter, text, an instant of the year 5138.
FOREIGN = [b"", b"7", b"hello", b"99999999999999", b"-5", b"1e300", b"\xff" * 14]


@pytest.mark.parametrize(
    ("algorithm", "value"),
    [(algorithm, value) for algorithm in ALGORITHMS for value in FOREIGN]
    # As long as a state is, and full to the brim.
    + [
        (algorithm, b"\xff" * 21)
        for algorithm in ("sliding_window_counter", "token_bucket", "leaky_bucket")
    ],
)
def test_a_value_that_is_not_ours_locks_nobody_out(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str, value: bytes
):
    """B11 again: somebody wrote there, without an expiry, a count above any limit."""
    subject, three = Subject(always(redis_store)), quota(algorithm, 3, 0.1)
    key = redis_store.bucket(subject.asked(three))
    raw.set(key, value)
    first = subject.take(three)
    assert first.remaining in range(4)
    assert first.reset_after <= 0.201
    assert raw.pttl(key) != FOREVER
    while not subject.look(three, 3).allowed:
        pass


@every_algorithm
def test_the_script_may_be_forgotten_at_any_time(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str
):
    """B28: SCRIPT FLUSH between two calls; both are allowed and two units are spent."""
    subject, ten = Subject(always(redis_store)), quota(algorithm, 10, 360_000)
    assert subject.take(ten).allowed
    raw.script_flush()
    assert subject.take(ten).allowed
    assert subject.look(ten).remaining == 8


@every_algorithm
def test_a_flushed_database_is_a_fresh_start(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str
):
    subject, ten = Subject(always(redis_store)), quota(algorithm, 10, 360_000)
    subject.take(ten, 10)
    raw.flushdb()
    assert subject.take(ten).remaining == 9


def test_no_version_yet_is_a_token_too(redis_store: RedisStore, raw: redis.Redis):
    raw.flushdb()
    assert redis_store.version() == ""
    redis_store.announce("token")
    assert redis_store.version() == "token"


@every_algorithm
def test_a_bucket_that_heals_lives_until_it_is_like_a_fresh_one(
    redis_store: RedisStore, raw: redis.Redis, algorithm: str
):
    subject, one = Subject(always(redis_store)), quota(algorithm, 1, 80_000_000)
    key = redis_store.bucket(subject.asked(one))
    assert subject.take(one).allowed
    raw.persist(key)
    refused = subject.take(one)
    assert not refused.allowed
    # Whatever passed since the refusal is gone from it; a minute is more than a test takes.
    assert 0 <= refused.reset_after * 1000 - raw.pttl(key) < 60_000


def test_the_numbers_of_the_algorithms_are_those_of_the_first_release():
    """Workers of two releases share a Redis and its scripts: no number may change its meaning."""
    assert CODES == {
        "fixed_window": 1,
        "sliding_window_log": 2,
        "sliding_window_counter": 3,
        "token_bucket": 4,
        "leaky_bucket": 5,
        "gcra": 6,
    }


def test_the_clock_is_redis_s_own_in_milliseconds(redis_store: RedisStore, raw: redis.Redis):
    def now() -> int:
        seconds, micro = raw.time()
        return int(seconds) * 1000 + int(micro) // 1000

    subject, hourly = Subject(always(redis_store)), quota("gcra", 1, 3600)
    before = now()
    assert subject.take(hourly).allowed
    after = now()
    # The instant when it will be like new: an hour after the admission.
    instant = int(raw.get(redis_store.bucket(subject.asked(hourly))) or 0)
    assert before <= instant - 3_600_000 <= after
