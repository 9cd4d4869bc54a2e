"""The cable to Redis is cut for five seconds, with connections open: as if it hung."""

import time

import pytest

from .conftest import DEFAULTS, THREADS, load
from .inside import know_each_other
from .namespaces import Cable, redis_at_the_far_end
from .outcomes import (
    POLICIES,
    assert_answered,
    assert_by_on_error,
    assert_by_redis,
    between,
    figures,
    share,
    source,
)

pytestmark = pytest.mark.chaos


def test_cut_for_five_seconds(make_site):
    with Cable() as cable, redis_at_the_far_end(cable) as (url, client):
        site = make_site(redis=url, ratelimit=DEFAULTS)
        # The listening socket is made here, and so is in reach; connections are made over there.
        site.by = ["ip", "netns", "exec", cable.near]
        cut_for_five_seconds(site, cable, client)
        site.close()


def cut_for_five_seconds(site, cable, client):
    site.editor().run(POLICIES)
    gunicorn = site.gunicorn(2, *THREADS)
    gunicorn.wait(2)
    know_each_other(gunicorn)

    with load(gunicorn) as requests:
        time.sleep(2)
        cable.cut()
        gone = time.monotonic()
        time.sleep(5)
        cable.mend()
        back = time.monotonic()
        time.sleep(4)
        connections = client.client_list(_type="normal")

    seen = requests.seen
    late = max((e.answer.came for e in seen if source(e.answer) != "redis"), default=0) - back
    print(f"{figures(seen)}; enforcing again after {late:.2f} s; {len(connections)} connections")
    assert_answered(seen, requests.sent)
    assert share(seen, 1) <= 3 * DEFAULTS["TIMEOUT"] + 0.05
    assert share(seen, 0.99) <= 0.15
    assert_by_redis(between(seen, 0, gone - 0.1))
    assert_by_on_error(between(seen, gone + 0.01, back))
    assert_by_redis(between(seen, back + 1.5))
    # A thread has one, and so has the one that looks for edits; and here is one more.
    assert len(connections) <= 2 * (8 + 1) + 1
