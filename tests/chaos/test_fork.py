"""Processes that are forked: from a preloaded gunicorn, and from a thread amid other threads."""

import contextlib
import os
import time
from pathlib import Path

import pytest

from .conftest import load
from .load import Asked

pytestmark = pytest.mark.chaos

#: Of 10,000 requests.
LIMIT = 1_000
POLICY = f"""
Policy.objects.create(
    slug="shared", limit={LIMIT}, period=864_000, key="global", path="/shared/", on_error="closed"
)
"""


def sockets(pid, port):
    """The open sockets of a process that lead to this port."""
    there = set()
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[2].split(":")[1], 16) == port:
            there.add(f"socket:[{fields[9]}]")
    links = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        # Those of requests come and go.
        with contextlib.suppress(FileNotFoundError):
            links.add(os.readlink(each))
    return links & there


def test_four_preloaded_workers_share_a_count_and_no_socket(make, server):
    site = make(server.url, take_at_import="shared", ratelimit={"TIMEOUT": 2, "DEADLINE": 5})
    site.editor().run(POLICY)
    gunicorn = site.gunicorn(4, "--threads", "2", "--preload")
    gunicorn.wait(4)

    with load(gunicorn, rate=400, asks=lambda _: Asked("/shared/", "all")) as requests:
        while requests.sent < 10_000:
            time.sleep(0.05)
        held = {pid: sockets(pid, server.port) for pid in {*gunicorn.pids, gunicorn.pid}}
        clients = server.client().client_list()

    statuses = [each.answer.status for each in requests.seen]
    assert len(statuses) == requests.sent >= 10_000
    # One unit was taken at import, before the fork.
    assert statuses.count(200) == LIMIT - 1
    assert set(statuses) == {200, 429}
    assert {each.answer.pid for each in requests.seen} == gunicorn.pids
    everybody = [socket for each in held.values() for socket in each]
    assert all(held.values())
    assert len(everybody) == len(set(everybody))
    assert len({each["id"] for each in clients}) >= len(everybody)


#: Threads that never rest hold each lock some of the time; the child needs them all.
FORKS = """
import asyncio, multiprocessing, sys, threading, warnings
import django
django.setup()
from ratelimit_app import limiter, outage, refresh, stores
from ratelimit_app.stores import Unavailable

# That a process with threads is forked is what this is about.
warnings.simplefilter("ignore", DeprecationWarning)
sys.setswitchinterval(1e-5)
stop = threading.Event()

def work(number):
    at = 0
    while not stop.is_set():
        at += 1
        limiter.take("forked", key=f"{number}-{at % 50}")
        stores.local().take([limiter._take(policy, f"{at}", 1)])
        stores.innermost().breaker.failed()
        stores.innermost().breaker.answered()
        refresh.keeper.look()

def child():
    assert limiter.take("forked", key="child").source == "redis"
    assert asyncio.run(limiter.atake("forked", key="child")).source == "redis"
    stores.local().take([limiter._take(policy, "child", 1)])
    refresh.keeper.current()
    refresh.keeper.look()

limiter.take("forked", key="parent")
policy = limiter.by_slug("forked", refresh.keeper.current())
threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(6)]
for thread in threads:
    thread.start()
fork = multiprocessing.get_context("fork")
for _ in range(60):
    forked = fork.Process(target=child)
    forked.start()
    forked.join(20)
    if forked.exitcode != 0:
        forked.kill()
        sys.exit(f"a child ended with {forked.exitcode}")
stop.set()
for thread in threads:
    thread.join(10)
print(limiter.peek("forked", key="child", cost=0).remaining)
"""


def test_a_fork_from_the_midst_of_threads_neither_hangs_nor_loses_count(make_site, server):
    site = make_site(redis=server.url)
    site.editor().run(
        'Policy.objects.create(slug="forked", limit=1000, period=864_000, key="user")'
    )

    # Two takes of each of sixty children.
    assert site.python("-c", FORKS).split() == ["880"]
