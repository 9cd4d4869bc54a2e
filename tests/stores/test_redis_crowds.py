"""Many processes on one Redis: exactly the limit, whoever asks."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.conformance.crowds import THREADS, in_threads
from ratelimit_app.conformance.subject import MIDNIGHT, quota
from ratelimit_app.stores import Unavailable
from tests.servers import RedisServer
from tests.stores.crowd import LIMIT
from tests.stores.crowd import THREADS as THREADS_OF_ONE
from tests.stores.stores import CACHES, ClockedRedisStore, clocked_subject, closing, midway

PROCESSES = 8
REPEATS = 20
DAY = 86_400

Crowd = Callable[[str, str, str, int], int]


class Process(subprocess.Popen[str]):
    """One of the crowd, to talk to in lines."""

    def __init__(self, url: str) -> None:
        super().__init__(
            [sys.executable, "-m", "tests.stores.crowd", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def tell(self, line: str) -> None:
        assert self.stdin is not None
        self.stdin.write(f"{line}\n")
        self.stdin.flush()

    def hear(self) -> str:
        assert self.stdout is not None
        return self.stdout.readline().rstrip()


@pytest.fixture(scope="module")
def crowd(redis_server: RedisServer) -> Iterator[Crowd]:
    """Eight processes; asks them all at once, and returns how many were admitted in all."""
    with ExitStack() as stack:
        processes = [stack.enter_context(Process(redis_server.url)) for _ in range(PROCESSES)]
        assert [process.hear() for process in processes] == ["ready"] * PROCESSES

        def ask(algorithm: str, client: str, clock: str, period: int) -> int:
            for process in processes:
                process.tell(f"{algorithm} {client} {clock} {period}")
            answers = [process.hear().split() for process in processes]
            assert [answered for _, answered in answers] == [str(THREADS_OF_ONE)] * PROCESSES
            return sum(int(admitted) for admitted, _ in answers)

        yield ask
        for process in processes:
            process.tell("end")


def test_eight_processes_admit_exactly_the_limit(crowd: Crowd):
    """256 threads ask for 100 units, time standing still."""
    assert PROCESSES * THREADS_OF_ONE > LIMIT
    admitted = {
        algorithm: [
            crowd(algorithm, f"still-{repeat}", str(MIDNIGHT + repeat), 1000 * DAY)
            for repeat in range(REPEATS)
        ]
        for algorithm in ALGORITHMS
    }
    assert admitted == dict.fromkeys(ALGORITHMS, [LIMIT] * REPEATS)


def test_eight_processes_by_the_clock_of_redis(crowd: Crowd):
    """A day or more: nothing comes back while the test runs."""
    period = 1000 * midway(DAY)
    admitted = {algorithm: crowd(algorithm, "running", "-", period) for algorithm in ALGORITHMS}
    assert admitted == dict.fromkeys(ALGORITHMS, LIMIT)


@pytest.mark.usefixtures("restless")
def test_more_threads_than_connections_wait_or_are_told(redis_server: RedisServer):
    """Two connections for 32 threads. Who finds none in time is told so, and is not charged."""
    cache = CACHES["django"](f"{redis_server.url}?max_connections=2", {})
    with closing(ClockedRedisStore(cache)) as store:
        subject, many = clocked_subject(store), quota("gcra", 1000, 60)
        told: list[str] = []

        def work(_: int) -> int:
            admitted = 0
            for _ in range(10):
                try:
                    admitted += subject.take(many).allowed
                except Unavailable as unavailable:
                    told.append(unavailable.kind)
            return admitted

        admitted = in_threads(work)
        assert admitted + len(told) == THREADS * 10
        assert set(told) <= {"pool"}
        assert subject.look(many).remaining == 1000 - admitted
