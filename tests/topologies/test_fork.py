"""A process that has asked all nodes forks: no connection, lock or breaker is shared after it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .servers import Cluster, Sentinels
from .test_sentinel import django_redis

#: Takes one unit of each bucket, forks four times, takes 20 everywhere, and tells what is left.
SCRIPT = """
import json, os, sys
from django.conf import settings

settings.configure(
    SECRET_KEY="s",
    CACHES={"default": json.loads(sys.argv[1])},
    RATELIMIT={"TIMEOUT": 10, "DEADLINE": 25},
)
from ratelimit_app.algorithms import Limit
from ratelimit_app.stores import Quota, Take, current, innermost

quota = Quota("fork", "gcra", Limit(1000, 360_000_000, 1000), "fork")
takes = [Take(quota, os.urandom(15)) for _ in range(12)]

def take_all(times):
    for _ in range(times):
        decisions = [current().take([take])[0] for take in takes]
        assert all(each.allowed and each.source == "redis" for each in decisions)

take_all(1)
children = []
for _ in range(4):
    child = os.fork()
    if not child:
        take_all(20)
        os._exit(0)
    children.append(child)
take_all(20)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
left = {current().take([take._replace(cost=0)], spend=False)[0].remaining for take in takes}
print(json.dumps([sorted(left), type(innermost().topology).__name__]))
"""


@pytest.mark.parametrize("servers", ["cluster", "sentinels"])
def test_processes_that_were_forked_count_exactly(request: pytest.FixtureRequest, servers: str):
    alias: dict[str, Any] = {"BACKEND": "django.core.cache.backends.redis.RedisCache"}
    made: Cluster | Sentinels = request.getfixturevalue(servers)
    if isinstance(made, Cluster):
        alias["LOCATION"] = [server.url for server in made.servers]
    else:
        alias = django_redis(made.name, made.addresses)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, json.dumps(alias)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[1000 - 1 - 5 * 20], type(made).__name__]
