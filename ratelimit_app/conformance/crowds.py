"""Many at once: exactly the limit is admitted, never one more and never one less."""

import asyncio
import threading
from collections.abc import Callable

from .subject import MakeStore, Subject, every_algorithm, quota

THREADS, TAKES, TASKS = 32, 5, 1000


def in_threads(work: Callable[[int], int]) -> int:
    """The sum of what each thread's work returns; all of them begin at once."""
    together, results, errors = threading.Barrier(THREADS), [0] * THREADS, []

    def run(index: int) -> None:
        try:
            together.wait()
            results[index] = work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    return sum(results)


@every_algorithm
def test_threads_admit_exactly_the_limit(make_store: MakeStore, algorithm: str) -> None:
    """32 threads ask 160 times for 100 units, time standing still."""
    subject, hundred = Subject(make_store), quota(algorithm, 100, 60)
    admitted = in_threads(lambda _: sum(subject.take(hundred).allowed for _ in range(TAKES)))
    assert admitted == 100
    assert subject.look(hundred).remaining == 0


@every_algorithm
def test_threads_that_give_back_what_they_took_leave_nothing_behind(
    make_store: MakeStore, algorithm: str
) -> None:
    """32 threads take one of 32 units and give it back, time standing still: all are admitted."""
    subject, enough = Subject(make_store), quota(algorithm, THREADS, 60)
    fresh, asked = subject.look(enough), subject.asked(enough)

    def work(_: int) -> int:
        admitted = 0
        for _ in range(TAKES):
            (decision,) = subject.store.take([asked])
            admitted += decision.allowed
            subject.store.give([asked], subject.now, [decision])
        return admitted

    assert in_threads(work) == THREADS * TAKES
    assert subject.look(enough) == fresh


@every_algorithm
def test_threads_with_costs_admit_exactly_the_limit(make_store: MakeStore, algorithm: str) -> None:
    """Costs of 1, 2 and 3, as often as anything fits: nothing is left and nothing too much."""
    subject, hundred = Subject(make_store), quota(algorithm, 100, 60)

    def work(index: int) -> int:
        costs = [1 + (index + turn) % 3 for turn in range(TAKES)] + [1] * TAKES
        return sum(cost for cost in costs if subject.take(hundred, cost).allowed)

    assert in_threads(work) == 100


@every_algorithm
def test_threads_with_buckets_in_either_order_neither_hang_nor_miscount(
    make_store: MakeStore, algorithm: str
) -> None:
    subject = Subject(make_store)
    ten, many = quota(algorithm, 10, 60, policy="ten"), quota(algorithm, 1000, 60, policy="many")
    takes = [subject.asked(many, who=f"client {number}") for number in range(9)]
    takes.insert(4, subject.asked(ten, who="everybody"))

    def work(index: int) -> int:
        order = takes[::-1] if index % 2 else takes
        calls = [subject.store.take(order) for _ in range(TAKES)]
        return sum(all(each.allowed for each in call) for call in calls)

    assert in_threads(work) == 10
    left = {subject.look(many, who=f"client {number}").remaining for number in range(9)}
    assert left == {990}


@every_algorithm
def test_tasks_admit_exactly_the_limit(make_store: MakeStore, algorithm: str) -> None:
    """A thousand tasks of one event loop ask for 100 units."""
    subject, hundred = Subject(make_store), quota(algorithm, 100, 60)
    asked = [subject.asked(hundred)]

    async def work() -> int:
        calls = await asyncio.gather(*[subject.store.atake(asked) for _ in range(TASKS)])
        return sum(decision.allowed for (decision,) in calls)

    assert asyncio.run(work()) == 100
    assert subject.look(hundred).remaining == 0


@every_algorithm
def test_a_task_is_answered_as_a_thread_is(make_store: MakeStore, algorithm: str) -> None:
    subject = Subject(make_store)
    two, five = quota(algorithm, 2, 60, policy="two"), quota(algorithm, 5, 60, policy="five")

    async def work() -> None:
        for cost in (1, 0, 6, 1, 1):
            for spend in (False, True):
                ours, theirs = (
                    [subject.asked(two, cost, who=who), subject.asked(five, cost, who=who)]
                    for who in ("alice", "bob")
                )
                answer = await subject.store.atake(ours, spend=spend)
                assert answer == subject.store.take(theirs, spend=spend)

    asyncio.run(work())


def test_every_event_loop_is_served(make_store: MakeStore) -> None:
    """C11: one loop after the other in one process; the count goes on."""
    subject, hundred = Subject(make_store), quota("gcra", 100, 60)

    async def work() -> int:
        (decision,) = await subject.store.atake([subject.asked(hundred)])
        assert decision.remaining is not None
        return decision.remaining

    assert [asyncio.run(work()) for _ in range(5)] == [99, 98, 97, 96, 95]
    assert subject.take(hundred).remaining == 94
