"""Threads that are interrupted as often as Python can: still exactly the limit."""

import pytest

from ratelimit_app.conformance.crowds import THREADS, in_threads
from ratelimit_app.conformance.subject import Subject, every_algorithm, quota
from ratelimit_app.stores.memory import MemoryStore
from tests.stores.stores import midway

REPEATS = 20


@every_algorithm
@pytest.mark.usefixtures("restless")
def test_restless_threads_admit_exactly_the_limit(algorithm: str):
    subject, hundred = Subject(lambda now: MemoryStore(now=now)), quota(algorithm, 100, 60)

    def admitted(repeat: int) -> int:
        asked = [subject.asked(hundred, who=f"client {repeat}")]
        return in_threads(lambda _: sum(subject.store.take(asked)[0].allowed for _ in range(5)))

    assert THREADS * 5 > 100
    assert [admitted(repeat) for repeat in range(REPEATS)] == [100] * REPEATS


@every_algorithm
@pytest.mark.usefixtures("restless")
def test_restless_threads_on_a_running_clock(algorithm: str):
    """A day or more: nothing comes back while the test runs."""
    store = MemoryStore()
    subject, hundred = Subject(lambda _: store), quota(algorithm, 100, midway(86_400))
    assert in_threads(lambda _: sum(subject.take(hundred).allowed for _ in range(5))) == 100
