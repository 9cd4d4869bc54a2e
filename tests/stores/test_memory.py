"""What the memory store promises beyond the suite: bounded, small, and silent when it refuses."""

import threading

import pytest

from ratelimit_app.conformance.subject import MIDNIGHT, every_algorithm, quota
from ratelimit_app.stores import Take
from ratelimit_app.stores.memory import MemoryStore
from tests.stores.stores import Memory, client


@every_algorithm
def test_a_refusal_writes_nothing(algorithm: str):
    subject, three = Memory(), quota(algorithm, 3, 60)
    asked = subject.asked(three)
    for _ in range(3):
        subject.take(three)
    before = subject.state(asked)
    content = bytes(before) if isinstance(before, bytearray) else before
    for seconds in (0, 1, 5, 5):
        subject.wait(seconds)
        assert not subject.take(three, 3).allowed
        assert not subject.take(three, 4).allowed
    assert subject.state(asked) is before
    assert before == content


@every_algorithm
def test_a_refusal_writes_to_mend_a_bucket_from_the_future(algorithm: str):
    subject, three = Memory(), quota(algorithm, 3, 60)
    asked = subject.asked(three)
    subject.take(three, 3)
    ahead = three.twin.expires(subject.state(asked), three.limit)
    subject.wait(-3600)
    assert not subject.take(three).allowed
    assert three.twin.expires(subject.state(asked), three.limit) == ahead - 3_600_000


@every_algorithm
@pytest.mark.parametrize("cost", [0, 1, 9])
def test_a_look_a_zero_and_a_cost_that_never_fits_make_no_bucket(algorithm: str, cost: int):
    subject, three = Memory(), quota(algorithm, 3, 60)
    subject.take(three, cost, spend=cost == 9)
    subject.take(three, 0)
    assert len(subject.store) == 0


@every_algorithm
@pytest.mark.parametrize("most", [1, 5, 100, 1000, 5000])
def test_there_are_never_more_than_max_buckets(algorithm: str, most: int):
    subject, ten = Memory(most), quota(algorithm, 10, 60)
    for number in range(3 * most):
        subject.store.take([Take(ten, client(number))])
        assert len(subject.store) <= most
    # Bounded, and not by keeping nothing: a part of the store may be full before another is.
    assert len(subject.store) > most * 0.8


@every_algorithm
def test_a_call_of_many_buckets_keeps_to_the_bound(algorithm: str):
    subject = Memory(5)
    quotas = [quota(algorithm, 10, 60, policy=str(number)) for number in range(8)]
    for _ in range(3):
        assert [each.remaining for each in subject.take_all(*quotas)][-5:] == [9] * 5
        subject.store.reset([subject.asked(each) for each in quotas])
    subject.take_all(*quotas)
    assert len(subject.store) == 5


@every_algorithm
def test_a_drained_client_survives_a_flood_of_new_ones(algorithm: str):
    """Otherwise a flood of addresses would be a way round every limit.

    What is let go is chosen by one code for all, so a million are sent against one algorithm only.
    """
    subject, ten = Memory(5000), quota(algorithm, 10, 3600)
    subject.take(ten, 10, who="drained")
    subject.take(ten, 10, who="too")
    for number in range(1_000_000 if algorithm == "gcra" else 100_000):
        subject.store.take([Take(ten, client(number))])
        subject.now += number % 8 == 0
    assert len(subject.store) <= 5000
    assert not subject.take(ten, who="drained").allowed
    assert not subject.take(ten, who="too").allowed


@every_algorithm
def test_a_flood_under_one_policy_leaves_the_others_alone(algorithm: str):
    subject = Memory(1000)
    login, feed = quota(algorithm, 1, 60, policy="login"), quota(algorithm, 10, 60, policy="feed")
    for number in range(100):
        subject.store.take([Take(login, client(number))])
    for number in range(10_000):
        subject.store.take([Take(feed, client(number))])
    allowed = [subject.store.take([Take(login, client(number))])[0] for number in range(100)]
    assert [each.allowed for each in allowed] == [False] * 100


@every_algorithm
def test_a_sweep_drains_what_is_like_fresh_and_nothing_else(algorithm: str):
    subject, ten = Memory(), quota(algorithm, 10, 60)
    for number in range(3000):
        subject.store.take([Take(ten, client(number))])
    reset = subject.take(ten, 10, who="drained").reset_after
    subject.wait(reset - 0.001)
    subject.store.sweep()
    assert not subject.look(ten, 10, who="drained").allowed
    subject.wait(200)
    subject.store.sweep()
    assert len(subject.store) == 0
    assert [shard.tables for shard in subject.store._shards if shard.tables] == []


@every_algorithm
def test_a_sweep_goes_by_the_numbers_of_today(algorithm: str):
    """An edit makes the period longer: what it says is spent must not be swept away."""
    subject, edited = Memory(), quota(algorithm, 10, 6000)
    subject.take(quota(algorithm, 10, 60), 10)
    subject.take(edited, 1, who="somebody else")
    subject.wait(1)
    before = subject.look(edited)
    subject.store.sweep()
    assert subject.look(edited) == before


@every_algorithm
def test_a_thread_that_read_the_clock_early_loses_nobodys_units(algorithm: str):
    """It reads 59.999 s, another takes at 60.000 s, and then its own take is written."""
    times = iter([MIDNIGHT - 1])
    late = threading.Thread()

    def now() -> int:
        time = next(times, MIDNIGHT)
        if time < MIDNIGHT:
            late.start()
            # It waits for us if the clock is read under the lock; then we are the first.
            late.join(0.1)
        return time

    store, ten = MemoryStore(now=now), quota(algorithm, 10, 60)
    late = threading.Thread(target=store.take, args=([Take(ten, b"a" * 15, 4)],))
    store.take([Take(ten, b"a" * 15, 1)])
    late.join()
    (look,) = store.take([Take(ten, b"a" * 15)], spend=False)
    # The one unit may belong to the window before; the four do not.
    assert look.remaining in (5, 4)
