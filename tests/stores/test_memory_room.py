"""What the memory store lets go of, and keeps: few buckets, and each of them looked at."""

import sys
from itertools import pairwise

import pytest

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS
from ratelimit_app.conformance.subject import MIDNIGHT, Subject, every_algorithm, quota
from ratelimit_app.stores import Take
from ratelimit_app.stores.memory import MemoryStore
from tests.stores.stores import Memory


def clients(count: int, first: int = 0) -> list[str]:
    return [f"client {number}" for number in range(first, first + count)]


@every_algorithm
def test_a_full_store_lets_go_of_all_that_are_fresh_again(algorithm: str):
    """Of the five that it looks at; and only when it is full."""
    subject, ten = Memory(5), quota(algorithm, 10, 60)
    for who in clients(5):
        subject.take(ten, who=who)
    subject.wait(200)
    assert len(subject.store) == 5
    subject.take(ten, who="one too many")
    assert len(subject.store) == 1


@every_algorithm
def test_a_full_store_lets_go_of_who_has_most_left(algorithm: str):
    """Whoever came first or last, and of one only."""
    subject, ten = Memory(4), quota(algorithm, 10, 60)
    for who, cost in zip(clients(4), (5, 2, 3, 9), strict=True):
        subject.take(ten, cost, who=who)
    subject.take(ten, 4, who="one too many")
    left = {who: subject.look(ten, who=who).remaining for who in [*clients(4), "one too many"]}
    assert list(left.values()) == [5, 10, 7, 1, 6]
    assert len(subject.store) == 4


@every_algorithm
def test_who_was_looked_at_and_kept_is_not_looked_at_again_at_once(algorithm: str):
    """The next five are: so who has used up little is found behind those who have used up all."""
    subject, ten = Memory(11), quota(algorithm, 10, 60)
    for who in clients(6):
        subject.take(ten, 10, who=who)
    subject.take(ten, 9, who="nearly drained")
    for who in clients(4, 6):
        subject.take(ten, 10, who=who)
    # One of the first five goes and four move to the end; then the sixth is first.
    subject.take(ten, 10, who="late")
    assert subject.look(ten, who="nearly drained").remaining == 1
    subject.take(ten, 10, who="later")
    assert subject.look(ten, who="nearly drained").remaining == 10


@every_algorithm
def test_each_part_of_the_store_keeps_to_its_own_bound(algorithm: str):
    """A call of two clients: the first one's part was full, the second one's is not."""
    store, ten = MemoryStore(1024, lambda: MIDNIGHT), quota(algorithm, 10, 60)
    for number in range(64):
        store.take([Take(ten, bytes([1, number]) * 5)])
    store.take([Take(ten, b"\x01new" * 3), Take(ten, b"\x02new" * 3)])
    assert [shard.size for shard in store._shards[:4]] == [0, 64, 1, 0]


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS.keys() - {"sliding_window_counter"}))
def test_a_sweep_takes_what_is_fresh_from_this_very_millisecond(algorithm: str):
    """More than it looks at under one hold of the lock. The counter keeps a second window."""
    subject, ten = Memory(1000), quota(algorithm, 10, 60)
    for who in clients(1000):
        reset = subject.take(ten, who=who).reset_after
    subject.wait(reset - 0.001)
    subject.store.sweep()
    assert len(subject.store) == 1000
    subject.wait(0.001)
    subject.store.sweep()
    assert len(subject.store) == 0


@every_algorithm
def test_what_is_let_go_is_of_the_policy_with_most_buckets(algorithm: str):
    subject = Memory(5)
    few, many = quota(algorithm, 10, 60, policy="few"), quota(algorithm, 10, 60, policy="many")
    for who in clients(2):
        subject.take(few, who=who)
    for who in clients(8):
        subject.take(many, 10, who=who)
    assert [subject.look(few, who=who).remaining for who in clients(2)] == [9, 9]


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS.keys() - {"gcra"}))
def test_a_sweep_goes_by_the_last_numbers_that_were_seen(algorithm: str):
    """Spent under ten a minute, then edited to ten times as slow: kept for as long as that says.

    GCRA keeps an instant, which no edit moves.
    """
    subject, ten = Memory(5), quota(algorithm, 10, 60)
    slow = quota(algorithm, 1, 60, 10) if algorithm in BUCKETS else quota(algorithm, 10, 600)
    subject.take(ten, 10)
    subject.take(slow, 10, who="somebody else")
    subject.wait(130)
    subject.store.sweep()
    assert len(subject.store) == 2
    assert [subject.look(slow, who=who).remaining for who in ("alice", "somebody else")] == (
        [2, 2] if algorithm in BUCKETS else [0, 0]
    )


def test_a_reset_of_what_is_not_there_is_not_counted():
    subject, ten = Memory(5), quota("gcra", 10, 60)
    subject.take(ten)
    subject.store.reset([subject.asked(ten, who="somebody else")])
    assert len(subject.store) == 1
    subject.store.reset([subject.asked(ten)])
    assert len(subject.store) == 0


def test_no_room_is_held_for_buckets_that_are_gone():
    subject, ten = Memory(1000), quota("gcra", 10, 60)
    for who in clients(1000):
        subject.take(ten, who=who)
    for who in clients(1000):
        subject.store.reset([subject.asked(ten, who=who)])
    tables = [table for shard in subject.store._shards for table in shard.tables.values()]
    assert {sys.getsizeof(table.states) for table in tables} == {sys.getsizeof({})}


@pytest.mark.parametrize("most", [1024, 1023])
def test_a_large_store_is_shared_out(most: int):
    """Sixteen locks from 64 buckets a lock on; below that, parts would be too small."""
    store = MemoryStore(most)
    assert len(store._shards) == (16 if most == 1024 else 1)


def test_a_store_holds_a_hundred_thousand_unless_told_otherwise():
    store = MemoryStore()
    assert sum([store._most] * len(store._shards)) == 100_000
    assert store.name == "memory"
    assert store.processes == 1


@every_algorithm
def test_a_clients_shard_is_its_own_in_every_call(algorithm: str):
    """Alone, with others, looked at or reset: always the same bucket."""
    subject = Subject(lambda now: MemoryStore(now=now))
    ten, other = quota(algorithm, 10, 60), quota(algorithm, 10, 60, policy="other")
    for who in clients(40):
        subject.take(ten, 3, who=who)
        assert subject.take_all(ten, other, who=who)[0].remaining == 6
        assert subject.take(ten, 2, who=who).remaining == 4
        subject.store.reset([subject.asked(ten, who=who)])
        assert subject.look(ten, who=who).remaining == 10


@pytest.mark.parametrize("most", [100_000, 2_000_000])
def test_no_part_of_a_store_is_so_large_that_it_takes_a_millisecond_to_grow(most: int):
    store = MemoryStore(most)
    assert store._most <= 8192
    assert len(store._shards) * store._most <= most


@every_algorithm
def test_a_sweep_rests_after_every_few_hundred_buckets(algorithm: str, monkeypatch):
    """A thread that runs on keeps the interpreter from all others for 5 ms."""
    subject, ten = Memory(), quota(algorithm, 10, 60)
    for who in clients(5000):
        subject.take(ten, who=who)
    left: list[int] = []
    monkeypatch.setattr("time.sleep", lambda _: left.append(len(subject.store)))
    subject.wait(200)
    subject.store.sweep()
    assert left[-1] == 0
    before = [5000, *left]
    assert max(was - now for was, now in pairwise(before)) == 256
