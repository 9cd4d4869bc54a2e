"""The seam before the script: Redis's clock as whole milliseconds, and another clock for traces."""

import time
from collections.abc import Iterator

import pytest
import redis
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.conformance.subject import MIDNIGHT, Subject, every_algorithm, quota
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.script import BESIDE, LOOK, REAL_TIME, asked
from ratelimit_app.stores.traced import TraceRedisStore
from tests.servers import RedisServer
from tests.stores.stores import PATIENT


@pytest.mark.parametrize("micro", [0, 1, 999, 1000, 1001, 499_999, 500_000, 998_999, 999_999])
def test_microseconds_are_cut(raw: redis.Redis, micro: int):
    stub = "local redis = { call = function() return { '1700000000', ARGV[1] } end }"
    assert raw.eval(f"{stub} {REAL_TIME} return clock()", 0, micro) == (
        1_700_000_000_000 + micro // 1000
    )


def test_expiry_is_what_was_asked_for(raw: redis.Redis):
    assert raw.eval(f"{REAL_TIME} return lifetime(1234)", 0) == 1234


@pytest.fixture
def traced(redis_server: RedisServer) -> Iterator[TraceRedisStore]:
    store = TraceRedisStore(RedisCache(redis_server.url, {}), PATIENT, MIDNIGHT + 59_000)
    yield store
    store.close()


def test_a_trace_begins_when_it_is_told_to(traced: TraceRedisStore):
    subject = Subject(lambda _: traced)
    assert subject.take(quota("fixed_window", 5, 60)).reset_after == 1


def test_the_clock_of_a_trace_is_the_epoch_s_unless_told(redis_server: RedisServer):
    store = TraceRedisStore(RedisCache(redis_server.url, {}), PATIENT)
    assert store.now == 0
    store.close()


def test_many_takes_bring_the_script_themselves(traced: TraceRedisStore, raw: redis.Redis):
    """In one trip there is no second question: Redis may never have heard of the script."""
    raw.script_flush()
    subject, five = Subject(lambda _: traced), quota("gcra", 5, 60)
    moments = ((MIDNIGHT + number, subject.asked(five)) for number in range(7))
    assert [each.allowed for each in traced.take_each(moments)] == [True] * 5 + [False] * 2


def test_an_hour_is_the_net_below_a_trace(traced: TraceRedisStore, raw: redis.Redis):
    subject, five = Subject(lambda _: traced), quota("gcra", 5, 60)
    subject.take(five)
    assert 3_500_000 < raw.pttl(traced.bucket(subject.asked(five))) <= 3_600_000


def test_a_closed_store_leaves_no_connection(traced: TraceRedisStore, raw: redis.Redis):
    """Neither that of single calls nor that of many in a trip."""

    def connections() -> set[str]:
        return {each["id"] for each in raw.client_list()}

    before = connections()
    subject, five = Subject(lambda _: traced), quota("gcra", 5, 60)
    subject.take(five)
    traced.forget([subject.asked(five)])
    assert len(connections() - before) == 2
    traced.close()
    patience = time.monotonic() + PATIENT
    # The server hears of it a moment later.
    while connections() - before:
        assert time.monotonic() < patience


@every_algorithm
def test_beside_a_refusal_elsewhere_a_bucket_is_shown_as_it_stays(
    redis_store: RedisStore, algorithm: str
):
    """Another node of a cluster refuses: what would be allowed here is left, and spends nothing."""
    subject, ten = Subject(lambda _: redis_store), quota(algorithm, 10, 360_000)
    take = subject.asked(ten)
    shown = []
    for word in (LOOK, BESIDE, BESIDE):
        arguments = redis_store.arguments([take], [word, *asked([take], spend=False)[1:]])
        reply = redis_store.clients.wire.call("EVAL", redis_store.taking.text, *arguments)
        (decision,) = redis_store.decisions([take], reply)
        shown.append((decision.allowed, decision.remaining))
    assert shown == [(True, 9), (True, 10), (True, 10)]
