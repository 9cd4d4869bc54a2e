"""Policies that count by themselves in an outage: all processes together keep to the limit."""

import time

import pytest

from tests.live.asking import ask, at_once

from .conftest import know_each_other, told

pytestmark = pytest.mark.chaos

LIMIT = 62
POLICY = f"""
Policy.objects.create(
    slug="local", limit={LIMIT}, period=864_000, key="global", path="/slow/local/", on_error="local"
)
"""


def statuses(server, number):
    """Enough at once that every process has its part of them."""
    answers = at_once([server.port] * number, "/slow/local/", threads=16)
    return [answer.status for answer in answers], {answer.pid for answer in answers}


def test_four_processes_count_by_themselves_and_then_together_again(make_site, server):
    site = make_site(redis=server.url, ratelimit={"TIMEOUT": 0.5, "DEADLINE": 2})
    site.editor().run(POLICY)
    gunicorn = site.gunicorn(4, "--threads", "4")
    gunicorn.wait(4)
    know_each_other(gunicorn)
    assert [ask(gunicorn.port, "/slow/local/").status for _ in range(3)] == [200] * 3

    server.pause()
    # Whoever finds that out has to wait.
    alone, pids = statuses(gunicorn, 300)
    server.resume()
    back = time.monotonic()
    while "open" in {each.headers["X-Breaker"] for each in at_once([gunicorn.port] * 16, "/slow/")}:
        assert time.monotonic() < back + 1
    again, _ = statuses(gunicorn, 100)

    kinds = [each["counts"] for each in told(gunicorn).values()]
    print(f"admitted {alone.count(200)} of {LIMIT} by {len(pids)} processes; {kinds}")
    assert pids == gunicorn.pids
    assert set(alone) == {200, 429}
    # A share is rounded down: fifteen for each of four.
    assert alone.count(200) == 4 * (LIMIT // 4)
    assert set(again) == {200, 429}
    # Three were spent before. What timed out was counted when Redis woke, or not at all.
    asked = sum(each["slow"] for each in kinds)
    assert LIMIT - 3 - asked <= again.count(200) <= LIMIT - 3
