"""Hosts whose clocks are days apart: on Redis only Redis's clock counts."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.algorithms import ALGORITHMS, Limit
from ratelimit_app.conformance.subject import MIDNIGHT
from ratelimit_app.stores.base import Quota, Take
from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer

from .shifted import Clock

DAY = 86_400
NAMES = ("time", "monotonic")
#: In which nothing comes back while a test runs. Windows are aligned to the epoch: the longer rest.
PERIOD = max((20_000_000, 31_000_000), key=lambda seconds: seconds - time.time() % seconds)


def shift(patch: pytest.MonkeyPatch, seconds: int) -> None:
    """All clocks of this process; the differences that they measure stay right."""
    for name in NAMES:
        real, real_ns = getattr(time, name), getattr(time, f"{name}_ns")
        patch.setattr(time, name, lambda real=real: real() + seconds)
        patch.setattr(time, f"{name}_ns", lambda real=real_ns: real() + seconds * 10**9)


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_the_clocks_of_a_process_mean_nothing_to_redis(redis_server: RedisServer, algorithm: str):
    ten = Quota("p", algorithm, Limit(10, PERIOD * 1000, 10), f"hosts.{algorithm}")
    take = Take(ten, os.urandom(15))
    left = []
    for seconds in (0, DAY, -DAY, 400 * DAY):
        with pytest.MonkeyPatch.context() as patch:
            shift(patch, seconds)
            store = RedisStore(RedisCache(redis_server.url, {}), timeout=20)
            left += [store.take([take])[0].remaining for _ in range(3)]
            store.clients.sync.connection_pool.disconnect()
            store.clients.hang_up()
    assert left == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0]


#: A host: takes four from each policy, and says what its own clock shows.
HOST = """
import json, os, sys, time
import django
from django.conf import settings
period, url = sys.argv[1:]
names = "fixed_window sliding_window_log sliding_window_counter token_bucket leaky_bucket gcra"
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "ratelimit_app"],
    CACHES={"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": url}},
    SECRET_KEY="of all hosts",
    RATELIMIT={
        "TIMEOUT": 10,
        "DEADLINE": 25,
        "POLICIES": [
            {"slug": name, "algorithm": name, "limit": 10, "period": int(period)}
            for name in names.split()
        ],
    },
)
django.setup()
from ratelimit_app import limiter
decisions = {
    name: [limiter.take(name, key="192.0.2.1")[:5] for _ in range(4)] for name in names.split()
}
print(json.dumps([time.time(), decisions]))
"""


@pytest.mark.system
def test_hosts_a_day_apart_share_one_count(
    shifted_redis: RedisServer, redis_clock: Clock, tmp_path: Path
):
    """Real processes, each with a clock of its own, and a Redis with yet another, which stands."""
    redis_clock.set(MIDNIGHT)
    told, clocks = [], []
    for days in (-1, 0, 1):
        folder = tmp_path / str(days)
        folder.mkdir()
        host = Clock(folder)
        host.run(days * DAY * 1000)
        done = subprocess.run(
            [sys.executable, "-c", HOST, "100", shifted_redis.url],
            env={**os.environ, **host.env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        shown, decisions = json.loads(done.stdout)
        clocks.append(round((shown - time.time()) / DAY))
        told.append(decisions)

    assert clocks == [-1, 0, 1]
    for algorithm in ALGORITHMS:
        decisions = [each for host in told for each in host[algorithm]]
        assert [allowed for allowed, *_ in decisions] == [True] * 10 + [False] * 2
        assert [remaining for _, _, remaining, *_ in decisions] == [*range(9, -1, -1), 0, 0]
        assert decisions[10] == decisions[11]
