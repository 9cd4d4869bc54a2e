"""Redis stops and says nothing, while its connections stay open: few requests wait, and briefly."""

import time

import pytest

from .conftest import DEFAULTS, THREADS, load
from .inside import know_each_other
from .outcomes import (
    assert_answered,
    assert_by_on_error,
    assert_by_redis,
    between,
    figures,
    share,
)

pytestmark = pytest.mark.chaos

#: Failures in a row that open the breaker, and the pause from probe to probe.
FAILURES, PAUSE = 5, 0.5


def test_stopped_for_four_seconds(make, server):
    gunicorn = make(server.url).gunicorn(2, *THREADS)
    gunicorn.wait(2)
    know_each_other(gunicorn)

    with load(gunicorn) as requests:
        time.sleep(2)
        stopped = time.monotonic()
        server.pause()
        time.sleep(4)
        server.resume()
        back = time.monotonic()
        time.sleep(4)

    seen = requests.seen
    slow = [each for each in between(seen, stopped - 0.1, back + 1) if each.took > 0.05]
    first = [each for each in slow if each.answer.sent < stopped + 2 * DEFAULTS["TIMEOUT"]]
    print(f"{figures(seen)}; {len(first)} slow at first, {len(slow) - len(first)} later")
    assert_answered(seen, requests.sent)
    assert share(seen, 1) <= 3 * DEFAULTS["TIMEOUT"] + 0.05
    assert share(seen, 0.99) <= 0.15
    assert_by_redis(between(seen, 0, stopped))
    assert_by_on_error(between(seen, stopped + 0.01, back))
    assert_by_redis(between(seen, back + 1))
    # Nobody can know before the first time-out: until then each thread of a process may wait.
    assert len(first) <= 2 * (FAILURES + 8)
    # From then on only who tries whether Redis is back, and who meets it as it wakes.
    assert len(slow) - len(first) <= 2 * ((back - stopped) / PAUSE + 1)
