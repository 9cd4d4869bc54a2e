"""A site on a Redis of its own, the client that it counts, and an ear on every logger."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from ratelimit_app.models import Policy
from tests.servers import RedisServer

from . import site
from .canary import Canary, Everything


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Everything:
    handler = Everything()
    named = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict)]
    for logger in [logging.root, *named]:
        monkeypatch.setattr(logger, "level", logging.DEBUG)
        monkeypatch.setattr(logger, "disabled", False)
        monkeypatch.setattr(logger, "_cache", {})
        if logger is logging.root or not logger.propagate:
            monkeypatch.setattr(logger, "handlers", [*logger.handlers, handler])
    return handler


@pytest.fixture
def server() -> Iterator[RedisServer]:
    started = RedisServer("--rdbcompression", "no")
    yield started
    started.stop()


@pytest.fixture
def settled(settings: Any, server: RedisServer, db: None) -> Any:
    settings.ROOT_URLCONF = "tests.privacy.site"
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE,
        "ratelimit_app.middleware.RateLimitMiddleware",
    ]
    settings.CACHES = {
        "default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": server.url}
    }
    settings.RATELIMIT = {
        "TIMEOUT": 10,
        "DEADLINE": 25,
        "HEADERS": "both",
        "TRUSTED_PROXIES": ["127.0.0.1"],
    }
    for number, (kind, name) in enumerate(site.KINDS.items()):
        for origin, where in (("path", "/site/**"), ("code", "")):
            Policy.objects.create(
                slug=f"{origin}-{kind}".replace("_", "-"),
                # One after the other refuses.
                limit=3 + number,
                period=3600,
                key=kind,
                key_name=name,
                path=where,
                on_error=["open", "closed", "local"][number % 3],
            )
    return settings


@pytest.fixture
def canary(settled: Any) -> Canary:
    return Canary()
