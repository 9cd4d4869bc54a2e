"""Leases: what is spent here, when it lapses, how far off it is, and who asks."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest
import redis

from ratelimit_app.algorithms import ALGORITHMS, Decision
from ratelimit_app.conformance.subject import Subject, quota
from ratelimit_app.stores import Quota, Take, Unavailable
from ratelimit_app.stores.holdings import Call, Holdings
from ratelimit_app.stores.leases import LeaseStore
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.stores.near import NearStore
from tests.stores.stores import ClockedRedisStore

LEASABLE = [name for name in ALGORITHMS if name != "sliding_window_log"]
every_leasable = pytest.mark.parametrize("algorithm", LEASABLE)


def leased(
    algorithm: str, limit: int, seconds: float, lease: int, *, policy: str = "policy"
) -> Quota:
    return replace(quota(algorithm, limit, seconds, policy=policy), lease=lease)


class Process(Subject):
    """A process with leases of its own; `now` is the clock of all, in ms."""

    store: LeaseStore

    def __init__(self, store: ClockedRedisStore, most: int = 1000) -> None:
        def make(now: Callable[[], int]) -> LeaseStore:
            store.clock = now

            def nanoseconds() -> int:
                return now() * 1_000_000

            return LeaseStore(NearStore(store, nanoseconds), 5.0, nanoseconds, most)

        super().__init__(make)

    def held(self, asked: Quota) -> int:
        return self.store._holdings.unspent([self.asked(asked)])[0]


@pytest.fixture
def process(clocked: ClockedRedisStore) -> Iterator[Process]:
    clock = clocked.clock
    yield Process(clocked)
    clocked.clock = clock


def commands(raw: redis.Redis) -> int:
    return int(raw.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"])


@every_leasable
def test_commands_a_request(process: Process, raw: redis.Redis, algorithm: str):
    """A lease of 100: a command for a hundred requests; what is left and the waits are told."""
    million = leased(algorithm, 1_000_000, 3600, 100)
    process.look(million)
    before = commands(raw)
    answers = [process.take(million) for _ in range(2000)]
    assert commands(raw) - before == 20
    assert [each.source for each in answers] == (["redis"] + ["lease"] * 99) * 20
    assert [each.remaining for each in answers] == list(range(999_999, 997_999, -1))
    assert process.look(million).remaining == 998_000


@every_leasable
@pytest.mark.parametrize("lease", [1, 7, 30, 100])
def test_exactly_the_limit_for_one_process(process: Process, algorithm: str, lease: int):
    """Time standing still; near the limit it asks for what the request needs."""
    hundred = leased(algorithm, 100, 60, lease)
    answers = [process.take(hundred) for _ in range(110)]
    assert [each.allowed for each in answers] == [True] * 100 + [False] * 10
    assert [each.remaining for each in answers] == [*range(99, -1, -1), *[0] * 10]
    assert answers[-1].retry_after == process.look(hundred, 1).retry_after


@every_leasable
def test_costs_of_all_sizes(process: Process, algorithm: str):
    """No unit is lost or made, whatever a request costs beside the lease."""
    hundred, costs = leased(algorithm, 100, 60, 10), [3, 9, 1, 25, 0, 10, 11, 40, 101, 2]
    admitted = [cost for cost in costs if process.take(hundred, cost).allowed]
    # A sliding counter adds nothing that is held to a higher cost: 9 units wait for costs of 1.
    last = 2 if algorithm == "sliding_window_counter" else 40
    assert admitted == [3, 9, 1, 25, 0, 10, 11, last]
    assert process.look(hundred).remaining == 100 - sum(admitted)
    assert process.take(hundred, 101).retry_after is None


def test_a_higher_cost_is_told_a_true_wait_by_a_sliding_counter(process: Process):
    """What is held lapses after a period, and the wait for the rest may be longer."""
    ten = leased("sliding_window_counter", 10, 60, 5)
    for _ in range(7):
        process.take(ten)
    wait = process.take(ten, 6).retry_after
    assert wait is not None
    process.wait(wait)
    assert process.take(ten, 6).allowed


@every_leasable
def test_a_lease_of_one_is_the_store(process: Process, raw: redis.Redis, algorithm: str):
    one = leased(algorithm, 100, 60, 1)
    before = commands(raw)
    assert [process.take(one).source for _ in range(50)] == ["redis"] * 50
    assert commands(raw) - before == 50
    assert process.held(one) == 0


@pytest.mark.parametrize(
    ("algorithm", "held"),
    [
        # 60 are spent, 59 of them held; one comes back each second, so all are there in a minute.
        ("gcra", [59, 59, 30, 1, 0]),
        ("token_bucket", [59, 59, 30, 1, 0]),
        ("leaky_bucket", [59, 59, 30, 1, 0]),
        # When the window closes, and when the sliding one has passed.
        ("fixed_window", [59, 59, 59, 59, 0]),
        ("sliding_window_counter", [59, 59, 59, 59, 0]),
    ],
)
def test_what_is_not_spent_lapses_as_it_comes_back(
    process: Process, algorithm: str, held: list[int]
):
    asked = leased(algorithm, 60, 60, 60)
    process.take(asked)
    found = []
    for second in (0, 1, 30, 59, 60):
        process.at(second)
        found.append(process.held(asked))
    assert found == held
    assert process.take(asked, 60).allowed == (algorithm != "sliding_window_counter")


@every_leasable
def test_in_any_period_within_processes_times_lease(algorithm: str):
    """Three processes, loads of all kinds, beside the exact store: neither more nor fewer."""
    for seed in range(12):
        random = Random(seed)
        lease, limit = random.choice([2, 5, 20]), random.choice([20, 50, 100])
        asked = leased(algorithm, limit, 1, lease)
        clock = [1_700_000_000_000]
        exact, shared = (MemoryStore(now=lambda: clock[0]) for _ in range(2))  # noqa: B023
        processes = [
            LeaseStore(shared, 1.0, lambda: clock[0] * 1_000_000)  # noqa: B023
            for _ in range(3)
        ]
        take, difference = [Take(asked, b"x" * 15, 1)], 0
        before: deque[tuple[int, int]] = deque()
        for step in range(1500):
            load = (0.3, 0.9, 1, 2, 10)[step // 100 % 5]
            clock[0] += int(random.expovariate(load * limit / 1000))
            before.append((clock[0], difference))
            while before[0][0] < clock[0] - 1000:
                before.popleft()
            allowed = random.choice(processes).take(take)[0].allowed
            difference += allowed - exact.take(take)[0].allowed
            found = [difference - earlier for _, earlier in before]
            assert -3 * lease <= min(found)
            assert max(found) <= 3 * lease


@every_leasable
def test_a_refusal_is_honest(process: Process, clocked: ClockedRedisStore, algorithm: str):
    """By two processes: who is refused is admitted at retry_after, and not a millisecond before."""
    asked, other = leased(algorithm, 10, 60, 4), Process(clocked)
    other.store._now = other.store._holdings._now = lambda: process.now * 1_000_000
    clocked.clock = lambda: process.now
    take = [process.asked(asked)]
    other.store.take(take)
    while process.store.take(take)[0].allowed:
        pass
    refused = process.store.take(take)[0]
    assert refused.retry_after
    process.wait(refused.retry_after - 0.001)
    assert process.store.take(take)[0].retry_after == 0.001
    process.wait(0.001)
    assert process.store.take(take)[0].allowed


@every_leasable
def test_who_asks_for_the_whole_capacity_is_told_an_honest_wait(process: Process, algorithm: str):
    """What is held lapses before all is there."""
    asked = leased(algorithm, 3, 0.7, 2)
    assert process.take(asked).allowed
    assert process.held(asked) == 1
    refused = process.take(asked, 3)
    assert refused.retry_after
    process.wait(refused.retry_after - 0.001)
    assert not process.take(asked, 3).allowed
    process.wait(0.001)
    assert process.take(asked, 3).allowed


@every_leasable
def test_all_or_none(process: Process, algorithm: str):
    """What is set aside here is spent only if the others allow it."""
    many, few = leased(algorithm, 100, 60, 10, policy="many"), quota("gcra", 3, 60, policy="few")
    calls = [process.take_all(many, few) for _ in range(6)]
    assert [[each.allowed for each in call] for call in calls] == [[True, True]] * 3 + [
        [True, False]
    ] * 3
    assert [call[0].remaining for call in calls[:4]] == [99, 98, 97, 97]
    assert process.look(many).remaining == 97
    assert process.held(many) == 7


@every_leasable
def test_a_lease_that_does_not_fit_is_no_refusal_beside_one(
    process: Process, clocked: ClockedRedisStore, algorithm: str
):
    """Of two policies one refuses, and of the other only the lease does not fit any more."""
    many, one = leased(algorithm, 20, 60, 10, policy="many"), quota("gcra", 1, 60, policy="one")
    clocked.take([process.asked(many, 15)])
    assert clocked.take([process.asked(one)])[0].allowed
    said = process.take_all(many, one)
    assert [each.allowed for each in said] == [True, False]
    assert [each.policy for each in said if each.retry_after] == ["one"]
    assert process.look(many).remaining == 5


@every_leasable
def test_what_calls_on_their_way_set_aside_is_part_of_the_lease(algorithm: str):
    """They are refused by another policy and give it back: no more than a lease is held then."""
    store, now = MemoryStore(now=lambda: 1_700_000_000_000), 1_700_000_000_000 * 1_000_000
    held = Holdings(lambda: now, 10)
    many = Take(leased(algorithm, 1000, 60, 10, policy="many"), b"x" * 15)
    one = Take(quota("gcra", 1, 60, policy="one"), b"x" * 15)
    store.take([one])

    def begin(*takes: Take) -> Call:
        call = held.call(takes)
        assert isinstance(call, Call)
        return call

    def end(call: Call) -> list[Decision]:
        return held.settle(call, store.take(call.asks()), now)

    assert end(begin(many))[0].allowed
    on_their_way = [begin(many, one) for _ in range(9)]
    assert end(begin(many))[0].allowed
    assert not any(end(call)[1].allowed for call in on_their_way)
    assert held.unspent([many]) == [9]
    # Two were spent, and all that was taken beside is here.
    assert store.take([many], spend=False)[0].remaining == 988


@every_leasable
def test_several_leases_in_one_call_are_one_trip(
    process: Process, raw: redis.Redis, algorithm: str
):
    quotas = [leased(algorithm, 1000, 60, 50, policy=name) for name in ("one", "two", "three")]
    process.look(quotas[0])
    before = commands(raw)
    for _ in range(100):
        assert all(each.allowed for each in process.take_all(*quotas))
    assert commands(raw) - before == 2


@every_leasable
def test_a_lease_that_does_not_fit_refuses_nobody(
    process: Process, clocked: ClockedRedisStore, algorithm: str
):
    """Another process has spent meanwhile: the request gets what it needs."""
    asked = leased(algorithm, 20, 60, 10)
    assert process.take(asked).allowed
    clocked.take([process.asked(asked, 5)])
    answers = [process.take(asked).allowed for _ in range(15)]
    assert answers == [True] * 14 + [False]


def test_a_shadow_is_never_leased_and_a_look_takes_nothing(process: Process, raw: redis.Redis):
    asked = leased("gcra", 100, 60, 10)
    for cost in (0, 1, 50):
        assert process.look(asked, cost).allowed
    assert process.held(asked) == 0
    process.take(asked)
    assert [process.look(asked, cost).allowed for cost in (9, 99, 100)] == [True, True, False]
    assert process.held(asked) == 9


@every_leasable
def test_a_reset_and_an_edit_let_go(process: Process, algorithm: str):
    asked = leased(algorithm, 100, 60, 10)
    process.take(asked)
    process.store.reset([process.asked(asked)])
    assert (process.held(asked), process.look(asked).remaining) == (0, 100)
    process.take(asked)
    edited = leased(algorithm, 50, 60, 10)
    assert process.take(edited).source == "redis"
    off = replace(edited, lease=1)
    assert process.take(off).source == "redis"


@every_leasable
def test_a_refund_keeps_the_lease(process: Process, algorithm: str):
    asked = leased(algorithm, 100, 60, 10)
    process.take(asked)
    process.store.give([process.asked(asked)])
    assert (process.held(asked), process.look(asked).remaining) == (9, 100)


def test_what_is_held_is_bounded(clocked: ClockedRedisStore):
    process, asked = Process(clocked, most=10), leased("gcra", 100, 60, 10)
    for number in range(100):
        process.take(asked, who=f"client {number}")
        assert len(process.store._holdings) <= 10
    assert process.take(asked, who="client 99").source == "lease"


async def happens(happened: Callable[[], bool]) -> None:
    """Lets the other tasks go on; nothing on the loop could set an event of asyncio's here."""
    for _ in range(1_000_000):
        if happened():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never happened")


