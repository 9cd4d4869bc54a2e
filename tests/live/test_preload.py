"""gunicorn --preload: what was opened before the fork is not shared after it."""

import pytest

from .asking import Watch, at_once

pytestmark = pytest.mark.alone

POLICIES = """
for slug, limit in (("edited", 10), ("shared", 20)):
    Policy.objects.create(
        slug=slug, limit=limit, period=360_000, key="global", path=f"/slow/{slug}/"
    )
"""


def test_workers_forked_after_a_take_obey_an_edit_and_count_exactly(
    make_site, redis_url, redis_server
):
    site = make_site(redis=redis_url, take_at_import="shared")
    editor = site.editor()
    editor.run(POLICIES)
    server = site.gunicorn(3, "--preload")
    server.wait(3)

    with Watch([server.port], "/slow/edited/") as watch:
        took = watch.obeyed(
            server.pids, 2, editor.run("Policy.objects.filter(slug='edited').update(limit=2)")
        )
    answers = at_once([server.port] * 30, "/slow/shared/", threads=30)

    print(f"obeyed by {len(server.pids)} workers after {took:.3f} s")  # noqa: T201
    assert server.pid not in server.pids
    assert watch.fell_back() == []
    assert {answer.pid for answer in answers} == server.pids
    # One was taken at import.
    assert [answer.status for answer in answers].count(200) == 19
    assert [answer.status for answer in answers].count(429) == 11
    with redis_server.client() as client:
        # Each of the workers has at least a connection of its own, and so has their parent.
        ports = {each["addr"] for each in client.client_list() if each["cmd"] != "client|list"}
    assert len(ports) >= 4


#: What a fork would share, if it came now.
OPEN = """
import django
django.setup()
from django.db import connection
from ratelimit_app import limiter

limiter.peek("edited", key="at import", cost=0)
print(connection.connection)
"""


def test_a_take_outside_a_request_leaves_no_connection_to_the_database(make_site):
    site = make_site()
    site.editor().run(POLICIES)

    assert site.python("-c", OPEN).split() == ["None"]
