"""Every door × sync and async view × WSGI and ASGI × store, and a clock that stands still."""

from typing import Any

import pytest

from ratelimit_app.stores import memory
from ratelimit_app.stores.redis import RedisStore

from .adapters import DOORS, Door
from .site import Site

#: 1 January 2026, in ms.
NOW = 1_767_225_600_000

WAYS = [
    pytest.param((door, is_async, asgi), id=f"{door.name}-{view}-{handler}")
    for door in DOORS
    for is_async, view in [(False, "sync"), (True, "async")]
    for asgi, handler in [(False, "wsgi"), (True, "asgi")]
    if door.can_async or not is_async
]

_BACKENDS = {
    "memory": "django.core.cache.backends.locmem.LocMemCache",
    "django-redis": "django_redis.cache.RedisCache",
    "django-RedisCache": "django.core.cache.backends.redis.RedisCache",
}


class Clock:
    """The time of the memory store, in ms; it stands still until moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += round(seconds * 1000)


_clock = Clock()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    _clock.now = NOW
    monkeypatch.setattr(memory, "clock", lambda: _clock)
    return _clock


def use_store(settings: Any, name: str, location: str) -> None:
    """The prefix keeps these stores, whose clocks stand, apart from those of other tests."""
    settings.CACHES = {
        "default": {"BACKEND": _BACKENDS[name], "LOCATION": location, "KEY_PREFIX": "doors"}
    }
    # A busy machine must not look like a store that is down.
    settings.RATELIMIT = {"TIMEOUT": 10, "DEADLINE": 30}


@pytest.fixture(params=_BACKENDS)
def store(
    request: pytest.FixtureRequest,
    settings: Any,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The store is real, and so is the script; only the clocks stand still."""
    name: str = request.param
    location = "doors"
    if name != "memory":
        location = request.getfixturevalue("redis_server").url
        monkeypatch.setattr(
            RedisStore,
            "seam",
            f"local function clock() return {NOW} end\nlocal function lifetime(ms) return ms end",
        )
    use_store(settings, name, location)
    return name


@pytest.fixture
def in_memory(settings: Any, clock: Clock) -> Clock:
    use_store(settings, "memory", "doors")
    return clock


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> tuple[Door, bool, bool]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def site(way: tuple[Door, bool, bool], settings: Any, db: None) -> Site:
    """A site of this door; what it charges says the test."""
    door, is_async, asgi = way
    return Site(settings, door, is_async=is_async, asgi=asgi)


@pytest.fixture
def of(settings: Any, db: None, in_memory: Clock) -> Any:
    """`of("function", is_async=True, asgi=True)`: a site of one door, on memory."""

    def make(name: str, *, is_async: bool = False, asgi: bool = False) -> Site:
        (door,) = [each for each in DOORS if each.name == name]
        return Site(settings, door, is_async=is_async, asgi=asgi)

    return make
