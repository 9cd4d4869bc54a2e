"""Headers in each style, odd limits, waits, shadow and off: every door, on memory."""

import logging
from typing import Any

import pytest

from ratelimit_app import limiter

from . import faults
from .site import Site, ours
from .test_answers import configure, refused

pytestmark = pytest.mark.usefixtures("in_memory")

DRAFT = {"RateLimit-Policy": '"p";q=1;w=3600', "RateLimit": '"p";r=0;t=3600'}
OLDER = {
    "X-RateLimit-Limit": "1",
    "X-RateLimit-Remaining": "0",
    "X-RateLimit-Reset": "3600",
}


@pytest.mark.parametrize(
    ("style", "expected"),
    [("draft", DRAFT), ("x", OLDER), ("both", {**DRAFT, **OLDER}), ("none", {})],
)
def test_headers_are_of_the_chosen_style(site: Site, style: str, expected: dict[str, str]) -> None:
    configure(site, HEADERS=style)
    site.limited("p", limit=1)
    assert ours(site.get()) == expected
    assert ours(site.get()) == {**expected, "Retry-After": "3600", "Cache-Control": "no-store"}


def test_older_headers_tell_of_the_policy_nearest_to_exhaustion(site: Site) -> None:
    configure(site, HEADERS="x")
    site.policy("wide", 100)
    site.policy("narrow", 4)
    site.open("wide", "narrow")
    assert site.get().headers["X-RateLimit-Limit"] == "4"


def test_a_limit_of_0_refuses_everything_and_needs_no_store(site: Site) -> None:
    with faults.store_down():
        site.limited("p", limit=0)
        response = site.get()
    assert response.status_code == 429
    assert site.ran == []
    assert ours(response) == {
        "RateLimit-Policy": '"p";q=0;w=3600',
        "RateLimit": '"p";r=0',
        "Cache-Control": "no-store",
    }


def test_a_cost_that_can_never_fit_says_not_to_come_back(site: Site) -> None:
    site.limited("p", limit=2, cost=3)
    response = site.get()
    assert (response.status_code, len(site.ran)) == (429, 0)
    assert ours(response) == {
        "RateLimit-Policy": '"p";q=2;w=3600',
        "RateLimit": '"p";r=2',
        "Cache-Control": "no-store",
    }


def test_a_part_of_a_second_is_rounded_up(site: Site, in_memory: Any) -> None:
    """B16: GCRA, 10 a second, one at once."""
    site.limited("p", limit=10, period=1, burst=1)
    responses = [site.get(), site.get()]
    assert [each.status_code for each in responses] == [200, 429]
    assert responses[1].headers["Retry-After"] == "1"
    in_memory.move(1)
    assert site.get().status_code == 200


def test_after_the_wait_the_next_is_served(site: Site, in_memory: Any) -> None:
    assert refused(site).headers["Retry-After"] == "3600"
    in_memory.move(3599.999)
    assert site.get().status_code == 429
    in_memory.move(0.001)
    assert site.get().status_code == 200


def test_shadow_refuses_nobody_and_is_not_mentioned(site: Site) -> None:
    site.policy("watched", 1, mode="shadow")
    site.policy("p", 3)
    site.open("watched", "p")
    responses = [site.get() for _ in range(3)]
    assert [each.status_code for each in responses] == [200] * 3
    assert ours(responses[-1]) == {
        "RateLimit-Policy": '"p";q=3;w=3600',
        "RateLimit": '"p";r=0;t=3600',
    }
    assert limiter.peek("watched", key="192.0.2.1", cost=0).remaining == 0
    assert limiter.peek("p", key="192.0.2.1", cost=0).remaining == 0


def test_off_does_not_even_count(site: Site) -> None:
    site.limited("p", limit=1, mode="off")
    responses = [site.get() for _ in range(3)]
    assert [(each.status_code, ours(each)) for each in responses] == [(200, {})] * 3


def test_the_kill_switch(site: Site) -> None:
    configure(site, ENABLED=False)
    site.limited("p", limit=0)
    response = site.get()
    assert (response.status_code, ours(response)) == (200, {})


def test_a_slug_that_is_unknown_lets_through_and_is_logged(
    site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ratelimit_app import policies
    from ratelimit_app.sparingly import Sparingly

    monkeypatch.setattr(policies, "_unknown", Sparingly(logging.getLogger("ratelimit_app")))
    site.open("mispelt")
    response = site.get()
    assert (response.status_code, ours(response)) == (200, {})
    assert ("'mispelt', which does not exist" in caplog.text) is not site.door.by_path
