"""How to reach the Redis of a cache alias, with our own connections and time-outs.

The alias's own client is no use to a limiter: its time-outs are seconds or none, django-redis
shares one pool among all aliases of a URL, and Django's backend opens a pool per cache object. So
the address and the options of the alias are read, and connections are made anew.
"""

import asyncio
from inspect import signature
from typing import Any

import redis
import redis.asyncio
from django.core.cache import BaseCache
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import SentinelConnectionPool

from .awire import AsyncWire
from .wire import Wire

#: Telling who we are, and the greeting of the third protocol, would be trips before the first one.
_TERSE: dict[str, object] = (
    {"protocol": 2, "driver_info": None}
    if "driver_info" in signature(redis.connection.AbstractConnection.__init__).parameters
    else {"protocol": 2, "lib_name": None, "lib_version": None}
)

#: What a pool is told of its connections in the sync world only, or what is ours to say.
_OURS = frozenset(
    {
        "parser_class",
        "pool_class",
        "queue_class",
        "timeout",
        "socket_timeout",
        "socket_connect_timeout",
        "retry",
        "retry_on_error",
        "retry_on_timeout",
        "connection_pool",
    }
)


class Clients:
    """The ways to one alias: `sync`, `wire` for the hot path, and a wire for each event loop."""

    def __init__(self, cache: BaseCache, timeout: float, deadline: float) -> None:
        # Connecting and asking both have to fit into a decision, whatever the settings say.
        timeout = min(timeout, deadline / 2)
        self._timeout, self._deadline = timeout, deadline
        self._loops: dict[asyncio.AbstractEventLoop, AsyncWire] = {}
        factory = getattr(getattr(cache, "client", None), "connection_factory", None)
        if factory is not None:
            # django-redis: its factory knows user, password, parser and Sentinel.
            address: Any = cache.client  # type: ignore[attr-defined]
            self._url = str(address._server[0])
            params = factory.make_connection_params(self._url)
            pool = factory.get_connection_pool({**params, **_TERSE})
            self._options = {**params, **factory.pool_cls_kwargs}
            self._options.pop("url")
        else:
            inner: Any = cache._cache  # type: ignore[attr-defined]
            self._url, self._options = str(inner._servers[0]), dict(inner._pool_options)
            pool = inner._pool_class.from_url(self._url, **{**self._options, **_TERSE})
        self._limit(pool, Retry(NoBackoff(), 0))
        #: Sentinels say where the primary is; there is no async way to ask them here.
        self.by_sentinel = isinstance(pool, SentinelConnectionPool)
        if self.by_sentinel:
            for sentinel in pool.sentinel_manager.sentinels:
                self._limit(sentinel.connection_pool, Retry(NoBackoff(), 0))
        self.sync = redis.Redis(connection_pool=pool)
        self.wire = Wire(pool, timeout, deadline)

    def here(self) -> AsyncWire:
        """The wire of the running event loop."""
        loop = asyncio.get_running_loop()
        wire = self._loops.get(loop)
        if wire is None:
            # A wire knows its loop, so a loop that ended would be kept for ever.
            # Listed first: other threads have loops of their own, and enter them here.
            for ended in [each for each in list(self._loops) if each.is_closed()]:
                self._loops.pop(ended, None)
            options = {name: value for name, value in self._options.items() if name not in _OURS}
            pool = redis.asyncio.ConnectionPool.from_url(self._url, **{**options, **_TERSE})
            self._limit(pool, AsyncRetry(NoBackoff(), 0))
            wire = self._loops[loop] = AsyncWire(
                lambda: pool.connection_class(**pool.connection_kwargs),
                pool.max_connections,
                self._deadline,
            )
        return wire

    def _limit(self, pool: Any, retry: object) -> None:
        """Set on the pool, since a URL's own query would win over arguments.

        No retry, ever: a call whose answer was lost may have been charged already.
        """
        pool.connection_kwargs.update(
            {
                "socket_timeout": self._timeout,
                "socket_connect_timeout": self._timeout,
                "retry": retry,
                "retry_on_error": [],
                "retry_on_timeout": False,
                **_TERSE,
            }
        )
