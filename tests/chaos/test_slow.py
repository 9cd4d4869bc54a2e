"""Redis becomes slower and slower, and fast again: nobody waits longer than the deadline."""

import time
from collections import defaultdict

import pytest

from .conftest import DEFAULTS, THREADS, load
from .inside import know_each_other
from .outcomes import assert_answered, assert_by_redis, between, figures, share

pytestmark = pytest.mark.chaos

#: Seconds of delay at the top, and of the way up or down.
TOP, WAY = 0.3, 8.0
#: A step of the ramp: seconds.
STEP = 0.05
#: What two processes, a proxy and the machine may add to a delay.
OVERHEAD = 0.04


def changes(seen):
    """The moments at which the breaker of each process was seen to open or close."""
    found: dict[int, list[float]] = defaultdict(list)
    before: dict[int, str] = {}
    for each in sorted(seen, key=lambda each: each.answer.came):
        pid, now = each.answer.pid, each.answer.headers["X-Breaker"]
        if before.setdefault(pid, now) != now:
            found[pid].append(each.answer.came)
        before[pid] = now
    return found


def test_slower_and_slower_and_back(make, proxy):
    gunicorn = make(proxy.url).gunicorn(2, *THREADS)
    gunicorn.wait(2)
    know_each_other(gunicorn)
    proxy.mode = "delay"

    with load(gunicorn, rate=100) as requests:
        began = time.monotonic()
        while (gone := time.monotonic() - began) < 2 * WAY:
            proxy.delay = TOP * (1 - abs(gone - WAY) / WAY)
            time.sleep(STEP)
        proxy.delay = 0
        back = time.monotonic()
        time.sleep(2)

    seen = requests.seen
    patience = began + WAY * (DEFAULTS["TIMEOUT"] - OVERHEAD) / TOP
    turns = changes(seen)
    print(f"{figures(seen)}; breakers turned {[len(each) for each in turns.values()]} times")
    assert_answered(seen, requests.sent)
    assert share(seen, 1) <= DEFAULTS["DEADLINE"] + 0.1
    # As long as the delay is within the time-out, nobody is told otherwise.
    assert_by_redis(between(seen, began, patience))
    assert_by_redis(between(seen, back + 1))
    assert set(map(len, turns.values())) != {0}
    for moments in turns.values():
        seconds = moments[-1] - moments[0]
        assert len(moments) <= seconds + 1
