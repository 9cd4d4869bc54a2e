"""Policies that count by themselves in an outage: all processes together keep to the limit."""

import time

import pytest

from tests.live.asking import ask, at_once

from .inside import know_each_other, told

pytestmark = pytest.mark.chaos

LIMIT = 62
POLICY = f"""
Policy.objects.create(
    slug="local", limit={LIMIT}, period=864_000, key="global", path="/slow/local/", on_error="local"
)
"""


def until(server, path, is_done, seconds):
    """Ask until each process has given such an answer; the statuses of all that came."""
    missing, statuses, end = set(server.pids), [], time.monotonic() + seconds
    while missing:
        assert time.monotonic() < end, missing
        answers = at_once([server.port] * 50, path, threads=16)
        statuses += [answer.status for answer in answers]
        missing -= {answer.pid for answer in answers if is_done(answer)}
    return statuses


def test_four_processes_count_by_themselves_and_then_together_again(make_site, server):
    site = make_site(redis=server.url, ratelimit={"TIMEOUT": 0.5, "DEADLINE": 2})
    site.editor().run(POLICY)
    gunicorn = site.gunicorn(4, "--threads", "4")
    gunicorn.wait(4)
    know_each_other(gunicorn)
    assert [ask(gunicorn.port, "/slow/local/").status for _ in range(3)] == [200] * 3

    server.pause()
    # Whoever finds that out has to wait; and each goes on until its share is spent.
    alone = until(gunicorn, "/slow/local/", lambda answer: answer.status == 429, 60)
    server.resume()
    until(gunicorn, "/slow/free/", lambda answer: answer.headers["X-Breaker"] == "closed", 5)
    again = [answer.status for answer in at_once([gunicorn.port] * 100, "/slow/local/")]

    kinds = [each["counts"] for each in told(gunicorn).values()]
    print(f"admitted {alone.count(200)} of {LIMIT} by {len(kinds)} processes; {kinds}")
    assert set(alone) == {200, 429}
    # A share is rounded down: fifteen for each of four.
    assert alone.count(200) == 4 * (LIMIT // 4)
    assert set(again) == {200, 429}
    # Three were spent before. What timed out was counted when Redis woke, or not at all.
    asked = sum(each["slow"] for each in kinds)
    assert LIMIT - 3 - asked <= again.count(200) <= LIMIT - 3
