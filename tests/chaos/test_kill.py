"""Redis is killed and comes back with nothing: every request is answered, as its policy says."""

import time

import pytest

from .conftest import THREADS, load
from .inside import know_each_other
from .outcomes import (
    KINDS,
    LIMIT,
    assert_answered,
    assert_by_on_error,
    assert_by_redis,
    between,
    figures,
    kind_of,
    share,
    source,
)

pytestmark = pytest.mark.chaos


def admitted(seen, kind, by):
    """How often one client got through who never let go."""
    return sum(
        each.answer.status == 200
        for each in seen
        if each.asked.who == "greedy" and kind_of(each) == kind and source(each.answer) == by
    )


def test_killed_and_back_after_four_seconds(make, server):
    gunicorn = make(server.url).gunicorn(2, *THREADS)
    gunicorn.wait(2)
    know_each_other(gunicorn)

    with load(gunicorn) as requests:
        time.sleep(2)
        killed = time.monotonic()
        server.kill()
        time.sleep(4)
        server.start()
        back = time.monotonic()
        time.sleep(3)

    seen = requests.seen
    late = max(e.answer.came for e in seen if source(e.answer) != "redis") - back
    print(f"{figures(seen)}; enforcing again after {max(late, 0):.2f} s")
    assert_answered(seen, requests.sent)
    assert share(seen, 0.99) <= 0.05
    assert share(seen, 1) <= 0.25
    assert_by_redis(between(seen, 0, killed))
    # From its end to its first answer, which may come a little before it is known here.
    assert_by_on_error(between(seen, killed + 0.01, back - 0.1))
    assert late <= 1
    assert_by_redis(between(seen, back + 1))
    # Once in the life that ended, once in the new one; and once in what the processes counted.
    for kind in KINDS:
        before, after = between(seen, 0, killed), between(seen, back)
        assert admitted(before, kind, "redis") == LIMIT
        assert admitted(after, kind, "redis") == LIMIT
    assert admitted(seen, "local", "local") <= LIMIT
