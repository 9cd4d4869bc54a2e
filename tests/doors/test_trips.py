"""What a request costs: no query, one command, and no hop from the event loop into a thread."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from asgiref.sync import SyncToAsync, async_to_sync
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from django.urls import path

from ratelimit_app import limiter, refresh, stores
from tests.servers import RedisServer

from .adapters import DOORS
from .site import Site


@pytest.mark.usefixtures("store")
def test_no_query_and_one_command(site: Site, store: str, request: pytest.FixtureRequest) -> None:
    """However many policies match, where the door asks them together."""
    slugs = [f"p{at}" for at in range(5)]
    site.limited(*slugs, limit=100)
    site.get()
    site.get()
    redis: Any = None
    if store != "memory":
        server: RedisServer = request.getfixturevalue("redis_server")
        redis = server.client()
        redis.config_resetstat()
    with CaptureQueriesContext(connection) as queries:
        response = site.get()
    assert response.status_code == 200
    assert response.headers["RateLimit"].count(";r=97") == 5
    assert len(queries) == 0
    if redis:
        together = site.door.by_path or site.door.drf
        assert commands(redis) == {"evalsha": 1 if together else 5}


def commands(redis: Any) -> dict[str, int]:
    """What clients have asked for; neither what the script does, nor how connections are made."""
    ours = {"get", "set", "mget", "setrange", "getrange", "time", "pttl", "pexpire", "strlen"}
    noise = {"config|resetstat", "info", "client|setinfo", "client|setname", "hello", "ping"}
    found = {
        name.removeprefix("cmdstat_"): stat["calls"]
        for name, stat in redis.info("commandstats").items()
    }
    return {name: calls for name, calls in found.items() if name not in ours | noise}


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the event loop left work to a thread, by what it left."""
    counted: Counter[str] = Counter()
    call = SyncToAsync.__call__

    async def counting(self: Any, *args: Any, **kwargs: Any) -> Any:
        counted[getattr(self.func, "__qualname__", repr(self.func))] += 1
        return await call(self, *args, **kwargs)

    monkeypatch.setattr(SyncToAsync, "__call__", counting)
    return counted


ASYNC = [door.name for door in DOORS if door.can_async]


@pytest.mark.parametrize("name", ASYNC)
def test_an_async_door_makes_no_hop(
    of: Any, store: str, name: str, hops: Counter[str], settings: Any
) -> None:
    assert stores.current().name == ("memory" if store == "memory" else "redis")
    site: Site = of(name, is_async=True, asgi=True)
    middleware = settings.MIDDLEWARE
    settings.MIDDLEWARE = []
    site.urls(path("page/", site._body()))
    site.get()
    bare = Counter(hops)
    settings.MIDDLEWARE = middleware
    site.limited("p", "q", limit=1)
    with refresh.keeper.pinned(refresh.keeper.current()):
        hops.clear()
        assert site.get().status_code == 200
        assert hops == bare
        hops.clear()
        assert site.get(headers={"accept": "text/html"}).status_code == 429
        # Django itself leaves it to a thread to write the log of what is refused.
        assert hops - bare == Counter({"log_response": 1})


def test_a_hundred_at_once(of: Any) -> None:
    """B9, B10: exactly ten pass, whatever the order."""
    site: Site = of("middleware", is_async=True, asgi=True)
    site.policy("p", 10)
    site.get(address="198.51.100.1")

    async def all_at_once() -> list[int]:
        client = AsyncClient()
        answers = await asyncio.gather(*[client.get("/page/") for _ in range(100)])
        return [each.status_code for each in answers]

    assert Counter(async_to_sync(all_at_once)()) == {200: 10, 429: 90}


def test_without_a_request(of: Any) -> None:
    """C24: a consumer of a socket, 20 messages at 10 a minute, in the bucket of the page."""
    site: Site = of("middleware", is_async=True, asgi=True)
    site.policy("chat", 10, period=60)

    async def messages() -> list[bool]:
        return [(await limiter.atake("chat", key="192.0.2.1")).allowed for _ in range(20)]

    limiter.peek("chat", key="192.0.2.1")
    assert async_to_sync(messages)() == [True] * 10 + [False] * 10
    assert site.get().status_code == 429
