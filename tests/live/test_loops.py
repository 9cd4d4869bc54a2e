"""Event loops come and go in one process: every answer comes, and no connection stays behind."""

import pytest

from tests.servers import RedisServer

from .asking import at_once

#: Ten units never come back while it runs, and every refusal is a trip.
POLICY = """
Policy.objects.create(slug="loops", limit=10, period=360_000, key="global", ask_always=True)
"""

#: Takes 5 units by loops that end, 3 from threads, and 7 without a loop between them.
SCRIPT = """
import asyncio, gc, threading
import django

django.setup()
from asgiref.sync import async_to_sync
from ratelimit_app import limiter

answers = []

def take():
    answers.append(limiter.take("loops"))

def take_in_a_loop():
    answers.append(async_to_sync(limiter.atake)("loops"))

for _ in range(5):
    answers.append(asyncio.run(limiter.atake("loops")))
    take()
threads = [threading.Thread(target=take_in_a_loop) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
take()
take()
gc.collect()
print([answer.source for answer in answers].count("redis"))
print([answer.allowed for answer in answers].count(True))
clients = limiter.stores.innermost().clients.sync.client_list()
print(len(clients))
"""


@pytest.fixture
def own_redis():
    """Nobody else is connected to it."""
    server = RedisServer()
    yield server.url
    server.stop()


def test_loops_that_end_leave_no_connection(make_site, own_redis):
    site = make_site(redis=own_redis)
    site.editor().run(POLICY)

    # Whatever is said of anything left open is an error, and so appears in the output.
    said = site.python("-W", "error::ResourceWarning", "-W", "error::RuntimeWarning", "-c", SCRIPT)

    # 15 answers, 10 of them allowed. Three threads, three loops and five more have been there; left
    # are the connection that lists them, the main thread's, and one more if the thread that looks
    # for edits asked at the same moment.
    assert said.split()[:2] == ["15", "10"]
    assert said.split()[2:] in (["2"], ["3"])


def test_a_call_may_take_longer_than_a_decision_and_still_limits(make_site, redis_url):
    """TIMEOUT above DEADLINE: no time would be left to connect in, and so no limit at all."""
    site = make_site(redis=redis_url, ratelimit={"TIMEOUT": 0.4, "DEADLINE": 0.25})
    site.editor().run(POLICY)
    code = "import django; django.setup(); from ratelimit_app import limiter; "
    code += "print(limiter.take('loops').source)"

    assert site.python("-c", code).split() == ["redis"]


def test_views_on_and_off_the_loop_share_a_bucket_under_both_kinds_of_server(make_site, redis_url):
    """Under WSGI each call of an asynchronous view has an event loop of its own."""
    site = make_site(redis=redis_url)
    site.editor().run(POLICY.replace("loops", "named"))
    servers = site.gunicorn(2), site.uvicorn()
    servers[0].wait(2)
    servers[1].wait(1)

    answers = [
        answer
        for path in ("/named/async/", "/named/")
        for answer in at_once([server.port for server in servers] * 10, path, threads=20)
    ]

    statuses = [answer.status for answer in answers]
    assert (statuses.count(200), statuses.count(429)) == (10, 30)
    assert statuses[:20].count(200) == 10
    assert "Traceback" not in servers[0].output() + servers[1].output()
