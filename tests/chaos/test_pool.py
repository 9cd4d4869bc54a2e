"""More threads than connections: who finds none in time is told so, and Redis is not blamed."""

import time

import pytest

from .conftest import load
from .inside import told
from .outcomes import assert_answered, assert_by_redis, between, figures, source

pytestmark = pytest.mark.chaos

#: Seconds that a reply takes, which is within the time-out; and that a call waits for a connection.
DELAY, WAIT = 0.06, 0.05
#: What a process with 32 threads and a proxy may add.
OVERHEAD = 0.05


def test_two_connections_for_32_threads(make, proxy):
    gunicorn = make(f"{proxy.url}?max_connections=2").gunicorn(1, "--threads", "32")
    gunicorn.wait(1)
    proxy.delay = DELAY

    with load(gunicorn, rate=100) as requests:
        time.sleep(1)
        proxy.mode = "delay"
        time.sleep(4)
        proxy.mode = "pass"
        back = time.monotonic()
        time.sleep(1)

    seen, counts = requests.seen, told(gunicorn)
    without = [each for each in seen if source(each.answer) != "redis"]
    print(f"{figures(seen)}; counted {[each['counts'] for each in counts.values()]}")
    assert_answered(seen, requests.sent)
    assert max(each.took for each in without) <= WAIT + OVERHEAD
    assert max(each.took for each in seen) <= WAIT + DELAY + OVERHEAD
    assert [each["counts"] for each in counts.values()] == [{"pool": len(without)}]
    assert len(without) > 100
    assert {each.answer.headers["X-Breaker"] for each in seen} == {"closed"}
    assert_by_redis(between(seen, back + 0.2))
    # Two of the process, and one of whoever made the policies.
    assert proxy.accepted <= 3
