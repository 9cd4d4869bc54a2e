"""System checks of the cache that holds the buckets: what else is in it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from ratelimit_app.checks import TAG, usable_conf

_SESSIONS = ("django.contrib.sessions.backends.cache", "django.contrib.sessions.backends.cached_db")


def register_cache_checks() -> None:
    register(check_shared, TAG, deploy=True)


def check_shared(**kwargs: object) -> list[CheckMessage]:
    """`cache.clear()` empties the whole database of Redis, whatever the prefix of its keys."""
    alias = usable_conf().cache
    place = _place(settings.CACHES.get(alias, {}))
    if place is None:
        return []
    users = ["everything that caches without naming an alias"] if alias == "default" else []
    users += [
        f"the cache {other!r}"
        for other, given in settings.CACHES.items()
        if other != alias and _place(given) == place
    ]
    if settings.SESSION_ENGINE in _SESSIONS and alias == settings.SESSION_CACHE_ALIAS:
        users.append("sessions")
    if not users:
        return []
    return [
        Warning(
            f"The buckets in RATELIMIT['CACHE'] ({alias!r}) share a database of Redis with "
            f"{', '.join(users)}: cache.clear() there makes every bucket fresh.",
            hint="Give the limiter an alias with a database of its own, such as "
            "'LOCATION': 'redis://…/1', and name it in RATELIMIT['CACHE'].",
            id="ratelimit_app.W007",
        )
    ]


def _place(given: Mapping[str, Any]) -> tuple[str, int, str] | None:
    """Host, port and database of a Redis alias; None of any other."""
    location = given.get("LOCATION") or ""
    first = location if isinstance(location, str) else next(iter(location), "")
    url = urlsplit(str(first).replace(";", ",").partition(",")[0])
    if url.scheme not in ("redis", "rediss", "unix"):
        return None
    options, query = given.get("OPTIONS") or {}, parse_qs(url.query)
    named = url.path.strip("/") if url.scheme != "unix" else ""
    number = query.get("db", [options.get("db") or named or 0])[0]
    host = url.path if url.scheme == "unix" else url.hostname or ""
    try:
        return host, url.port or 6379, str(number)
    except ValueError:
        return None
