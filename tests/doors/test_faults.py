"""What is answered when the store, a key or we ourselves fail: every door, on memory."""

import json
from typing import Any

import pytest

from ratelimit_app import limiter

from . import faults
from .site import Site, ours

pytestmark = pytest.mark.usefixtures("in_memory")

TYPES = "https://iana.org/assignments/http-problem-types#"


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_the_store_is_down(site: Site, on_error: str) -> None:
    """B27: a number nobody counted is not invented."""
    site.limited("p", on_error=on_error)
    with faults.store_down():
        response = site.get()
    assert_decided(site, response, on_error)


@pytest.mark.parametrize("function", [faults.raises, faults.exits, faults.is_async])
@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_key_function_fails(site: Site, on_error: str, function: Any) -> None:
    """C31: never one bucket for everybody, and never a 500."""
    fields = {"key": "function", "key_name": faults.whole(function), "on_error": on_error}
    site.limited("p", limit=1, **fields)
    assert_decided(site, site.get(), on_error)
    assert site.get().status_code == (200 if on_error == "open" else 503)


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_fault_of_our_own(
    site: Site,
    on_error: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    site.settings.RATELIMIT = {**site.settings.RATELIMIT, "ON_ERROR": on_error}
    site.limited("p")
    monkeypatch.setattr(limiter, "plan_for", faults.raises)
    assert_decided(site, site.get(), on_error)
    assert "Rate limiting failed for '/page/'" in caplog.text


def assert_decided(site: Site, response: Any, on_error: str) -> None:
    if on_error == "open":
        assert (response.status_code, len(site.ran), ours(response)) == (200, 1, {})
        return
    assert (response.status_code, len(site.ran)) == (503, 0)
    assert ours(response) == {"Retry-After": "1", "Cache-Control": "no-store"}
    if not site.door.drf:
        assert json.loads(response.content) == {
            "type": TYPES + "temporary-reduced-capacity",
            "title": "Temporarily not available",
            "status": 503,
        }


def test_a_function_may_say_that_a_policy_does_not_apply(site: Site) -> None:
    site.limited("p", limit=0, key="function", key_name=faults.whole(faults.nobody))
    response = site.get()
    assert (response.status_code, ours(response)) == (200, {})
    assert not hasattr(getattr(site.ran[0], "_request", site.ran[0]), "rate_limit")
