"""Slots that move while they are used: nobody notices, and every unit is counted once."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from ratelimit_app.conformance.subject import quota
from ratelimit_app.stores import Take
from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer

from .conftest import MakeStore
from .servers import Cluster
from .where import slot, take_in, take_on

MANY = quota("fixed_window", 100_000, 360_000, policy="many")
FEW = quota("fixed_window", 60, 360_000, policy="few")


@pytest.fixture(scope="module")
def moving() -> Iterator[Cluster]:
    """Three primaries, between which slots move."""
    made = Cluster(3, 0)
    yield made
    made.stop()


def left(store: RedisStore, take: Take) -> int | None:
    (decision,) = store.take([take._replace(cost=0)], spend=False)
    return decision.remaining


class Traffic:
    """Four threads, two of them with event loops, that take until they are told to stop."""

    def __init__(self, store: RedisStore, calls: list[list[Take]]) -> None:
        self._store, self._calls = store, calls
        self._stop = threading.Event()
        self.answers: Counter[tuple[int, bool]] = Counter()
        self.failures: list[BaseException] = []
        self._counted = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(n % 2,)) for n in range(4)]

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def pass_by(self, calls: int) -> None:
        """Until that many more calls were answered."""
        wanted = self.answers.total() + calls
        while self.answers.total() < wanted and not self.failures:
            self._stop.wait(0.001)

    def _run(self, by_loop: int) -> None:
        try:
            asyncio.run(self._tasks()) if by_loop else self._work()
        except BaseException as error:
            self.failures.append(error)

    def _work(self) -> None:
        while not self._stop.is_set():
            for number, takes in enumerate(self._calls):
                self._count(number, all(each.allowed for each in self._store.take(takes)))

    async def _tasks(self) -> None:
        while not self._stop.is_set():
            for number, takes in enumerate(self._calls):
                decisions = await self._store.atake(takes)
                self._count(number, all(each.allowed for each in decisions))

    def _count(self, number: int, allowed: bool) -> None:
        with self._counted:
            self.answers[number, allowed] += 1


def both_buckets(take: Take) -> list[Take]:
    return [take._replace(quota=MANY), take._replace(quota=FEW)]


def test_a_slot_moves_under_load_without_an_error(moving: Cluster, make_redis_store: MakeStore):
    """MOVED, ASK and TRYAGAIN: two buckets of each of six clients, moved key by key."""
    store = make_redis_store(moving.url)
    first = take_on(moving, moving.primaries[0], store, MANY)
    number = slot(store, first)
    calls = [both_buckets(take_in(store, number, MANY)) for _ in range(5)]
    calls.append(both_buckets(first))
    source, target = moving.primaries[:2]

    with Traffic(store, calls) as traffic:
        traffic.pass_by(60)
        moving.begin_migration(number, target)
        # Those that were never asked before are asked now: both of their buckets are missing.
        traffic.pass_by(60)
        for takes in calls:
            for take in takes:
                moving.move(source, target, store.bucket(take))
                traffic.pass_by(20)
        moving.end_migration(number, source, target)
        traffic.pass_by(120)

    assert traffic.failures == []
    assert moving.owner(number) is target
    for at, (many, few) in enumerate(calls):
        # Every call was admitted as long as there was something left, and none was charged twice.
        assert traffic.answers[at, True] == 60
        assert left(store, few) == 0
        # What the refused ones took of the other bucket, while it was on another node, came back.
        assert left(store, many) == 100_000 - 60


Way = Callable[[RedisStore, list[Take]], list[bool]]


def by_thread(store: RedisStore, takes: list[Take]) -> list[bool]:
    return [each.allowed for each in store.take(takes)]


def by_loop(store: RedisStore, takes: list[Take]) -> list[bool]:
    return [each.allowed for each in asyncio.run(store.atake(takes))]


@pytest.mark.parametrize("ask", [by_thread, by_loop])
@pytest.mark.parametrize("moved", [0, 1, None])
def test_buckets_on_both_sides_of_a_move_are_decided_one_by_one(
    moving: Cluster, make_redis_store: MakeStore, ask: Way, moved: int | None
):
    """`moved` says which of the two is over there already; None: there was none of them yet."""
    store = make_redis_store(moving.url)
    two, four = quota("gcra", 2, 360_000, policy="two"), quota("gcra", 4, 360_000, policy="four")
    first = take_on(moving, moving.primaries[2], store, four)
    takes = [first, first._replace(quota=two)]
    number, source, target = slot(store, first), moving.primaries[2], moving.primaries[0]
    if moved is not None:
        assert ask(store, takes) == [True, True]
    moving.begin_migration(number, target)
    if moved is not None:
        moving.move(source, target, store.bucket(takes[moved]))
    admitted = [ask(store, takes) for _ in range(3)]
    moving.end_migration(number, source, target)

    before = int(moved is not None)
    assert admitted == [[True, True]] * (2 - before) + [[True, False]] * (1 + before)
    assert [left(store, take) for take in takes] == [2, 0]


def test_a_node_that_just_came_is_brought_the_script(moving: Cluster, make_redis_store: MakeStore):
    store = make_redis_store(moving.url)
    take = take_on(moving, moving.primaries[1], store, quota("gcra", 10, 360_000))
    assert store.take([take])[0].remaining == 9
    new: RedisServer = moving.add()
    source = moving.begin_migration(slot(store, take), new)
    moving.end_migration(slot(store, take), source, new)
    shas = [store.taking.sha]
    assert moving.client(new).script_exists(*shas) == [False]
    assert [store.take([take])[0].remaining for _ in range(3)] == [8, 7, 6]
    assert moving.client(new).script_exists(*shas) == [True]
