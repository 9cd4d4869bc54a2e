"""What every door does, on every store, in every mode."""

from typing import Any

import pytest

from ratelimit_app.models import Policy

from .site import Site, ours, slugs_of

pytestmark = pytest.mark.usefixtures("store")

EVERY_20_MINUTES = '"p";q=3;w=3600'


def test_allowed_carries_the_headers(site: Site) -> None:
    site.limited("p")
    response = site.get()
    assert (response.status_code, len(site.ran)) == (200, 1)
    assert ours(response) == {"RateLimit-Policy": EVERY_20_MINUTES, "RateLimit": '"p";r=2;t=1200'}


def test_the_view_finds_the_verdict(site: Site) -> None:
    site.limited("p")
    site.get()
    (request,) = site.ran
    (entry,) = getattr(request, "_request", request).rate_limit.entries
    assert entry.policy.slug == "p"
    assert entry.decision[:5] == (True, 3, 2, 0, 1200)


def test_a_refusal_says_when_to_come_back_and_is_not_to_be_kept(site: Site) -> None:
    site.limited("p")
    assert site.statuses(3) == [200] * 3
    response = site.get()
    assert response.status_code == 429
    assert len(site.ran) == 3
    assert ours(response) == {
        "RateLimit-Policy": EVERY_20_MINUTES,
        "RateLimit": '"p";r=0;t=1200',
        "Retry-After": "1200",
        "Cache-Control": "no-store",
    }


def test_a_refusal_by_one_spends_nothing_of_another(site: Site, store: str) -> None:
    """B7, B8: each has its own count, and both are named."""
    site.policy("few", 2)
    site.policy("many", 10)
    site.open("few", "many")
    responses = [site.get() for _ in range(5)]
    assert [each.status_code for each in responses] == [200, 200, 429, 429, 429]
    assert len(site.ran) == 2
    many = [dict(_items(each))["many"] for each in responses[:2]]
    assert many == ["r=9;t=360", "r=8;t=720"]
    if site.door.drf or site.door.by_path:
        # Asked at once; what a door before the refusing one took would stay taken.
        assert dict(_items(responses[2])) == {"few": "r=0;t=1800", "many": "r=8;t=720"}
        # Redis is not asked again, and so nothing is known of the other.
        told = {"few"} if store != "memory" else {"few", "many"}
        assert {slug for slug, _ in _items(responses[3])} == told


def test_clients_are_counted_apart(site: Site) -> None:
    site.limited("p", limit=1)
    addresses = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1"]
    assert [site.get(address=each).status_code for each in addresses] == [200] * 4
    assert [site.get(address=each).status_code for each in addresses] == [429] * 4
    assert site.get(address="2001:db8::ffff").status_code == 429
    assert site.get(address="::ffff:192.0.2.1").status_code == 429


def test_what_does_not_apply_leaves_the_request_untouched(site: Site) -> None:
    site.limited("p", methods=["POST"])
    response = site.get()
    assert response.status_code == 200
    assert ours(response) == {}
    (request,) = site.ran
    assert not hasattr(getattr(request, "_request", request), "rate_limit")
    assert site.send("POST").headers["RateLimit"] == '"p";r=2;t=1200'


def test_get_covers_head_and_options_is_free(site: Site) -> None:
    """B31."""
    site.limited("p", limit=2)
    methods = ["OPTIONS", "GET", "HEAD", "OPTIONS", "GET", "HEAD", "OPTIONS"]
    assert [site.send(each).status_code for each in methods] == [200] * 4 + [429] * 2 + [200]


def test_a_policy_may_count_options(site: Site) -> None:
    """By a door that sees the whole view."""
    site.limited("p", limit=1, methods=["OPTIONS"])
    first, second = site.statuses(2, "OPTIONS")
    sees_options = site.door.name not in ("method", "method_decorator-get")
    assert (first, second) == (200, 429 if sees_options else 200)


def test_cost_is_the_policys(site: Site) -> None:
    site.limited("p", limit=5, cost=2)
    responses = [site.get() for _ in range(3)]
    assert [each.headers["RateLimit"] for each in responses] == [
        '"p";r=3;t=1440',
        '"p";r=1;t=2880',
        '"p";r=1;t=720',
    ]
    assert responses[-1].status_code == 429


def test_an_edit_counts_at_once_and_keeps_what_was_spent(site: Site) -> None:
    site.limited("p", limit=2, algorithm="fixed_window")
    assert site.statuses(3) == [200, 200, 429]
    Policy.objects.filter(slug="p").update(limit=3)
    assert site.statuses(2) == [200, 429]


def test_several_policies_are_all_named(site: Site) -> None:
    site.limited("a", "b", "c", limit=2)
    response = site.get()
    slugs = sorted(slugs_of(site.ran[0]))
    assert slugs == ["a", "b", "c"]
    assert sorted(response.headers["RateLimit"].split(", ")) == [
        f'"{slug}";r=1;t=1800' for slug in slugs
    ]


def test_whatever_counts_the_door_is_the_same(site: Site) -> None:
    # The clock stands at the start of a window, whatever its length.
    site.limited("p", limit=2, period=100, algorithm="sliding_window_log")
    responses = [site.get() for _ in range(3)]
    assert [each.status_code for each in responses] == [200, 200, 429]
    # An entry exactly as old as the period still counts: a millisecond more, rounded up.
    assert responses[-1].headers["Retry-After"] == "101"


def _items(response: Any) -> list[tuple[str, str]]:
    items = [item.partition(";") for item in response.headers["RateLimit"].split(", ")]
    return [(name.strip('"'), numbers) for name, _, numbers in items]
