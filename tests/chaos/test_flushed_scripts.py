"""Redis forgets the script a hundred times a second: nobody notices."""

import time

import pytest

from .conftest import THREADS, load
from .outcomes import assert_answered, assert_by_redis, figures

pytestmark = pytest.mark.chaos


def test_scripts_are_flushed_all_the_time(make, server):
    gunicorn = make(server.url).gunicorn(2, *THREADS)
    gunicorn.wait(2)
    client = server.client()
    client.config_resetstat()

    flushed = 0
    with load(gunicorn) as requests:
        end = time.monotonic() + 6
        while time.monotonic() < end:
            client.script_flush()
            flushed += 1
            time.sleep(0.01)

    seen, stats = requests.seen, client.info("commandstats")
    brought = stats["cmdstat_eval"]["calls"]
    print(f"{figures(seen)}; flushed {flushed} times, brought {brought} times")
    assert_answered(seen, requests.sent)
    assert_by_redis(seen)
    assert {each.answer.headers["X-Breaker"] for each in seen} == {"closed"}
    assert brought > 100
    # Nothing was done before it was brought: each who never asked before was charged once.
    fresh = [each.answer.remaining for each in seen if each.asked.who != "greedy"]
    assert set(fresh) == {19}
