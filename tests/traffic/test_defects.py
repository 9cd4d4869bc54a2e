"""The two defects that this app is built against, shown at work, and that ours has neither."""

import subprocess
import sys
import threading
import uuid
from pathlib import Path

from django.core.cache.backends.redis import RedisCache

from ratelimit_app.algorithms import Limit
from ratelimit_app.stores.base import Quota, Take
from ratelimit_app.stores.redis import RedisStore

ROOT = Path(__file__).parent.parent.parent
THREADS, LIMIT = 20, 5


class GetThenSet:
    """Reads the count, decides, writes the count: what lies between is the defect."""

    def __init__(self, client, limit, between):
        self._client, self._limit, self._between = client, limit, between
        self._key = uuid.uuid4().hex

    def allow(self):
        count = int(self._client.get(self._key) or 0)
        self._between()
        if count >= self._limit:
            return False
        self._client.set(self._key, count + 1, px=60_000)
        return True


def in_threads(allow):
    """How many of as many threads are admitted."""
    admitted = []
    threads = [threading.Thread(target=lambda: admitted.append(allow())) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == THREADS
    return sum(admitted)


def test_get_then_set_admits_everybody_who_reads_before_the_first_write(redis_server):
    """B9: all have read when the first one writes, so all are admitted, every time."""
    barrier = threading.Barrier(THREADS)
    limiter = GetThenSet(redis_server.client(), LIMIT, barrier.wait)
    assert in_threads(limiter.allow) == THREADS


def test_the_same_limiter_looks_right_when_nobody_else_asks(redis_server):
    limiter = GetThenSet(redis_server.client(), LIMIT, lambda: None)
    assert [limiter.allow() for _ in range(7)] == [True] * LIMIT + [False] * 2


def test_ours_has_no_between(redis_server):
    """The same threads at once: exactly the limit."""
    store = RedisStore(RedisCache(redis_server.url, {}), timeout=20)
    take = Take(
        Quota("p", "gcra", Limit(LIMIT, 3_600_000, LIMIT), "defects"), uuid.uuid4().bytes[1:]
    )
    barrier = threading.Barrier(THREADS)

    def allow():
        barrier.wait()
        return store.take([take])[0].allowed

    assert in_threads(allow) == LIMIT
    store.clients.sync.connection_pool.disconnect()
    store.clients.hang_up()


#: A process that counts in its own memory: how many of 200 it admits.
PROCESS = """
from ratelimit_app.algorithms import Limit
from ratelimit_app.stores.base import Quota, Take
from ratelimit_app.stores.memory import MemoryStore
take = Take(Quota("p", "gcra", Limit(100, 360_000_000, 100), "tag"), bytes(15))
store = MemoryStore()
print(sum(store.take([take])[0].allowed for _ in range(200)))
"""


def test_three_processes_that_count_for_themselves_admit_300_of_100():
    """B10: a limit in the memory of each process is as many limits as there are processes."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [process.communicate()[0] for process in processes] == ["100\n"] * 3
