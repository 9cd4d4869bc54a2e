"""Two workers, of which one has yet to hear of an edit, take from one bucket by turns.

That lasts for less than a second; here time stands still, and what they admit is exact.
"""

import pytest

from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.conformance.stories import assert_coherent
from ratelimit_app.conformance.subject import MIDNIGHT, Subject, quota
from ratelimit_app.stores.memory import MemoryStore
from tests.stores.stores import CACHES, ClockedRedisStore

#: In the second of two windows of a minute, and in the first one of two minutes.
START = MIDNIGHT + 70_000
TURNS = 200
COUNTING = [name for name in ALGORITHMS if name != "gcra"]
WINDOWS = ("fixed_window", "sliding_window_counter")

#: What the worker that begins goes by, and the other one: a limit, and its period in seconds.
EDITS = [
    ((10, 60), (20, 60)),
    ((20, 60), (10, 60)),
    ((10, 60), (4, 60)),
    ((4, 60), (10, 60)),
    ((10, 60), (10, 120)),
    ((10, 120), (10, 60)),
    ((10, 60), (10, 45)),
    ((10, 45), (10, 60)),
    ((10, 60), (20, 120)),
    ((20, 120), (10, 60)),
]


@pytest.fixture(params=["memory", "redis"])
def make_store(request):
    if request.param == "memory":
        yield lambda now: MemoryStore(now=now)
        return
    url = request.getfixturevalue("redis_server").url
    made = []

    def make(now):
        made.append(ClockedRedisStore(CACHES["django"](url, {}), now))
        return made[-1]

    yield make
    for store in made:
        store.close()


def by_turns(subject, first, second):
    """How many each admits; every answer is one that its own numbers can give."""
    admitted, refused = [0, 0], [0, 0]
    for turn in range(2 * TURNS):
        asked = (first, second)[turn % 2]
        decision = subject.take(asked)
        assert_coherent(decision, asked, 1)
        (admitted if decision.allowed else refused)[turn % 2] += 1
        if not decision.allowed:
            # No worker's wait is longer than a full bucket of its own would make it.
            assert decision.retry_after <= longest(asked)
    return admitted, refused


def longest(asked):
    """Two windows of the counter, and the closed interval of the log, bound all others."""
    return 2 * asked.limit.period / 1000 + 0.001


@pytest.mark.parametrize(("first", "second"), EDITS)
@pytest.mark.parametrize("algorithm", COUNTING)
def test_both_together_admit_the_larger_limit(make_store, algorithm, first, second):
    subject = Subject(make_store, START)
    admitted, _ = by_turns(subject, quota(algorithm, *first), quota(algorithm, *second))
    # A window that began before the other worker's is over for that one: a fresh bucket, once.
    begins_earlier = START // 1000 // first[1] * first[1] < START // 1000 // second[1] * second[1]
    gift = 1 if algorithm in WINDOWS and begins_earlier else 0
    assert sum(admitted) == max(first[0], second[0]) + gift


@pytest.mark.parametrize(("first", "second"), EDITS)
def test_gcra_gives_back_a_unit_for_each_refusal_at_the_most(make_store, first, second):
    """The smaller bucket mends what is beyond it, and the larger one has room again."""
    subject = Subject(make_store, START)
    admitted, refused = by_turns(subject, quota("gcra", *first), quota("gcra", *second))
    assert sum(admitted) <= max(first[0], second[0]) + max(refused)
    # Where a full bucket takes as long as before, nothing is given back.
    if first[1] == second[1]:
        assert sum(admitted) <= max(first[0], second[0])


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_two_algorithms_of_one_policy_count_apart(make_store, algorithm):
    """Another algorithm is another bucket: no state is ever read by the wrong one."""
    subject = Subject(make_store, START)
    others = [name for name in ALGORITHMS if name != algorithm]
    for other in others:
        by_turns(subject, quota(algorithm, 10, 60), quota(other, 10, 60))
    for name in ALGORITHMS:
        assert subject.look(quota(name, 10, 60)).remaining == 0
