"""Denials without a trip: what is asked, what is not, and for how long."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import redis

from ratelimit_app.algorithms import ALGORITHMS, Decision
from ratelimit_app.conformance.subject import Subject, every_algorithm, every_bucket, quota
from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.near import NearStore
from tests.stores.audited import Audited
from tests.stores.stores import ClockedRedisStore

SOURCES = ["redis", "near"]


class Process(Subject):
    """A process with denials of its own; `now` is the clock of both, in ms."""

    store: NearStore

    def __init__(self, store: ClockedRedisStore, most: int = 1000) -> None:
        def make(now: Callable[[], int]) -> NearStore:
            store.clock = now
            return NearStore(store, lambda: now() * 1_000_000, most)

        super().__init__(make)

    def sources(self, asked: Quota, cost: int = 1, times: int = 2) -> list[str]:
        return [self.take(asked, cost).source for _ in range(times)]

    def refused(self, asked: Quota, cost: int = 1) -> None:
        """A full bucket is spent, and the store has refused a take."""
        assert self.take(asked, asked.limit.burst).allowed
        assert self.take(asked, cost).source == "redis"


@pytest.fixture
def process(clocked: ClockedRedisStore) -> Iterator[Process]:
    clock = clocked.clock
    yield Process(clocked)
    clocked.clock = clock


def commands(raw: redis.Redis) -> int:
    return int(raw.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"])


@every_algorithm
def test_a_hot_key_at_95_percent_refusals(process: Process, raw: redis.Redis, algorithm: str):
    """A thousand requests at once, of which fifty fit: each of these is a command, and one more."""
    fifty = quota(algorithm, 50, 60)
    process.look(fifty)
    before = commands(raw)
    answers = [process.take(fifty) for _ in range(1000)]
    assert [each.allowed for each in answers] == [True] * 50 + [False] * 950
    assert [each.source for each in answers] == ["redis"] * 51 + ["near"] * 949
    assert commands(raw) - before == 51
    # Word for word what the store said.
    assert set(answers[51:]) == {answers[50]._replace(source="near")}


@every_bucket
def test_a_hot_key_whose_units_come_back_one_by_one(
    process: Process, raw: redis.Redis, algorithm: str
):
    """Ten a second at 200 requests a second: a command for each unit, and one for each wait."""
    ten = quota(algorithm, 10, 1, burst=1)
    process.look(ten)
    before, admitted = commands(raw), 0
    for _ in range(2000):
        admitted += process.take(ten).allowed
        process.wait(0.005)
    assert admitted == 100
    assert commands(raw) - before == 200


@every_algorithm
def test_within_a_second_the_store_is_asked_again(process: Process, algorithm: str):
    one = quota(algorithm, 1, 60)
    process.refused(one)
    process.wait(0.999)
    assert process.take(one).source == "near"
    process.wait(0.001)
    assert process.sources(one) == SOURCES
    process.wait(0.999)
    assert process.take(one).source == "near"


@every_bucket
def test_the_wait_counts_down_and_ends_when_the_store_admits(process: Process, algorithm: str):
    five = quota(algorithm, 5, 1, burst=1)
    process.refused(five)
    waits = []
    for _ in range(20):
        decision = process.take(five)
        waits.append((decision.allowed, decision.source, decision.retry_after))
        process.wait(0.01)
    assert waits == [(False, "near", round(0.2 - at / 100, 3)) for at in range(20)]
    assert process.take(five).allowed


class Slow:
    """A store whose trips take `there` and `back` milliseconds of its subject's time."""

    def __init__(self, subject: Subject, there: int, back: int) -> None:
        self.subject, self.there, self.back = subject, there, back
        self.inner = subject.store
        self.name, self.processes = self.inner.name, 1

    def take(
        self, takes: list[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        self.subject.now += self.there
        decisions = self.inner.take(takes, spend=spend)
        self.subject.now += self.back
        return decisions


def test_nobody_is_kept_out_longer_nor_told_to_come_too_early(clocked: ClockedRedisStore):
    """The trip takes 7 + 5 ms: refused as from its start, and told the wait from its end."""
    process, five = Process(clocked), quota("gcra", 5, 1, burst=1)
    process.take(five)
    near = NearStore(Slow(process, 7, 5), lambda: process.now * 1_000_000)  # type: ignore[arg-type]
    process.wait(0.1)
    asked = [process.asked(five)]
    sent = process.now
    (first,) = near.take(asked)
    assert (first.source, first.retry_after) == ("redis", 0.093)
    admitted_at = sent + 7 + 93
    process.now = sent + 92
    (told,) = near.take(asked)
    assert told.source == "near"
    # What is told is at least the truth, and at most a trip more.
    assert told.retry_after == (admitted_at + 5 - process.now) / 1000
    process.now = sent + 93
    assert near.take(asked)[0].source == "redis"


@every_algorithm
def test_a_lower_cost_is_asked_for(process: Process, algorithm: str):
    ten = quota(algorithm, 10, 60)
    process.take(ten, 7)
    assert process.sources(ten, 5) == SOURCES
    assert process.take(ten, 3).allowed


@pytest.mark.parametrize(
    ("algorithm", "source"),
    [(name, "redis" if name.startswith("sliding") else "near") for name in ALGORITHMS],
)
def test_a_higher_cost_is_refused_where_its_wait_is_known(
    process: Process, algorithm: str, source: str
):
    """Of the sliding windows only the store knows when more will fit."""
    ten = quota(algorithm, 10, 60)
    process.refused(ten)
    process.wait(0.5)
    truth = process.look(ten, 3)
    assert process.take(ten, 3) == truth._replace(source=source)
    # And the lower cost is still known.
    assert process.take(ten, 1).source == "near"


def test_a_higher_cost_whose_wait_would_be_rounded_is_asked_for(process: Process):
    """Seven a second: two units are 285.7 ms more than none, and not one is whole."""
    seven = quota("gcra", 7, 1)
    process.refused(seven)
    assert process.take(seven, 3).source == "redis"
    assert process.take(seven, 8).source == "near"


@every_algorithm
def test_a_cost_that_never_fits(process: Process, algorithm: str):
    five = quota(algorithm, 5, 60)
    assert process.sources(five, 6) == SOURCES
    for cost in (6, 7):
        decision = process.take(five, cost)
        assert (decision.allowed, decision.retry_after, decision.source) == (False, None, "near")
    process.wait(0.5)
    assert process.take(five, 6).reset_after == 0
    assert process.take(five, 5).allowed
    assert process.sources(five, 1) == SOURCES
    assert process.take(five, 6).retry_after is None


@every_algorithm
def test_who_spends_afterwards_waits_longer(process: Process, algorithm: str):
    """A wait is that of the bucket as it was: an admission makes it a matter for the store."""
    ten = quota(algorithm, 10, 60)
    process.take(ten, 4)
    assert process.sources(ten, 8) == SOURCES
    assert process.take(ten, 6).allowed
    truth = process.look(ten, 8)
    assert process.take(ten, 8) == truth


@every_algorithm
def test_a_reset_here_is_obeyed_at_once_and_elsewhere_within_a_second(
    process: Process, clocked: ClockedRedisStore, algorithm: str
):
    ten = quota(algorithm, 10, 60)
    process.refused(ten)
    process.store.reset([process.asked(ten)])
    assert process.take(ten, 10).allowed

    assert process.take(ten).source == "redis"
    clocked.reset([process.asked(ten)])
    process.wait(0.999)
    assert process.take(ten).source == "near"
    process.wait(0.001)
    assert process.take(ten).allowed


@every_algorithm
def test_a_refund_here_is_obeyed_at_once(process: Process, algorithm: str):
    ten = quota(algorithm, 10, 60)
    process.refused(ten)
    process.store.give([process.asked(ten)])
    assert process.take(ten).allowed
    assert process.take(ten).source == "redis"
    asyncio.run(process.store.agive([process.asked(ten)]))
    assert process.take(ten).allowed


@every_algorithm
def test_an_edit_is_obeyed_at_once(process: Process, algorithm: str):
    ten = quota(algorithm, 10, 60)
    process.refused(ten)
    edited = quota(algorithm, 20, 60)
    assert process.take(edited).source == "redis"
    # And what was known of the old numbers is forgotten with them.
    assert process.take(ten).source == "redis"


@every_algorithm
def test_who_must_be_asked_always_is(process: Process, algorithm: str):
    ten = replace(quota(algorithm, 10, 60), ask_always=True)
    process.refused(ten)
    assert process.sources(ten, times=3) == ["redis"] * 3
    other = quota(algorithm, 1, 60, policy="other")
    process.refused(other)
    assert [each.source for each in process.take_all(ten, other)] == ["redis"] * 2
    assert process.take(other).source == "near"


@every_algorithm
def test_a_look_is_the_store_s(process: Process, algorithm: str):
    ten = quota(algorithm, 10, 60)
    process.refused(ten)
    assert process.look(ten, 1).source == "redis"
    fresh = quota(algorithm, 10, 60, policy="fresh")
    assert process.look(fresh, 11).source == "redis"
    assert process.take(fresh, 11).source == "redis"


@every_algorithm
def test_a_shadow_is_counted_by_the_store(process: Process, algorithm: str):
    watched = quota(algorithm, 1, 60, shadow=True)
    assert process.take(watched).allowed
    assert process.sources(watched, times=3) == ["redis"] * 3
    # The same policy, enforced and then again in shadow.
    assert process.sources(replace(watched, shadow=False)) == SOURCES
    assert process.take(watched).source == "redis"


@every_algorithm
def test_of_several_policies_only_who_refuses_is_told_of(process: Process, algorithm: str):
    """And nothing of the others is spent, as ever."""
    one, ten, two = (
        quota(algorithm, limit, 60, policy=name)
        for name, limit in (("one", 1), ("ten", 10), ("two", 2))
    )
    assert [each.allowed for each in process.take_all(one, ten, two)] == [True] * 3
    refused = process.take_all(one, ten, two)
    near = process.take_all(one, ten, two)
    assert near[0] == refused[0]._replace(source="near")
    assert near[1:] == [
        Decision(True, 10, None, 0, 0, "ten", "near"),
        Decision(True, 2, None, 0, 0, "two", "near"),
    ]
    # All who are known to refuse are told of: the longest wait counts.
    assert process.take(two).allowed
    assert process.take(two).source == "redis"
    near = process.take_all(one, ten, two)
    assert [each.remaining for each in near] == [0, None, 0]
    assert process.look(ten).remaining == 9


def test_another_process_knows_nothing(process: Process, clocked: ClockedRedisStore):
    ten = quota("gcra", 10, 60)
    process.refused(ten)
    other = NearStore(clocked, lambda: process.now * 1_000_000)
    assert other.take([process.asked(ten)])[0].source == "redis"


def test_tasks_are_answered_as_threads_are(process: Process):
    ten = quota("gcra", 10, 60)
    process.refused(ten)

    async def work() -> list[Decision]:
        return [
            (await process.store.atake([process.asked(ten)]))[0],
            (await process.store.atake([process.asked(ten)], spend=False))[0],
            (await process.store.atake([process.asked(ten, who="bob")]))[0],
        ]

    near, look, bob = asyncio.run(work())
    assert (near.allowed, look.allowed, bob.allowed) == (False, False, True)
    assert [near.source, look.source, bob.source] == ["near", "redis", "redis"]
    assert near == process.take(ten)


def test_what_is_kept_is_bounded(clocked: ClockedRedisStore):
    """Never more than it may, whoever knocks; and what is over is let go of."""
    process, one = Process(clocked, most=10), quota("gcra", 1, 60)
    for number in range(100):
        process.take(one, 2, who=f"client {number}")
        assert len(process.store._young) + len(process.store._old) <= 10
    assert process.take(one, 2, who="client 99").source == "near"
    assert process.take(one, 2, who="client 0").source == "redis"
    for _ in range(2):
        process.wait(1.001)
        process.take(one, 2, who="the last")
    assert len(process.store._young) + len(process.store._old) <= 2


def test_the_audit_sees_denials(clocked: ClockedRedisStore):
    """The public suite runs with near denials, each compared with the store's own answer."""

    def make(now: Callable[[], int]) -> Audited:
        clocked.clock = now
        return Audited(clocked, now)

    subject = Subject(make)
    for _ in range(5):
        subject.take(quota("gcra", 2, 60))
    assert isinstance(subject.store, Audited)
    assert subject.store.audits == 2
