"""Where buckets live: the store of `RATELIMIT["CACHE"]`, one per process."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from django.conf import settings
from django.core.cache import BaseCache, caches
from django.core.signals import setting_changed

from ratelimit_app.conf import Conf, SettingError, conf

from .base import Quota, Store, Take, Unavailable
from .before import Before
from .memory import MemoryStore
from .near import NearStore

_REDIS = ("django_redis.cache.RedisCache", "django.core.cache.backends.redis.RedisCache")
_MEMORY = "django.core.cache.backends.locmem.LocMemCache"

#: Why an alias cannot hold buckets, by the class of its cache.
UNFIT = {
    "django.core.cache.backends.dummy.DummyCache": "it keeps nothing, so it would never limit",
    "django.core.cache.backends.db.DatabaseCache": (
        "its increments read and then write, so they lose updates and the expiry"
    ),
    "django.core.cache.backends.filebased.FileBasedCache": (
        "its increments read and then write, so they lose updates and the expiry"
    ),
    "django.core.cache.backends.memcached.BaseMemcachedCache": (
        "it has no atomic step for more than a counter, and an increment keeps no expiry of its own"
    ),
}

_stores: dict[tuple[object, ...], Store] = {}
_pinned: Store | None = None
_current: Store | None = None


def current() -> Store:
    """The store of the settings as they are now; makes no connection.

    Raises `SettingError` if the alias cannot hold buckets.
    """
    global _current
    if _pinned is not None:
        return _pinned
    if _current is None:
        _current = _store(conf(), settings.CACHES)
    return _current


def innermost() -> Store:
    """The store that is asked in the end, behind those that may answer for it in this process."""
    store = current()
    while isinstance(store, Before):
        store = store.store
    return store


def _forget(*, setting: str, **_: object) -> None:
    global _current
    if setting in ("RATELIMIT", "CACHES"):
        _current = None


setting_changed.connect(_forget)


def local() -> MemoryStore:
    """A store of this process alone, for policies that count by themselves in an outage."""
    most = conf().max_buckets
    store = _stores.setdefault(("local", most), MemoryStore(most, name="local"))
    return cast(MemoryStore, store)


def sweep() -> None:
    """Let go of idle buckets in whatever memory of this process holds any."""
    for store in list(_stores.values()):
        if isinstance(store, MemoryStore):
            store.sweep()


@contextmanager
def pinned(store: Store) -> Iterator[None]:
    """This store and no other, for tests."""
    global _pinned
    before, _pinned = _pinned, store
    try:
        yield
    finally:
        _pinned = before


def _after_fork() -> None:
    """A child must not inherit a lock that some other thread of the parent holds."""
    global _current
    _stores.clear()
    _current = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def kind(cache: BaseCache) -> str:
    """`redis` or `memory`; for any other cache, why it cannot hold buckets."""
    names = [f"{each.__module__}.{each.__qualname__}" for each in type(cache).__mro__]
    if any(name in _REDIS for name in names):
        return "redis"
    if _MEMORY in names:
        return "memory"
    return next((UNFIT[name] for name in names if name in UNFIT), "it is not known to be atomic")


def _store(now: Conf, aliases: Any) -> Store:
    if now.cache not in aliases:
        raise SettingError(
            f"RATELIMIT['CACHE'] is {now.cache!r}, which is not in CACHES; "
            f"use one of {', '.join(map(repr, aliases))}."
        )
    # The settings of the alias, not the objects: overriding one setting must not lose buckets.
    made = (now.cache, repr(aliases[now.cache]), now.timeout, now.deadline, now.max_buckets)
    # Of two threads that come first at once, both get the same store.
    return _stores.get(made) or _stores.setdefault(made, _new(now, caches[now.cache]))


def _new(now: Conf, cache: BaseCache) -> Store:
    found = kind(cache)
    if found == "redis":
        # Redis is optional.
        from .leases import LeaseStore
        from .redis import RedisStore

        store = RedisStore(cache, now.timeout, now.deadline)
        return LeaseStore(NearStore(store), now.deadline)
    if found == "memory":
        return MemoryStore(now.max_buckets)
    raise SettingError(
        f"RATELIMIT['CACHE'] is {now.cache!r}, a {type(cache).__name__}, which cannot hold "
        f"buckets: {found}. Use a Redis alias, or LocMemCache for a single process."
    )


__all__ = [
    "Quota",
    "Store",
    "Take",
    "Unavailable",
    "current",
    "innermost",
    "kind",
    "local",
    "pinned",
    "sweep",
]
