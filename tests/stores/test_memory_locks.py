"""Whatever changes buckets in memory, or walks over them, holds the lock of their shard.

Threads that meet by chance would show a missing lock now and then; this shows it every time.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any

import pytest

from ratelimit_app.conformance.subject import MIDNIGHT, every_algorithm, quota
from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.memory import MemoryStore
from tests.stores.stores import Memory


class Watched(dict[Any, Any]):
    """Fails when it is changed or walked over while nobody holds the lock."""

    def __init__(self, content: dict[Any, Any], lock: Lock) -> None:
        super().__init__(content)
        self.lock = lock


def _watching(name: str) -> Callable[..., Any]:
    real = getattr(dict, name)

    def watching(self: Watched, *args: Any) -> Any:
        assert self.lock.locked(), name
        return real(self, *args)

    return watching


for _name in ("__setitem__", "__delitem__", "__iter__", "pop", "keys", "values", "items"):
    setattr(Watched, _name, _watching(_name))


CLIENTS = [f"client {number}" for number in range(40)]


def both(algorithm: str) -> tuple[Quota, Quota]:
    return quota(algorithm, 10, 60, policy="one"), quota(algorithm, 10, 60, policy="two")


def watched(algorithm: str) -> Memory:
    """Forty clients over all shards, each with a bucket of two policies; all are watched."""
    subject = Memory()
    for who in CLIENTS:
        subject.take_all(*both(algorithm), who=who)
    for shard in subject.store._shards:
        for table in shard.tables.values():
            table.states = Watched(table.states, shard.lock)
        shard.tables = Watched(shard.tables, shard.lock)
    return subject


@every_algorithm
def test_a_take_of_one(algorithm: str):
    subject, (one, _) = watched(algorithm), both(algorithm)
    for who in CLIENTS:
        assert subject.take(one, who=who).remaining == 8


@every_algorithm
def test_a_take_of_many_buckets_of_one_client(algorithm: str):
    subject = watched(algorithm)
    for who in CLIENTS:
        assert [each.remaining for each in subject.take_all(*both(algorithm), who=who)] == [8, 8]


@every_algorithm
def test_a_take_of_many_clients(algorithm: str):
    """All of the shards at once."""
    subject, (one, two) = watched(algorithm), both(algorithm)
    takes = [subject.asked(each, who=who) for who in CLIENTS for each in (one, two)]
    assert {each.remaining for each in subject.store.take(takes)} == {8}


@every_algorithm
@pytest.mark.parametrize("units", [1, 10])
def test_a_give_back(algorithm: str, units: int):
    """All of the shards at once; a bucket changes, or goes."""
    subject, (one, two) = watched(algorithm), both(algorithm)
    takes = [subject.asked(each, units, who=who) for who in CLIENTS for each in (one, two)]
    subject.take_all(one, two, who=CLIENTS[0])
    subject.store.give(takes)
    assert len(subject.store) == (2 if units == 1 else 0)


@every_algorithm
def test_a_reset(algorithm: str):
    subject, (one, two) = watched(algorithm), both(algorithm)
    subject.store.reset([subject.asked(each, who=who) for who in CLIENTS for each in (one, two)])
    assert len(subject.store) == 0


@every_algorithm
@pytest.mark.parametrize("later", [1, 200])
def test_a_sweep(algorithm: str, later: int):
    subject = watched(algorithm)
    subject.wait(later)
    subject.store.sweep()
    assert len(subject.store) == (80 if later == 1 else 0)
    assert any(len(shard.tables) for shard in subject.store._shards) == (later == 1)


@every_algorithm
def test_the_clock_of_a_call_of_many_is_read_under_their_locks(algorithm: str):
    """Else a thread that read it early would write a state older than the one it replaces."""
    held: list[int] = []

    def now() -> int:
        held.append(sum(shard.lock.locked() for shard in store._shards))
        return MIDNIGHT

    store, (one, _) = MemoryStore(now=now), both(algorithm)
    takes = [Take(one, bytes([number]) * 15) for number in (1, 5, 7, 17)]
    store.take(takes)
    assert held == [3]
    store.give(takes)
    assert held == [3, 3]