class Gate:
    """A store whose trips wait until they are let through; `fault` is raised then."""

    name, processes = "gate", 1

    def __init__(self, inner: MemoryStore) -> None:
        self.inner = inner
        self.open, self.came = threading.Event(), threading.Event()
        self.fault: Unavailable | None = None
        self.asked: list[int] = []
        self.ends: list[float | None] = []

    def let_through(self) -> None:
        self.came.wait(20)
        self.open.set()

    def take(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        self.asked.append(takes[0].cost)
        self.ends.append(until)
        self.came.set()
        assert self.open.wait(20)
        if self.fault:
            raise self.fault
        return self.inner.take(takes, spend=spend)

    async def atake(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        self.asked.append(takes[0].cost)
        self.ends.append(until)
        self.came.set()
        await happens(self.open.is_set)
        if self.fault:
            raise self.fault
        return self.inner.take(takes, spend=spend)


@pytest.fixture
def gate() -> Gate:
    return Gate(MemoryStore(now=lambda: 1_700_000_000_000))


FIFTY = [Take(leased("gcra", 1000, 60, 50), b"x" * 15, 1)]


def in_threads(count: int, work: Callable[[], object]) -> list[object]:
    found: list[object] = []

    def run() -> None:
        try:
            found.append(work())
        except Unavailable as error:
            found.append(error.kind)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_one_trip_in_flight_for_all_threads(gate: Gate):
    """Fifty ask at once: one trip, and 49 wait for it."""
    store = LeaseStore(gate, 20.0, lambda: 0)  # type: ignore[arg-type]
    opener = threading.Thread(target=gate.let_through)
    opener.start()
    sources = in_threads(50, lambda: store.take(FIFTY)[0].source)
    opener.join()
    assert sorted(sources, key=str) == ["lease"] * 49 + ["memory"]
    assert gate.asked == [50]


def test_a_fault_is_the_fault_of_all_who_wait(gate: Gate):
    store = LeaseStore(gate, 20.0, lambda: 0)  # type: ignore[arg-type]
    gate.fault = Unavailable("gone", "down")
    holding = store._holdings
    opener = threading.Thread(target=gate.let_through)
    opener.start()
    found = in_threads(20, lambda: store.take(FIFTY))
    opener.join()
    assert found == ["down"] * 20
    gate.fault = None
    assert store.take(FIFTY)[0].allowed
    assert holding.unspent(FIFTY) == [49]


def test_nobody_waits_beyond_the_deadline(gate: Gate):
    store = LeaseStore(gate, 0.05, lambda: 0)  # type: ignore[arg-type]
    first = threading.Thread(target=store.take, args=(FIFTY,))
    first.start()
    assert gate.came.wait(20)
    with pytest.raises(Unavailable) as error:
        store.take(FIFTY)
    assert error.value.kind == "slow"
    gate.open.set()
    first.join()
    assert store.take(FIFTY)[0].source == "lease"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_wait_and_two_trips_end_by_one_deadline(gate: Gate, way: str):
    """The first trip asks for a lease that does not fit, and the second for what is needed."""
    store = LeaseStore(gate, 20.0, lambda: 0)  # type: ignore[arg-type]
    gate.inner.take([FIFTY[0]._replace(cost=980)])
    gate.open.set()
    earliest = time.monotonic() + 20
    (decision,) = store.take(FIFTY) if way == "sync" else asyncio.run(store.atake(FIFTY))
    assert (decision.allowed, gate.asked) == (True, [50, 1])
    first, second = gate.ends
    assert first is not None
    assert earliest <= first <= time.monotonic() + 20
    assert second == first


def test_tasks_wait_without_blocking_the_loop(gate: Gate):
    """Fifty tasks, one trip; the loop goes on, and a task that is cancelled harms none."""
    store = LeaseStore(gate, 20.0, lambda: 0)  # type: ignore[arg-type]

    async def work() -> list[str]:
        tasks = [asyncio.create_task(store.atake(FIFTY)) for _ in range(51)]
        await happens(gate.came.is_set)
        await asyncio.sleep(0)
        tasks.pop().cancel()
        await asyncio.sleep(0)
        gate.open.set()
        return [decision.source for (decision,) in await asyncio.gather(*tasks)]

    assert sorted(asyncio.run(work())) == ["lease"] * 49 + ["memory"]
    assert gate.asked == [50]


def test_a_trip_that_is_cancelled_leaves_it_to_another(gate: Gate):
    store = LeaseStore(gate, 20.0, lambda: 0)  # type: ignore[arg-type]

    async def work() -> list[Decision]:
        first = asyncio.create_task(store.atake(FIFTY))
        second = asyncio.create_task(store.atake(FIFTY))
        await happens(gate.came.is_set)
        first.cancel()
        gate.open.set()
        return await second

    assert asyncio.run(work())[0].source == "memory"
    assert gate.asked == [50, 50]


def test_a_sync_call_on_the_loop_does_not_wait_for_a_task_of_the_loop(gate: Gate):
    store = LeaseStore(gate, 20.0, lambda: 0)  # type: ignore[arg-type]

    async def work() -> Decision:
        task = asyncio.create_task(store.atake(FIFTY))
        await happens(gate.came.is_set)
        gate.open.set()
        (decision,) = store.take(FIFTY)
        await task
        return decision

    assert asyncio.run(work()).allowed
    assert gate.asked == [50, 1]
