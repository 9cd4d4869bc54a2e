"""Redis is full: it says so, or it lets go of what it holds."""

import time

import pytest

from tests.live.asking import ask
from tests.servers import RedisServer

from .conftest import THREADS, load
from .inside import told
from .load import Asked
from .outcomes import KINDS, LIMIT, assert_answered, assert_by_redis, between, figures, source

pytestmark = pytest.mark.chaos


@pytest.fixture
def server():
    started = RedisServer("--maxmemory-policy", "noeviction")
    yield started
    started.stop()


def churn(client):
    """Write more than there is room for, until our buckets had to go."""
    for _ in range(50):
        pipeline = client.pipeline(transaction=False)
        for number in range(300):
            pipeline.set(f"churn:{number}", b"x" * 50_000)
        pipeline.execute()
        if not client.keys("*rl1:{*"):
            return True
    return False


def test_no_room_is_an_outage_of_its_own_and_refusals_go_on(make, server):
    gunicorn = make(server.url).gunicorn(2, *THREADS)
    gunicorn.wait(2)
    client = server.client()
    for kind in KINDS:
        for _ in range(LIMIT):
            assert ask(gunicorn.port, f"/{kind}/", {"X-Client": "spent"}).status == 200

    def asks(number):
        who = "spent" if number % 2 else f"new-{number}"
        return Asked(f"/{KINDS[number % 3]}/", who)

    with load(gunicorn, asks=asks) as requests:
        time.sleep(1)
        client.config_set("maxmemory", 1)
        full = time.monotonic()
        time.sleep(3)
        room = time.monotonic()
        client.config_set("maxmemory", 0)
        back = time.monotonic()
        time.sleep(1)

    seen = requests.seen
    counts = [each["counts"] for each in told(gunicorn).values()]
    print(f"{figures(seen)}; counted {counts}")
    assert_answered(seen, requests.sent)
    during = between(seen, full, room)
    fresh = [each for each in during if each.asked.who != "spent"]
    assert "redis" not in {source(each.answer) for each in fresh}
    # A refusal writes nothing, so it needs no room.
    spent = [each for each in during if each.asked.who == "spent"]
    assert {(source(each.answer), each.answer.status) for each in spent} == {("redis", 429)}
    assert_by_redis(between(seen, back))
    assert {each.answer.headers["X-Breaker"] for each in seen} == {"closed"}
    assert {kind for each in counts for kind in each} == {"memory"}
    assert sum(each["memory"] for each in counts) >= len(fresh)


def test_what_is_evicted_is_a_fresh_bucket_and_no_more(make, server):
    site = make(server.url)
    # Else what Redis refused before it forgot stays refused for up to a second.
    site.editor().run("Policy.objects.update(ask_always=True)")
    gunicorn = site.gunicorn(2, *THREADS)
    gunicorn.wait(2)
    client = server.client()
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("maxmemory", 8_000_000)
    for _ in range(5):
        statuses = [ask(gunicorn.port, "/closed/", {"X-Client": "one"}).status for _ in range(25)]
        assert (statuses.count(200), statuses.count(429)) == (LIMIT, 5)
        assert churn(client)
