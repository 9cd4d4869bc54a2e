"""What clients send makes nothing in this process grow without bound."""

import functools
import sys
from collections import deque
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from ratelimit_app import limiter, stores, testing
from ratelimit_app.decorators import rate_limit
from ratelimit_app.keys import KEYS
from ratelimit_app.middleware import RateLimitMiddleware
from ratelimit_app.stores.memory import MemoryStore

MOST = 2_000
NAMES = {"header": "X-Key", "function": "tests.keys.functions.tenant"}
POLICIES: dict[str, dict[str, Any]] = {
    f"{kind}-{on_error}".replace("_", "-"): {
        "limit": 5,
        "period": 3600,
        "key": kind,
        "key_name": NAMES.get(kind, ""),
        "path": "/**",
        "on_error": on_error,
    }
    for kind in KEYS
    for on_error in ("open", "local")
}
PEERS = ["192.0.2.{}", "2001:db8:{}::1", "", "text {}", "{:050}"]


def sizes() -> dict[str, int]:
    """Of whatever our modules hold: how much is in it. A cache with a bound counts as its bound."""
    found: dict[str, int] = {}
    for name, module in sys.modules.items():
        if name.split(".")[0] != "ratelimit_app":
            continue
        for attribute, value in vars(module).items():
            at = f"{name}.{attribute}"
            if isinstance(value, functools._lru_cache_wrapper):
                info = value.cache_info()
                found[at] = info.currsize if info.maxsize is None else info.maxsize
            elif isinstance(value, (dict, set, list, deque)):
                found[at] = len(value)
    return found


def flood(start: int, count: int) -> None:
    """As many clients, each with everything of its own."""

    @rate_limit("5/m")
    def view(request: Any) -> HttpResponse:
        return HttpResponse()

    site = RateLimitMiddleware(view)
    factory = RequestFactory()
    for number in range(start, start + count):
        request = factory.generic(
            f"M{number}",
            f"/{number}/",
            REMOTE_ADDR=PEERS[number % len(PEERS)].format(number),
            headers={
                "X-Key": f"key {number}",
                "X-Tenant": f"{number}" * 100,
                "Accept": f"a/{number}",
                "Cookie": f"sessionid={number}",
                "X-Forwarded-For": f"10.0.0.{number}",
                f"X-Header-{number}": "1",
            },
        )
        assert site(request).status_code in (200, 429)  # type: ignore[union-attr]
        limiter.take("header-open", key=f"given {number}", cost=number)


@pytest.mark.parametrize("down", [False, True])
def test_nothing_grows_with_clients(settings: Any, down: bool) -> None:
    settings.RATELIMIT = {"MAX_BUCKETS": MOST, "TRUSTED_PROXIES": ["192.0.2.0/24", "unix"]}
    if down:
        settings.CACHES = {
            "default": {
                "BACKEND": "django_redis.cache.RedisCache",
                "LOCATION": "redis://127.0.0.1:1/0",
            }
        }
    with testing.override_policies(POLICIES):
        flood(0, 300)
        before = sizes()
        flood(300, 1500)
        assert sizes() == before
    assert before
    memories = [each for each in stores._stores.values() if isinstance(each, MemoryStore)]
    assert memories
    assert all(len(each) <= each._spread * each._most for each in memories)
