"""The breaker against a model: whoever calls, in whatever order they are answered, or never."""

import threading

import pytest
import redis
from django.core.cache.backends.redis import RedisCache
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
)

from ratelimit_app.stores.breaker import Breaker
from ratelimit_app.stores.redis import RedisStore

FAILURES, PAUSE = 5, 0.5


class Model(RuleBasedStateMachine):
    """Calls begin, end well or badly or not at all, and time goes on."""

    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.breaker = Breaker(FAILURES, PAUSE, now=lambda: self.now)
        #: Failures since the last answer, and when the last of them, or the last probe, was.
        self.streak, self.last = 0, 0.0
        #: When probes began, since the breaker opened.
        self.probes: list[float] = []

    @rule(target=calls)
    def call(self) -> bool:
        is_open = self.streak >= FAILURES
        may = self.breaker.allows()
        assert may is (not is_open or self.now >= self.last + PAUSE)
        if is_open and may:
            self.probes.append(self.now)
            self.last = self.now
        return may

    @rule(may=consumes(calls))
    def ends_well(self, may: bool) -> None:
        if may:
            self.breaker.answered()
            self.streak, self.probes = 0, []

    @rule(may=consumes(calls))
    def ends_badly(self, may: bool) -> None:
        if may:
            self.breaker.failed()
            self.streak, self.last = self.streak + 1, self.now

    @rule(may=consumes(calls))
    def never_ends(self, may: bool) -> None:
        """Its task was cancelled."""

    @rule(seconds=st.sampled_from([0.0, 0.001, 0.25, 0.499, 0.5, 0.501, 3.0]))
    def time_goes_on(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def redis_is_back(self) -> None:
        """It always closes again: one call after the pause, answered, is enough."""
        self.now += PAUSE
        assert self.breaker.allows()
        self.breaker.answered()
        self.streak, self.probes = 0, []

    @invariant()
    def open_after_so_many_in_a_row(self) -> None:
        assert self.breaker.is_open is (self.streak >= FAILURES)

    @invariant()
    def one_probe_in_a_pause(self) -> None:
        for earlier, later in zip(self.probes, self.probes[1:], strict=False):
            assert later - earlier >= PAUSE


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=300, stateful_step_count=60, deadline=None)


def test_of_many_threads_one_is_the_probe():
    """At each end of a pause all ask at once, and none of the probes is ever answered."""
    now = [0.0]
    breaker = Breaker(FAILURES, PAUSE, now=lambda: now[0])
    for _ in range(FAILURES):
        breaker.failed()
    rounds, threads, may = 200, 8, []
    barrier = threading.Barrier(threads)

    def work(number: int) -> None:
        for _ in range(rounds):
            if number == 0:
                now[0] += PAUSE
            barrier.wait()
            if breaker.allows():
                may.append(now[0])
            barrier.wait()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert len(may) == len(set(may)) == rounds


#: What says that somebody is there, by what it says.
ANSWERS = {
    "pool": redis.exceptions.MaxConnectionsError("All connections are in use"),
    "NOSCRIPT": redis.exceptions.NoScriptError("no matching script"),
    "OOM": redis.exceptions.OutOfMemoryError("command not allowed"),
    "READONLY": redis.exceptions.ReadOnlyError("a replica"),
    "NOPERM": redis.exceptions.NoPermissionError("no permissions"),
    "WRONGTYPE": redis.exceptions.ResponseError("WRONGTYPE Operation against a key"),
    "BUSY": redis.exceptions.ResponseError("BUSY running a script"),
}


@pytest.mark.parametrize("answer", list(ANSWERS))
def test_who_answers_is_there(answer: str):
    """Redis's own errors, and ours of the pool, never open it, however many there are."""
    store = RedisStore(RedisCache("redis://127.0.0.1:1/0", {}), timeout=0.1)
    for _ in range(3 * FAILURES):
        store._failed(ANSWERS[answer])
    assert store.breaker.is_open is False


def test_who_does_not_answer_is_not():
    store = RedisStore(RedisCache("redis://127.0.0.1:1/0", {}), timeout=0.1)
    for error in (redis.TimeoutError(), redis.ConnectionError(), OSError(), TimeoutError()):
        store._failed(error)
    assert store.breaker.is_open is False
    store._failed(redis.exceptions.BusyLoadingError("loading"))
    assert store.breaker.is_open is True
